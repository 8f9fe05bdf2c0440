// The wait rule: a chunk does not start while an older plan has a live task that it needs, for the same ids.
//
// Each such task of an older plan becomes a provider of the chunk: so the wait ends with the task, and
// scylla.explain_waiting() shows it. A job that is needed does not run again for ids for which such a task brings it
// up to date; then the chunk fails with the task, as with one of its own plan. Otherwise its outcome is ignored. Only
// older plans count, so two plans never wait for each other.
#include "job/resolve.h"
#include "pg/memory.h"
#include "store/job/job_runs.h"
#include "task/rights.h"

namespace scylla::job {

namespace {

std::span<const store::job_runs::LiveTask> read_live(std::span<const Type> types, std::span<const model::JobRange> ids,
                                                     const Options &options) {
    Growing<int64> jobs;
    for (const Type &needed : types.subspan(1))
        jobs.add(needed.id);
    if (jobs.size() == 0)
        return {};
    return store::job_runs::live(jobs.all(), options.variant, make_ids(ids));
}

std::size_t type_of(std::span<const Type> types, int64 job) {
    std::size_t i = 0;
    while (types[i].id != job)
        i++;
    return i;
}

// Marks a type and all types that it needs, directly or indirectly.
void mark_needed(std::span<const Type> types, std::size_t type, std::span<bool> marked) {
    if (marked[type])
        return;
    marked[type] = true;
    for (const Need &need : types[type].needs)
        for (std::size_t other = 0; other < types.size(); other++)
            if (equal(types[other].name, need.job))
                mark_needed(types, other, marked);
}

bool overlap(std::span<const model::JobRange> a, std::span<const model::JobRange> b) {
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].first < b[j].end && b[j].first < a[i].end)
            return true;
        if (a[i].end <= b[j].end)
            i++;
        else
            j++;
    }
    return false;
}

// When the last success began for the ids that are in both lists; k_never: for one of them never.
TimestampTz oldest_of(std::span<const model::FreshRange> fresh, std::span<const model::JobRange> a,
                      std::span<const model::JobRange> b) {
    TimestampTz oldest = DT_NOEND;
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size(); a[i].end <= b[j].end ? i++ : j++) {
        int64 id = std::max(a[i].first, b[j].first);
        const int64 end = std::min(a[i].end, b[j].end);
        for (const model::FreshRange &range : fresh) {
            if (id >= end || range.ids.first > id)
                break;
            if (range.ids.end > id) {
                oldest = std::min(oldest, range.at);
                id = range.ids.end;
            }
        }
        if (id < end)
            return model::k_never;
    }
    return oldest;
}

} // namespace

LiveTasks find_live(store::Store &store, std::span<const Type> types, std::span<const model::JobRange> ids,
                    const Options &options) {
    LiveTasks live{};
    if (!options.wait)
        return live;
    Growing<LiveTask> tasks;
    const auto rows = read_live(types, ids, options);
    const TimestampTz now = GetCurrentTimestamp();
    refresh(store); // the statement has seen plans that were committed since, and tasks that may be gone
    for (const store::job_runs::LiveTask &row : rows)
        if (rights::may(store, row.queue, model::Privilege::depend) && find_spec(store, row.rn, store::With::no_spec))
            tasks.push_back({.type = type_of(types, row.job),
                             .rn = row.rn,
                             .plan = row.plan,
                             .id_set = row.ids,
                             .ids = read_ids("ids", row.ids),
                             .began = row.leased.value_or(now)});
    live.tasks = tasks.all();
    if (live.tasks.empty())
        return live;
    const std::size_t count = types.size();
    live.needed = allocate<bool>(count * count);
    for (std::size_t type = 0; type < count; type++) {
        const std::span<bool> marked = live.needed.subspan(type * count, count);
        std::fill(marked.begin(), marked.end(), false);
        mark_needed(types, type, marked);
        std::span<const model::FreshRange> fresh;
        bool is_read = false;
        for (LiveTask &task : live.tasks)
            if (task.type == type) {
                if (!std::exchange(is_read, true))
                    fresh = read_fresh(types[type].id, options.variant);
                task.oldest = oldest_of(fresh, task.ids, ids);
            }
    }
    return live;
}

std::span<const LiveTask *const> live_for(const Resolved &resolved, const model::JobChunk &chunk) {
    const LiveTasks &live = resolved.live;
    if (live.tasks.empty())
        return {};
    const auto ids = ids_of(resolved, chunk);
    const std::size_t type = resolved.nodes[chunk.node].type;
    Growing<const LiveTask *> found;
    for (const LiveTask &task : live.tasks)
        if (live.needed[type * resolved.types.size() + task.type] && overlap(ids, task.ids))
            found.push_back(&task);
    return found.all();
}

bool counts_on(const Resolved &resolved, const Chunk &chunk, const LiveTask &task) {
    for (std::size_t n = 0; n < chunk.on_count; n++) {
        const model::JobChunk &own = resolved.chunks[resolved.on[chunk.first_on + n]].ids;
        if (resolved.nodes[own.node].type == task.type && overlap(ids_of(resolved, own), task.ids))
            return false; // it runs again, and waits for the task itself
    }
    const Type &type = resolved.types[resolved.nodes[chunk.ids.node].type];
    return std::any_of(type.needs.begin(), type.needs.end(), [&](const Need &need) {
        const Type &needed = resolved.types[task.type];
        const bool is_enough = need.allow_missing && !model::is_stale(needed.last_plan, need.max_lag, resolved.now);
        return equal(need.job, needed.name) && !is_enough && model::is_stale(task.oldest, need.max_lag, resolved.now);
    });
}

} // namespace scylla::job
