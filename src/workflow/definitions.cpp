#include "workflow/definitions.h"

#include "model/workflow/version_selector.h"
#include "pg/error.h"
#include "pg/json.h"
#include "store/spi_rows.h"
#include "task/rights.h"
#include "workflow/events.h"
#include "workflow/permits.h"
#include "workflow/runs.h"

namespace scylla::workflow {

using model::workflow::Pick;
using model::workflow::Rule;
using model::workflow::RunStrategy;
using store::Parameters;

namespace {

constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr try_statement = nullptr;
constinit SPIPlanPtr add_statement = nullptr;
constinit SPIPlanPtr continue_statement = nullptr;
constinit SPIPlanPtr history_statement = nullptr;
constinit SPIPlanPtr properties_statement = nullptr;
constinit SPIPlanPtr latest_statement = nullptr;
constinit SPIPlanPtr version_statement = nullptr;
constinit SPIPlanPtr activate_statement = nullptr;
constinit SPIPlanPtr drop_statement = nullptr;
constinit std::array<SPIPlanPtr, 3> grant_statements{};
constinit std::array<SPIPlanPtr, 3> revoke_statements{};

#define SCYLLA_WORKFLOW_HEAD                                                                                           \
    "select id, owner::pg_catalog.text, runners, viewers, admins, active_version, latest_version, latest_instance, "   \
    "strategy, concurrency, properties from scylla.workflow_head where id operator(pg_catalog.=) $1"

Head read_head(uint64 row) {
    store::Columns columns(row);
    Head head{};
    head.id = columns.next_text();
    head.owner = columns.next_string();
    for (ArrayType *&grantees : head.grantees)
        grantees = columns.next_array();
    head.active_version = columns.next_int32();
    head.latest_version = columns.next_int32();
    head.latest_instance = columns.next_int64();
    head.strategy.rule = columns.next_word<Rule>(model::workflow::k_rules);
    head.strategy.concurrency = columns.next_int32();
    head.properties = columns.next_jsonb();
    return head;
}

std::optional<Head> look(SPIPlanPtr *statement, const char *sql, const text *id) {
    Parameters parameters;
    parameters.add(id);
    const auto rows = store::select<Head>(statement, sql, parameters, SPI_OK_SELECT, read_head);
    return rows.empty() ? std::nullopt : std::optional(rows[0]);
}

std::optional<Head> find_locked(const text *id) {
    return look(&hold_statement, SCYLLA_WORKFLOW_HEAD " for no key update", id);
}

} // namespace

bool try_hold(const text *id) {
    return look(&try_statement, SCYLLA_WORKFLOW_HEAD " for no key update skip locked", id) || !find(id);
}

namespace {

bool has(const Head &head, Privilege privilege) {
    return rights::has_any(GetUserId(), head.owner, head.grantees[static_cast<std::size_t>(privilege)]);
}

bool may(const Head &head, Privilege privilege) {
    switch (privilege) {
    case Privilege::run:
        return can_run(head);
    case Privilege::view:
        return can_view(head);
    case Privilege::admin:
        return can_admin(head);
    }
    pg_unreachable();
}

void check_right(const Head &head, Privilege privilege) {
    if (!may(head, privilege))
        error::no_workflow_privilege(head.id, GetUserNameFromId(GetUserId(), false),
                                     k_privileges[static_cast<std::size_t>(privilege)]);
}

Datum current_user(NameData *name) {
    namestrcpy(name, GetUserNameFromId(GetUserId(), false));
    return NameGetDatum(name);
}

// ---- a push --------------------------------------------------------------------------------------------------------

Jsonb *member(Jsonb *object, std::string_view name) {
    JsonbValue key = json::of_text(name);
    JsonbValue *found = findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key);
    return found == nullptr || found->type == jbvNull ? nullptr : json::to_jsonb(found);
}

text *text_member(Jsonb *object, const char *name) {
    JsonbValue key = json::of_text(name);
    JsonbValue *found = findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key);
    return found == nullptr || found->type != jbvString ? nullptr : json::to_text(name, found);
}

bool is_active(Jsonb *document) {
    JsonbValue key = json::of_text("is_active");
    const JsonbValue *found = findJsonbValueFromContainer(&document->root, JB_FOBJECT, &key);
    return found == nullptr || found->type != jbvBool || found->val.boolean;
}

