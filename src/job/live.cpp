// The wait rule: a chunk does not start while an older plan has a live task that it needs, for the same ids.
//
// Each such task of an older plan becomes a provider of the chunk, whatever its outcome: so the wait ends with the
// task, and scylla.explain() shows it. Only older plans count, so two plans never wait for each other.
#include "job/resolve.h"
#include "pg/memory.h"
#include "store/spi_rows.h"
#include "task/rights.h"

namespace scylla::job {

using store::Parameters;

namespace {

constinit SPIPlanPtr live_statement = nullptr;

struct Row {
    int64 job;
    int32 queue;
    text *rn;
    text *plan;
    Datum ids;
};

std::span<const Row> read_live(const Resolved &resolved, const Options &options) {
    const auto jobs = allocate<Datum>(resolved.types.size() - 1);
    for (std::size_t i = 0; i < jobs.size(); i++)
        jobs[i] = Int64GetDatum(resolved.types[i + 1].id);
    if (jobs.empty())
        return {};
    Parameters parameters;
    parameters.add(INT8ARRAYOID, PointerGetDatum(make_array(jobs, INT8OID)))
        .add(options.variant)
        .add(INT8MULTIRANGEOID, make_ids(resolved.ids));
    return store::select<Row>(
        &live_statement,
        "select c.job, s.queue, s.rn, p.name, c.ids from scylla.job_run r "
        "join scylla.task_plan p on p.id operator(pg_catalog.=) r.plan "
        "join scylla.job_chunk c on c.plan operator(pg_catalog.=) r.plan "
        "join scylla.task_spec s on s.id operator(pg_catalog.=) c.task "
        "where p.finished is null and c.job operator(pg_catalog.=) any ($1) and c.variant operator(pg_catalog.=) $2 "
        "and c.ids operator(pg_catalog.&&) $3 "
        "and not exists (select from scylla.task_outcome o where o.id operator(pg_catalog.=) c.task) order by c.task",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            Row read{};
            read.job = columns.next_int64();
            read.queue = static_cast<int32>(columns.next_int64());
            read.rn = columns.next_text();
            read.plan = columns.next_text();
            read.ids = columns.next_varlena();
            return read;
        });
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

} // namespace

LiveTasks find_live(store::Store &store, const Resolved &resolved, const Options &options) {
    LiveTasks live{};
    if (!options.wait)
        return live;
    Growing<LiveTask> tasks;
    for (const Row &row : read_live(resolved, options))
        if (rights::may(store, row.queue, model::Privilege::depend))
            tasks.push_back({type_of(resolved.types, row.job), row.rn, row.plan, read_ids("ids", row.ids)});
    live.tasks = tasks.all();
    if (live.tasks.empty())
        return live;
    const std::size_t count = resolved.types.size();
    live.needed = allocate<bool>(count * count);
    for (std::size_t type = 0; type < count; type++) {
        const std::span<bool> marked = live.needed.subspan(type * count, count);
        std::fill(marked.begin(), marked.end(), false);
        mark_needed(resolved.types, type, marked);
    }
    return live;
}

std::span<const LiveTask *const> live_for(const Resolved &resolved, const LiveTasks &live,
                                          const model::JobChunk &chunk) {
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

} // namespace scylla::job
