#include "workflow/templates.h"

#include "pg/error.h"
#include "pg/hash.h"
#include "pg/json.h"
#include "pg/text.h"
#include "store/locks.h"
#include "store/workflow/templates.h"
#include "task/rights.h"
#include "workflow/definitions.h"
#include "workflow/permits.h"
#include "workflow/texts.h"

namespace scylla::workflow {

using model::workflow::TemplateName;

namespace {

// ---- reading -------------------------------------------------------------------------------------------------------

store::templates::Family read_family(std::span<const TemplateName> names) {
    Growing<store::templates::Name> wanted;
    Growing<std::string_view> job_types;
    for (const TemplateName &name : names) {
        wanted.add({.job_type = name.job_type, .version = name.version});
        job_types.add(name.job_type);
    }
    return store::templates::family(wanted.all(), job_types.all());
}

Jsonb *limited_tags(Jsonb *tags, const char *owner) {
    Growing<std::string_view> names;
    if (tags != nullptr)
        for (uint32 i = 0; i < JsonContainerSize(&tags->root); i++) {
            const JsonbValue *tag = getIthJsonbValueFromContainer(&tags->root, i);
            if (tag->type == jbvString)
                names.add({tag->val.string.val, static_cast<std::size_t>(tag->val.string.len)});
        }
    json::Builder list = json::build_array();
    for (const std::string_view tag : tags_with_pools(names.all(), owner))
        list.element(tag);
    return list.finish();
}

} // namespace

std::string_view templates_at_hand(std::span<const TemplateName> names) {
    const auto family = read_family(names);
    return psprintf(R"({"templates": %s, "known": %s})", text_to_cstring(family.templates),
                    text_to_cstring(family.known));
}

std::string_view template_supply(const TemplateName &name, const char *owner) {
    const auto family = read_family({&name, 1});
    if (family.is_empty)
        return view(family.known) == "[]" ? R"({"templates": [], "limited": []})" : std::string_view{};
    Jsonb *limited = limited_tags(family.tags, owner);
    return psprintf(R"({"templates": %s, "limited": %s})", text_to_cstring(family.templates),
                    JsonbToCString(nullptr, &limited->root, static_cast<int>(VARSIZE(limited))));
}

// ---- changing ------------------------------------------------------------------------------------------------------

namespace {

// The role that may change the templates of a job type, if the caller may;
// null: it has no templates.
const char *require_owner(const text *job_type) {
    const char *owner = store::templates::owner_of(job_type).value_or(nullptr);
    if (owner != nullptr && !rights::owns(owner))
        error::no_template_privilege(job_type, GetUserNameFromId(GetUserId(), false));
    return owner;
}

// Allows one change of a job type's templates at a time, so that they all have
// one owner. Templates that inherit from them do not lock them, because others
// could then keep their owner from changing them. So two concurrent
// transactions can remove a parent, or make a cycle; steps then fail, and
// check() reports it.
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
    json::Builder object = json::build_object();
    json::for_each_member(&request->root, [&](const char *name, JsonbValue *value) {
        if (std::string_view(name) != "definition")
            object.member(name, *value);
    });
    return object.finish();
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
    store::templates::put({.job_type = request.job_type,
                           .version = request.version,
                           .owner = owner == nullptr ? user : owner,
                           .author = user,
                           .definition = request.definition,
                           .metadata = request.metadata});
}

// The new template must be compatible with its parents, and those that inherit
// from it with it.
void check_heirs(const Request &request) {
    for (const store::templates::Heir &heir : store::templates::heirs(request.job_type, request.version)) {
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
    for (const store::templates::Heir &heir : store::templates::heirs(job_type, version))
        if (heir.distance > 0)
            error::template_inherited(job_type, version, heir.job_type, heir.version);
    if (store::templates::remove(job_type, version) == 0)
        error::no_such_template(job_type, version);
    CommandCounterIncrement();
    // Steps of a job type without any template run without one, so these would lose their parameters in silence.
    if (const auto workflow = store::templates::left_without(job_type))
        error::template_used(job_type, version, *workflow);
}

} // namespace scylla::workflow
