#include "workflow/templates.h"

#include "pg/error.h"
#include "pg/hash.h"
#include "pg/json.h"
#include "pg/text.h"
#include "store/locks.h"
#include "store/spi_arrays.h"
#include "task/rights.h"
#include "workflow/definitions.h"
#include "workflow/permits.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::TemplateName;
using store::Columns;
using store::Parameters;

namespace {

constinit SPIPlanPtr owner_statement = nullptr;
constinit SPIPlanPtr write_statement = nullptr;
constinit SPIPlanPtr family_statement = nullptr;
constinit SPIPlanPtr heirs_statement = nullptr;
constinit SPIPlanPtr drop_statement = nullptr;

// ---- reading -------------------------------------------------------------------------------------------------------

struct Family {
    text *templates; // an array
    text *known;     // job types that have any version, an array
    Jsonb *tags;     // of all these templates, an array of names; null: none
    bool is_empty;
};

// Templates with those that they inherit from.
Family read_family(std::span<const TemplateName> names) {
    store::ArrayColumn job_types(TEXTOID);
    store::ArrayColumn versions(TEXTOID);
    for (const TemplateName &name : names) {
        job_types.add(name.job_type);
        versions.add(name.version);
    }
    Parameters parameters;
    job_types.give_to(parameters);
    versions.give_to(parameters);
    return store::select<Family>(
        &family_statement,
        "with recursive family (job_type, version, definition) as ("
        "select t.job_type, t.version, t.definition from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) "
        "n (job_type, version) join scylla.job_template_text t on t.job_type operator(pg_catalog.=) n.job_type "
        "and t.version operator(pg_catalog.=) n.version "
        "union select p.job_type, p.version, p.definition from family f "
        "cross join lateral pg_catalog.jsonb_each_text(f.definition operator(pg_catalog.->) 'inherit_from') i "
        "join scylla.job_template_text p on p.job_type operator(pg_catalog.=) i.key "
        "and p.version operator(pg_catalog.=) i.value) "
        "select coalesce(pg_catalog.jsonb_agg(f.definition), '[]')::pg_catalog.text, "
        "(select coalesce(pg_catalog.jsonb_agg(distinct t.job_type), '[]')::pg_catalog.text "
        "from scylla.job_template_text t where t.job_type operator(pg_catalog.=) any ($1)), "
        "(select pg_catalog.jsonb_agg(distinct case pg_catalog.jsonb_typeof(g.tag) when 'string' then g.tag "
        "else g.tag operator(pg_catalog.->) 'name' end) from family m cross join lateral "
        "pg_catalog.jsonb_array_elements(m.definition operator(pg_catalog.->) 'tags') g (tag)), "
        "pg_catalog.count(*) operator(pg_catalog.=) 0 from family f",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            Family family{};
            family.templates = columns.next_text();
            family.known = columns.next_text();
            family.tags = columns.next_jsonb();
            family.is_empty = columns.next_bool();
            return family;
        })[0];
}

Jsonb *limited_tags(Jsonb *tags, const char *owner) {
    Growing<std::string_view> names;
    if (tags != nullptr)
        for (uint32 i = 0; i < JsonContainerSize(&tags->root); i++) {
            const JsonbValue *tag = getIthJsonbValueFromContainer(&tags->root, i);
            if (tag->type == jbvString)
                names.add({tag->val.string.val, static_cast<std::size_t>(tag->val.string.len)});
        }
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_ARRAY, nullptr);
    for (const std::string_view tag : tags_with_pools(names.all(), owner)) {
        JsonbValue value = json::of_text(tag);
        pushJsonbValue(&state, WJB_ELEM, &value);
    }
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, nullptr));
}

} // namespace

std::string_view templates_at_hand(std::span<const TemplateName> names) {
    const Family family = read_family(names);
    return psprintf(R"({"templates": %s, "known": %s})", text_to_cstring(family.templates),
                    text_to_cstring(family.known));
}

std::string_view template_supply(const TemplateName &name, const char *owner) {
    const Family family = read_family({&name, 1});
    if (family.is_empty)
        return {};
    Jsonb *limited = limited_tags(family.tags, owner);
    return psprintf(R"({"templates": %s, "limited": %s})", text_to_cstring(family.templates),
                    JsonbToCString(nullptr, &limited->root, static_cast<int>(VARSIZE(limited))));
}

// ---- changing ------------------------------------------------------------------------------------------------------

namespace {

// The role that may change the templates of a job type; null: it has no templates.
const char *find_owner(const text *job_type) {
    Parameters parameters;
    parameters.add(job_type);
    const auto owners = store::select<const char *>(
        &owner_statement,
        "select owner::pg_catalog.text from scylla.job_template_text where job_type operator(pg_catalog.=) $1 limit 1",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_string(); });
    return owners.empty() ? nullptr : owners[0];
}

// The same, if the caller may change them.
const char *require_owner(const text *job_type) {
    const char *owner = find_owner(job_type);
    if (owner != nullptr && !rights::owns(owner))
        error::no_template_privilege(job_type, GetUserNameFromId(GetUserId(), false));
    return owner;
}

// Allows one change of a job type's templates at a time, so that they all have one owner. Templates that inherit from
// them do not lock them, because others could then keep their owner from changing them. So two concurrent transactions
// can remove a parent, or make a cycle; steps then fail, and check() reports it.
const char *hold_templates(const text *job_type) {
    (void)require_owner(job_type); // a role without the right must not block others
    const LOCKTAG tag = templates_lock_tag(static_cast<uint32>(hash_of(job_type)));
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    return require_owner(job_type);
}

