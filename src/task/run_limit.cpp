#include "task/run_limit.h"

#include "pg/settings.h"
#include "store/queue_list.h"
#include "task/history.h"
#include "task/rules.h"

extern "C" {
#include "utils/datetime.h"
}

namespace scylla {

namespace {

RunLimit limit_of(const store::QueueRow &queue) {
    return {queue.id, args::timeout("run_timeout", queue.run_timeout), queue.handler != nullptr};
}

TimestampTz ends_at(const Run &run, const RunLimit &queue) {
    auto limit = run.timeout ? run.timeout : queue.micros;
    if (queue.has_handler)
        limit = std::min(limit.value_or(default_call()), longest_call());
    return limit ? run.leased + *limit : DT_NOEND;
}

constinit store::QueueList<RunLimit> known{};

} // namespace

int64 longest_call() { return static_cast<int64>(settings::max_handler_timeout) * USECS_PER_SEC; }
int64 default_call() { return std::min(static_cast<int64>(settings::handler_timeout) * 1000, longest_call()); }

TimestampTz run_ends(store::Store &store, const Run &run) {
    const auto &row = queue_of(store, run.queue).row;
    return ends_at(run, row ? limit_of(*row) : RunLimit{});
}

RunLimits read_run_limits(store::Store &store) {
    return list_queues(store, known, [](const store::Scan &scan) {
        const RunLimit limit = limit_of(queue_row(scan));
        return limit.micros || limit.has_handler ? std::optional(limit) : std::nullopt;
    });
}

TimestampTz run_ends(RunLimits limits, const Run &run) {
    const auto limit = std::lower_bound(limits.begin(), limits.end(), run.queue,
                                        [](const RunLimit &each, int32 id) { return each.queue < id; });
    return ends_at(run, limit != limits.end() && limit->queue == run.queue ? *limit : RunLimit{});
}

namespace {

// Whether the run has its limit from scylla.handler_timeout.
bool is_default(store::Store &store, const Run &run) {
    const auto &row = queue_of(store, run.queue).row;
    return !run.timeout && row && row->handler != nullptr && row->run_timeout == nullptr;
}

} // namespace

Jsonb *run_timeout_error(store::Store &store, const Run &run, int64 micros) {
    // In one style, whatever that of the session is.
    Interval limit{};
    limit.time = micros;
    pg_itm parts;
    interval2itm(limit, &parts);
    std::array<char, MAXDATELEN + 1> shown;
    EncodeInterval(&parts, INTSTYLE_POSTGRES, shown.data());
    return make_error("run-timeout", "run_timeout", cstring_to_text(shown.data()),
                      is_default(store, run)
                          ? "the run took longer than scylla.handler_timeout; a longer run_timeout of its queue "
                            "allows more"
                          : "the run took longer than its run_timeout");
}

} // namespace scylla
