#include "workflow/definitions.h"

#include "model/workflow/version_selector.h"
#include "pg/error.h"
#include "pg/json.h"
#include "store/workflow/workflows.h"
#include "task/rights.h"
#include "workflow/events.h"
#include "workflow/permits.h"
#include "workflow/runs.h"

namespace scylla::workflow {

using model::workflow::Pick;
using model::workflow::RunStrategy;

namespace {

std::optional<Head> head_of(const std::optional<store::workflows::Head> &row) {
    if (!row)
        return std::nullopt;
    return Head{.id = row->id,
                .owner = row->owner,
                .grantees = {row->runners, row->viewers, row->admins},
                .active_version = row->active_version,
                .latest_version = row->latest_version,
                .latest_instance = row->latest_instance,
                .strategy = {.rule = row->rule, .concurrency = row->concurrency},
                .properties = row->properties};
}

std::optional<Head> find_locked(const text *id) { return head_of(store::workflows::hold(id)); }

} // namespace

bool try_hold(const text *id) { return store::workflows::try_hold(id) || !find(id); }

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

const char *current_user() { return GetUserNameFromId(GetUserId(), false); }

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
    json::Builder object = json::build_object();
    json::for_each_member(&document->root, [&](const char *name, JsonbValue *value) {
        const std::string_view given(name);
        if (given != "workflow" && given != "properties")
            object.member(given, *value);
    });
    return object.finish();
}

// The first version of a workflow makes its row, unless another transaction has
// just made it. Facts about a dropped workflow with this id are read
// afterwards, because the insert may have waited for the drop.
void add_head(const text *id) {
    store::workflows::add(id, current_user());
    store::workflows::continue_dropped(id);
}

// The workflow that gets a version, its row locked.
Head hold_for_push(const text *id, Jsonb *pushed) {
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (const auto head = find(id)) {
            check_right(*head, Privilege::admin);
        } else {
            if (pushed == nullptr || member(pushed, "owner") == nullptr)
                error::bad_definition("properties", "has no \"owner\"", 1);
            add_head(id);
        }
        if (const auto head = find_locked(id)) {
            check_right(*head, Privilege::admin);
            return *head;
        }
    }
}

// properties: the present ones.
void record_change(const Head &head, Jsonb *properties, std::string_view kind, int32 version = 0) {
    if (records_events(properties))
        record({.workflow = head.id, .owner = head.owner, .kind = kind, .version = version});
}

void set_properties(const Head &head, Jsonb *properties) {
    const RunStrategy strategy = run_strategy(properties);
    require_switch(head, strategy.rule);
    store::workflows::set_properties(
        {.id = head.id, .properties = properties, .rule = strategy.rule, .concurrency = strategy.concurrency});
    if (compareJsonbContainers(&head.properties->root, &properties->root) != 0) {
        store::workflows::add_history(head.id, current_user(), properties);
        record_change(head, records_events(properties) ? properties : head.properties, "properties");
    }
    keep_workflow_permits(head, properties);
    look_at_queue(head.id);
}

} // namespace

bool can_view(const Head &head) { return has(head, Privilege::view) || can_run(head); }
bool can_run(const Head &head) { return has(head, Privilege::run) || can_admin(head); }
bool can_admin(const Head &head) { return has(head, Privilege::admin); }

std::optional<Head> find(const text *id) { return head_of(store::workflows::find(id)); }

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
    store::workflows::add_version({.workflow = id,
                                   .version = version,
                                   .author = current_user(),
                                   .definition = member(push.document, "workflow"),
                                   .metadata = metadata(push.document)});
    store::workflows::set_latest(id, version);
    Jsonb *properties = push_properties(head.properties, pushed);
    set_properties(head, properties);
    record_change(head, properties, "version", version);
    if (push.activate && is_active(push.document)) {
        store::workflows::set_active(id, version, current_user());
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
    store::workflows::set_active(id, chosen, current_user());
    record_change(head, head.properties, "activated", chosen);
    keep_triggers(id);
}

void deactivate(const text *id) {
    const Head head = hold(id, Privilege::admin);
    store::workflows::set_active(id, 0, current_user());
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
    store::workflows::set_active(id, 0, current_user());
    keep_triggers(id);
    record_change(head, head.properties, "dropped");
    store::workflows::remove(id);
}

void grant(const text *id, const text *role, Privilege privilege) {
    (void)hold(id, Privilege::admin);
    rights::require_grantee(role, "workflow");
    store::workflows::grant_to(id, k_privileges[static_cast<std::size_t>(privilege)], role);
}

void revoke(const text *id, const text *role, Privilege privilege) {
    (void)hold(id, Privilege::admin);
    store::workflows::revoke_from(id, k_privileges[static_cast<std::size_t>(privilege)], role);
}

} // namespace scylla::workflow