struct Request {
    Jsonb *definition;
    Jsonb *metadata; // the other members of the request
    bool is_nested;  // the definition is a member of the request
    text *job_type;
    text *version;
};

Jsonb *without_definition(Jsonb *request) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::for_each_member(&request->root, [&](const char *name, JsonbValue *value) {
        if (std::string_view(name) != "definition")
            json::push(&state, name, *value);
    });
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

text *text_member(Jsonb *object, const char *name) {
    const JsonbValue *found =
        getKeyJsonValueFromContainer(&object->root, name, static_cast<int>(strlen(name)), nullptr);
    return found == nullptr || found->type != jbvString
               ? nullptr
               : cstring_to_text_with_len(found->val.string.val, found->val.string.len);
}

Request read_request(Jsonb *document) {
    JsonbValue *nested = getKeyJsonValueFromContainer(&document->root, "definition", 10, nullptr);
    Request request{};
    request.is_nested = nested != nullptr;
    request.definition = nested == nullptr ? document : json::to_jsonb(nested);
    request.metadata = nested == nullptr ? json::empty_object() : without_definition(document);
    request.job_type = text_member(request.definition, "job_type");
    request.version = text_member(request.definition, "version");
    if (request.version == nullptr)
        request.version = to_text(model::workflow::k_default_template);
    return request;
}

void write_template(const Request &request, const char *owner) {
    const char *user = GetUserNameFromId(GetUserId(), false);
    Parameters parameters;
    parameters.add(request.job_type)
        .add(request.version)
        .add(cstring_to_text(owner == nullptr ? user : owner))
        .add(cstring_to_text(user))
        .add(JSONBOID, JsonbPGetDatum(request.definition))
        .add(JSONBOID, JsonbPGetDatum(request.metadata));
    store::change(&write_statement,
                  "insert into scylla.job_template_text (job_type, version, owner, author, definition, metadata) "
                  "values ($1, $2, $3::pg_catalog.name, $4::pg_catalog.name, pg_catalog.jsonb_strip_nulls($5) "
                  "operator(pg_catalog.||) pg_catalog.jsonb_build_object('version', $2), $6) "
                  "on conflict (job_type, version) do update set author = excluded.author, "
                  "definition = excluded.definition, metadata = excluded.metadata, "
                  "modified = pg_catalog.clock_timestamp()",
                  parameters, SPI_OK_INSERT);
}

struct Heir {
    text *job_type;
    text *version;
    int64 distance;
};

// The template itself first, then those that inherit from it, directly or indirectly.
std::span<const Heir> heirs_of(const text *job_type, const text *version) {
    Parameters parameters;
    parameters.add(job_type).add(version);
    return store::select<Heir>(
        &heirs_statement,
        "with recursive heir (job_type, version, distance) as (select $1 collate pg_catalog.\"C\", "
        "$2 collate pg_catalog.\"C\", 0::pg_catalog.int8 union "
        "select t.job_type, t.version, 1::pg_catalog.int8 from heir h join scylla.job_template_text t "
        "on t.definition operator(pg_catalog.->) 'inherit_from' operator(pg_catalog.->>) h.job_type "
        "operator(pg_catalog.=) h.version) "
        "select job_type, version, pg_catalog.min(distance) from heir group by 1, 2 order by 3, 1, 2",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            Heir heir{};
            heir.job_type = columns.next_text();
            heir.version = columns.next_text();
            heir.distance = columns.next_int64();
            return heir;
        });
}

// The new template must be compatible with its parents, and those that inherit from it with it.
void check_heirs(const Request &request) {
    for (const Heir &heir : heirs_of(request.job_type, request.version)) {
        CHECK_FOR_INTERRUPTS();
        const TemplateName name{view(heir.job_type), view(heir.version)};
        const Found *found = check_template_family(text_to_cstring(read_family({&name, 1}).templates), name);
        if (found->checked.problems.empty())
            continue;
        const auto &[where, what] = found->checked.problems[0];
        const char *place = text_to_cstring(to_text(where));
        if (heir.distance == 0)
            error::bad_template(request.is_nested && !where.empty() ? psprintf("definition.%s", place) : place, what,
                                1);
        error::bad_heir(heir.job_type, heir.version, place, what);
    }
}

} // namespace

void create_template(Jsonb *document) {
    require_sound_template(document);
    const Request request = read_request(document);
    write_template(request, hold_templates(request.job_type));
    check_heirs(request);
}

void drop_template(const text *job_type, const text *version) {
    (void)hold_templates(job_type);
    for (const Heir &heir : heirs_of(job_type, version))
        if (heir.distance > 0)
            error::template_inherited(job_type, version, heir.job_type, heir.version);
    Parameters parameters;
    parameters.add(job_type).add(version);
    const auto dropped =
        store::select<bool>(&drop_statement,
                            "delete from scylla.job_template_text where job_type operator(pg_catalog.=) $1 "
                            "and version operator(pg_catalog.=) $2 returning true",
                            parameters, SPI_OK_DELETE_RETURNING, [](uint64 row) { return Columns(row).next_bool(); });
    if (dropped.empty())
        error::no_such_template(job_type, version);
}

} // namespace scylla::workflow