Jsonb *metadata(Jsonb *document) {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::for_each_member(&document->root, [&](const char *name, JsonbValue *value) {
        const std::string_view given(name);
        if (given != "workflow" && given != "properties")
            json::push(&state, given, *value);
    });
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

// The first version of a workflow makes its row, unless another transaction has just made it. Facts about a dropped
// workflow with this id are read afterwards, because the insert may have waited for the drop.
void add_head(const text *id) {
    NameData owner{};
    Parameters parameters;
    parameters.add(id).add(NAMEOID, current_user(&owner));
    store::change(
        &add_statement,
        "insert into scylla.workflow_head (id, owner, properties) values ($1, $2, '{}') on conflict do nothing",
        parameters, SPI_OK_INSERT);
    Parameters of;
    of.add(id);
    store::change(
        &continue_statement,
        "update scylla.workflow_head h set latest_instance = d.latest_instance from scylla.workflow_dropped d "
        "where h.id operator(pg_catalog.=) $1 and h.latest_version operator(pg_catalog.=) 0 "
        "and d.id operator(pg_catalog.=) h.id",
        of, SPI_OK_UPDATE);
}

// The workflow that gets a version, its row locked.
Head hold_for_push(const text *id, Jsonb *pushed) {
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (const auto head = find(id)) {
            check_right(*head, Privilege::admin);
        } else {
            if (pushed == nullptr || text_member(pushed, "owner") == nullptr)
                error::bad_definition("properties", "has no \"owner\"", 1);
            add_head(id);
        }
        if (const auto head = find_locked(id)) {
            check_right(*head, Privilege::admin);
            return *head;
        }
    }
}

void add_version(const text *id, int32 version, Jsonb *document) {
    NameData author{};
    Parameters parameters;
    parameters.add(id)
        .add(INT4OID, Int32GetDatum(version))
        .add(NAMEOID, current_user(&author))
        .add(JSONBOID, JsonbPGetDatum(member(document, "workflow")))
        .add(JSONBOID, JsonbPGetDatum(metadata(document)));
    store::change(&version_statement,
                  "insert into scylla.workflow_text (workflow, version, author, definition, metadata) "
                  "values ($1, $2, $3, $4, $5)",
                  parameters, SPI_OK_INSERT);
}

void add_history(const text *id, Jsonb *properties) {
    NameData author{};
    Parameters parameters;
    parameters.add(id).add(NAMEOID, current_user(&author)).add(JSONBOID, JsonbPGetDatum(properties));
    store::change(&history_statement,
                  "insert into scylla.workflow_properties (workflow, author, properties) values ($1, $2, $3)",
                  parameters, SPI_OK_INSERT);
}

// properties: the present ones.
void record_change(const Head &head, Jsonb *properties, std::string_view kind, int32 version = 0) {
    if (records_events(properties))
        record({.workflow = head.id, .owner = head.owner, .kind = kind, .version = version});
}

