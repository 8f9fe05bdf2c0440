#include "workflow/definition_cache.h"

#include "pg/error.h"
#include "pg/text.h"
#include "store/rows.h"
#include "store/workflow/workflows.h"
#include "workflow/server_world.h"

namespace scylla::workflow {

using model::workflow::Loaded;

namespace {

struct Entry {
    Oid tables; // identifies the installation of the extension; invalid: the entry is free
    char *workflow;
    int32 version;
    TimestampTz created;
    uint64 used;
    Loaded loaded;
};
// More entries than runs in one transaction of the engine, whose turns point into their definitions.
constinit std::array<Entry, 64> entries{};
constinit uint64 clock = 0;

bool is_of(const Entry &entry, const VersionName &name) {
    return entry.tables == store::identity() && entry.version == name.version && entry.created == name.created &&
           view(name.workflow) == entry.workflow;
}

void forget(Entry &entry) {
    if (!OidIsValid(entry.tables))
        return;
    model::workflow::release(entry.loaded);
    pfree(entry.workflow);
    entry.tables = InvalidOid;
}

text *definition_text(const VersionName &name) {
    const auto definition = store::workflows::definition_of(name.workflow, name.version);
    if (!definition)
        elog(ERROR, "version %d of workflow \"%s\" is gone", name.version, text_to_cstring(name.workflow));
    return *definition;
}

} // namespace

std::optional<VersionName> find_version(const text *workflow, int32 version) {
    const auto created = store::workflows::version_created(workflow, version);
    return created ? std::optional(VersionName{workflow, version, *created}) : std::nullopt;
}

const model::workflow::Definition &definition_of(const VersionName &name) {
    Entry *oldest = entries.data();
    for (Entry &entry : entries) {
        if (is_of(entry, name)) {
            entry.used = ++clock;
            return *entry.loaded.definition;
        }
        if (entry.used < oldest->used)
            oldest = &entry;
    }
    const text *json = definition_text(name);
    char *workflow = MemoryContextStrdup(TopMemoryContext, text_to_cstring(name.workflow));
    forget(*oldest);
    ServerWorld world;
    Loaded loaded = model::workflow::load_definition(view(json), world, model::sel::Limits{});
    if (loaded.definition == nullptr) {
        const char *what = pnstrdup(loaded.what.data(), loaded.what.size());
        model::workflow::release(loaded);
        world.raise_seen();
        elog(ERROR, "version %d of workflow \"%s\" cannot be read: %s", name.version, workflow, what);
    }
    *oldest = {store::identity(), workflow, name.version, name.created, ++clock, loaded};
    return *loaded.definition;
}

} // namespace scylla::workflow
