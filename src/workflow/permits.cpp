#include "workflow/permits.h"

#include "pg/json.h"
#include "pool/permits.h"
#include "store/plans.h"
#include "store/workflow/runs.h"
#include "workflow/definition_cache.h"
#include "workflow/texts.h"

namespace scylla::workflow {

namespace {

text *pool_of_workflow(const text *workflow) {
    return cstring_to_text(psprintf("%s%s", store::k_run_prefix.data(), text_to_cstring(workflow)));
}

text *pool_of_instance(const text *workflow, int64 instance) {
    return cstring_to_text(
        psprintf("%s%s/" INT64_FORMAT, store::k_run_prefix.data(), text_to_cstring(workflow), instance));
}

text *pool_of_tag(std::string_view tag) {
    return cstring_to_text(psprintf("%s%s", model::workflow::k_tag_pool_prefix.data(), text_to_cstring(to_text(tag))));
}

const PermitPool *find(std::span<const PermitPool> pools, const text *name) {
    const auto *found = std::find_if(pools.data(), pools.data() + pools.size(),
                                     [&](const PermitPool &pool) { return equal(pool.name, name); });
    return found == pools.data() + pools.size() ? nullptr : found;
}

void set_permits_of(Root &root, std::span<const PermitPool> pools) {
    Growing<std::string_view> of_all;
    Growing<std::string_view> tags;
    const auto add = [&](const text *name) {
        if (const PermitPool *pool = find(pools, name))
            of_all.add(view(pool->name));
    };
    add(pool_of_workflow(root.version.workflow));
    if (root.tree_permits != nullptr)
        add(root.tree_permits);
    const auto wanted = model::workflow::tags_of(definition_of(root.version));
    const Oid owner = wanted.empty() ? InvalidOid : get_role_oid(root.owner, true);
    for (const std::string_view tag : wanted) {
        const PermitPool *pool = find(pools, pool_of_tag(tag));
        if (pool != nullptr && OidIsValid(owner) && may_use(*pool, owner))
            tags.add(tag);
    }
    root.permits = {of_all.all(), tags.all()};
}

} // namespace

void read_permits(std::span<Root> roots) {
    Growing<const text *> names;
    for (const Root &root : roots) {
        if (root.events.size() == 0)
            continue;
        names.add(pool_of_workflow(root.version.workflow));
        if (root.tree_permits != nullptr)
            names.add(root.tree_permits);
        for (const std::string_view tag : model::workflow::tags_of(definition_of(root.version)))
            names.add(pool_of_tag(tag));
    }
    const auto pools = names.count == 0 ? std::span<const PermitPool>{} : find_permit_pools(names.all());
    if (pools.empty())
        return;
    for (Root &root : roots)
        if (root.events.size() > 0)
            set_permits_of(root, pools);
}

std::span<const std::string_view> tags_with_pools(std::span<const std::string_view> tags, const char *owner) {
    const Oid role = tags.empty() ? InvalidOid : get_role_oid(owner, true);
    if (!OidIsValid(role))
        return {};
    Growing<const text *> names;
    for (const std::string_view tag : tags)
        names.add(pool_of_tag(tag));
    const auto pools = find_permit_pools(names.all());
    Growing<std::string_view> found;
    for (const std::string_view tag : tags)
        if (const PermitPool *pool = find(pools, pool_of_tag(tag)); pool != nullptr && may_use(*pool, role))
            found.add(tag);
    return found.all();
}

void keep_workflow_permits(const Head &head, Jsonb *properties) {
    const JsonbValue *value = getKeyJsonValueFromContainer(&properties->root, "step_concurrency", 16, nullptr);
    const bool is_set = value != nullptr && value->type == jbvNumeric;
    set_permits(
        pool_of_workflow(head.id), head.owner,
        is_set ? std::optional(DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric))))
               : std::nullopt);
}

void drop_workflow_permits(const text *workflow) { store::permits::remove(pool_of_workflow(workflow)); }

const text *tree_permits(const NewRun &made, int64 parent) {
    const auto of_parent = parent == 0 ? std::nullopt : store::runs::permits_of(parent);
    if (of_parent && *of_parent != nullptr)
        return *of_parent;
    const int64 most =
        model::workflow::instance_step_concurrency_of(definition_of(*find_version(made.head->id, made.version)));
    if (most == 0)
        return nullptr;
    const text *pool = pool_of_instance(made.head->id, made.instance);
    set_permits(pool, made.head->owner, most);
    return pool;
}

void leave_tree_permits(const text *pool) {
    if (pool != nullptr && !store::runs::need_permits(pool))
        store::permits::remove(pool);
}

} // namespace scylla::workflow