void set_properties(const Head &head, Jsonb *properties) {
    const RunStrategy strategy = run_strategy(properties);
    require_switch(head, strategy.rule);
    const std::string_view rule = model::workflow::name(strategy.rule);
    Parameters parameters;
    parameters.add(head.id)
        .add(JSONBOID, JsonbPGetDatum(properties))
        .add(cstring_to_text_with_len(rule.data(), static_cast<int>(rule.size())))
        .add(INT4OID, Int32GetDatum(strategy.concurrency));
    store::change(&properties_statement,
                  "update scylla.workflow_head set properties = $2, strategy = $3, concurrency = $4, "
                  "modified = pg_catalog.clock_timestamp() where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
    if (compareJsonbContainers(&head.properties->root, &properties->root) != 0) {
        add_history(head.id, properties);
        record_change(head, records_events(properties) ? properties : head.properties, "properties");
    }
    keep_workflow_permits(head, properties);
    look_at_queue(head.id);
}

void set_latest(const text *id, int32 version) {
    Parameters parameters;
    parameters.add(id).add(INT4OID, Int32GetDatum(version));
    store::change(&latest_statement,
                  "update scylla.workflow_head set latest_version = $2 where id operator(pg_catalog.=) $1", parameters,
                  SPI_OK_UPDATE);
}

void set_active(const text *id, int32 version) {
    NameData by{};
    Parameters parameters;
    parameters.add(id).add(INT4OID, Int32GetDatum(version)).add(NAMEOID, current_user(&by));
    store::change(&activate_statement,
                  "update scylla.workflow_head set active_version = $2, activated_by = $3, activated = t.now, "
                  "modified = t.now from (select pg_catalog.clock_timestamp() as now) t "
                  "where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
}

// The statements of the three privileges, each of which is a column.
constexpr std::array<const char *, 3> k_grant = {
    "update scylla.workflow_head set runners = "
    "pg_catalog.array_append(pg_catalog.array_remove(runners, $2), $2) where id operator(pg_catalog.=) $1",
    "update scylla.workflow_head set viewers = "
    "pg_catalog.array_append(pg_catalog.array_remove(viewers, $2), $2) where id operator(pg_catalog.=) $1",
    "update scylla.workflow_head set admins = "
    "pg_catalog.array_append(pg_catalog.array_remove(admins, $2), $2) where id operator(pg_catalog.=) $1"};
constexpr std::array<const char *, 3> k_revoke = {
    "update scylla.workflow_head set runners = nullif(pg_catalog.array_remove(runners, $2), '{}') "
    "where id operator(pg_catalog.=) $1",
    "update scylla.workflow_head set viewers = nullif(pg_catalog.array_remove(viewers, $2), '{}') "
    "where id operator(pg_catalog.=) $1",
    "update scylla.workflow_head set admins = nullif(pg_catalog.array_remove(admins, $2), '{}') "
    "where id operator(pg_catalog.=) $1"};

} // namespace

bool can_view(const Head &head) { return has(head, Privilege::view) || can_run(head); }
bool can_run(const Head &head) { return has(head, Privilege::run) || can_admin(head); }
bool can_admin(const Head &head) { return has(head, Privilege::admin); }

std::optional<Head> find(const text *id) { return look(&find_statement, SCYLLA_WORKFLOW_HEAD, id); }

Head require(const text *id, Privilege privilege) {
    const auto head = find(id);
    if (!head)
        error::no_such_workflow(id);
    check_right(*head, privilege);
    return *head;
}

Head hold(const text *id, Privilege privilege) {
    (void)require(id, privilege);
    const auto head = find_locked(id);
    if (!head)
        error::no_such_workflow(id);
    check_right(*head, privilege);
    return *head;
}

int32 pick_version(const Head &head, const text *selector) {
    if (selector == nullptr)
        error::bad_argument("version", "null", "It must not be null.");
    const auto picked =
        model::workflow::pick_version(view(selector), {.active = head.active_version, .latest = head.latest_version});
    switch (picked.kind) {
    case Pick::version:
        return picked.version;
    case Pick::inactive:
        error::workflow_inactive(head.id);
    case Pick::missing:
        error::no_such_workflow_version(head.id, text_to_cstring(selector));
    case Pick::malformed:
        error::bad_argument("version", error::quote(selector),
                            "It must be \"active\", \"latest\", \"default\" or a number.");
    }
    pg_unreachable();
}

int32 create(const Push &push) {
    require_sound(push.document);
    const text *id = text_member(member(push.document, "workflow"), "id");
    Jsonb *pushed = member(push.document, "properties");
    const Head head = hold_for_push(id, pushed);
    const int32 version = head.latest_version + 1;
    add_version(id, version, push.document);
    set_latest(id, version);
    Jsonb *properties = push_properties(head.properties, pushed);
    set_properties(head, properties);
    record_change(head, properties, "version", version);
    if (push.activate && is_active(push.document)) {
        set_active(id, version);
        record_change(head, properties, "activated", version);
    }
    keep_triggers(id);
    return version;
}

void activate(const text *id, std::optional<int32> version) {
    const Head head = hold(id, Privilege::admin);
    const int32 chosen = version.value_or(head.latest_version);
    if (chosen < 1 || chosen > head.latest_version)
        error::no_such_workflow_version(id, psprintf("%d", chosen));
    set_active(id, chosen);
    record_change(head, head.properties, "activated", chosen);
    keep_triggers(id);
}

void deactivate(const text *id) {
    const Head head = hold(id, Privilege::admin);
    set_active(id, 0);
    record_change(head, head.properties, "deactivated");
    keep_triggers(id);
}

void alter(const text *id, Jsonb *change) {
    require_sound_change(change);
    const Head head = hold(id, Privilege::admin);
    set_properties(head, change_properties(id, head.properties, change));
    keep_triggers(id);
}

void drop(const text *id) {
    const Head head = hold(id, Privilege::admin);
    leave_runs(id);
    drop_workflow_permits(id);
    set_active(id, 0);
    keep_triggers(id);
    record_change(head, head.properties, "dropped");
    Parameters parameters;
    parameters.add(id);
    store::change(&drop_statement,
                  "with held as (delete from scylla.workflow_hold where workflow operator(pg_catalog.=) $1), "
                  "version as (delete from scylla.workflow_text where workflow operator(pg_catalog.=) $1), "
                  "history as (delete from scylla.workflow_properties where workflow operator(pg_catalog.=) $1), "
                  "head as (delete from scylla.workflow_head where id operator(pg_catalog.=) $1 "
                  "returning latest_instance) "
                  "insert into scylla.workflow_dropped (id, latest_instance) select $1, h.latest_instance from head h "
                  "where h.latest_instance operator(pg_catalog.>) 0 "
                  "on conflict (id) do update set latest_instance = excluded.latest_instance",
                  parameters, SPI_OK_INSERT);
}

void grant(const text *id, const text *role, Privilege privilege) {
    (void)hold(id, Privilege::admin);
    rights::require_grantee(role, "workflow");
    const auto p = static_cast<std::size_t>(privilege);
    Parameters parameters;
    store::change(&grant_statements[p], k_grant[p], parameters.add(id).add(role), SPI_OK_UPDATE);
}

void revoke(const text *id, const text *role, Privilege privilege) {
    (void)hold(id, Privilege::admin);
    const auto p = static_cast<std::size_t>(privilege);
    Parameters parameters;
    store::change(&revoke_statements[p], k_revoke[p], parameters.add(id).add(role), SPI_OK_UPDATE);
}

} // namespace scylla::workflow
