#include "task/run_limit.h"

#include "pg/growing.h"
#include "pg/memory.h"
#include "store/catalog.h"
#include "task/history.h"
#include "task/rules.h"

extern "C" {
#include "utils/datetime.h"
}

namespace scylla {

namespace {

std::optional<int64> limit_of(const store::QueueRow &queue) { return args::timeout("run_timeout", queue.run_timeout); }

// Queues seldom change, and leases are looked at again and again.
struct Known {
    uint64 changes; // table_changes() when they were read; 0: never
    Growing<RunLimit> rows;
};
constinit Known known{};

} // namespace

TimestampTz run_ends(store::Store &store, const Run &run) {
    if (run.timeout)
        return run.leased + *run.timeout;
    const auto &row = queue_of(store, run.queue).row;
    const auto limit = row ? limit_of(*row) : std::nullopt;
    return limit ? run.leased + *limit : DT_NOEND;
}

RunLimits read_run_limits(store::Store &store) {
    if (known.changes == 0 || known.changes != store.changes) {
        known.changes = 0;
        known.rows.clear();
        store::Scan scan = scan_queues(store);
        const RowMemory memory = begin_row_memory();
        for (; next(scan); reset(memory)) {
            const store::QueueRow row = queue_row(scan);
            if (const auto limit = limit_of(row))
                known.rows.add({row.id, *limit}, TopMemoryContext);
        }
        end(memory);
        end(scan);
        const auto rows = known.rows.all();
        std::sort(rows.begin(), rows.end(), [](const RunLimit &a, const RunLimit &b) { return a.queue < b.queue; });
        if (store.changes == store::table_changes())
            known.changes = store.changes;
    }
    return known.rows.all();
}

TimestampTz run_ends(RunLimits limits, const Run &run) {
    if (run.timeout)
        return run.leased + *run.timeout;
    const auto limit = std::lower_bound(limits.begin(), limits.end(), run.queue,
                                        [](const RunLimit &each, int32 id) { return each.queue < id; });
    return limit != limits.end() && limit->queue == run.queue ? run.leased + limit->micros : DT_NOEND;
}

Jsonb *run_timeout_error(int64 micros) {
    // In one style, whatever that of the session is.
    Interval limit{};
    limit.time = micros;
    pg_itm parts;
    interval2itm(limit, &parts);
    std::array<char, MAXDATELEN + 1> shown;
    EncodeInterval(&parts, INTSTYLE_POSTGRES, shown.data());
    return make_error("run-timeout", "run_timeout", cstring_to_text(shown.data()),
                      "the run took longer than its run_timeout");
}

} // namespace scylla
