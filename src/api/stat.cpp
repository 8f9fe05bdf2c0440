// The statistics as rows.
#include "api/queue_numbers.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "plan/numbers.h"
#include "server/duties.h"
#include "shmem/databases.h"
#include "shmem/heads.h"
#include "shmem/pending.h"
#include "shmem/workers.h"
#include "task/moves.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla {

namespace {

using model::Status;
using store::Store;

// Values of one row, in the order of the columns.
template <std::size_t Columns> struct RowValues {
    std::array<Datum, Columns> value{};
    std::array<bool, Columns> null{};
    std::size_t next{};

    void add(Datum datum) { value[next++] = datum; }
    void add_null() { null[next++] = true; }
    void add_time(TimestampTz time) {
        if (time == 0)
            add_null();
        else
            add(TimestampTzGetDatum(time));
    }
};

template <std::size_t Columns> void put(const Rows &rows, RowValues<Columns> &row) {
    Assert(row.next == Columns);
    tuplestore_putvalues(rows.store, rows.type, row.value.data(), row.null.data());
}

Datum milliseconds(int64 micros) { return Float8GetDatum(static_cast<float8>(micros) / 1000); }

Datum bigints(std::span<const int64> values) {
    auto *datums = static_cast<Datum *>(palloc(sizeof(Datum) * values.size()));
    for (std::size_t i = 0; i < values.size(); i++)
        datums[i] = Int64GetDatum(values[i]);
    return PointerGetDatum(
        construct_array(datums, static_cast<int>(values.size()), INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE));
}

Interval *interval_of(int64 micros) {
    auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
    interval->time = micros;
    return interval;
}

constexpr std::size_t k_queue_columns = 22;

void put_queue(const Rows &rows, const AllNumbers &all, const QueueNumbers &queue) {
    RowValues<k_queue_columns> row;
    row.add(PointerGetDatum(queue.name));
    for (const int64 tasks : queue.now_in)
        row.add(Int64GetDatum(Max(tasks, 0)));
    if (queue.ready_since)
        row.add(PointerGetDatum(interval_of(Max(all.now - *queue.ready_since, 0))));
    else
        row.add_null();
    const shmem::QueueStats nothing{};
    const shmem::QueueStats &stats = queue.stats != nullptr ? *queue.stats : nothing;
    // These last counts are the last columns.
    constexpr std::size_t k_last_counts = 2;
    const auto counts = std::span(stats.count).first(stats.count.size() - k_last_counts);
    if (all.has_counters) {
        for (const int64 count : counts)
            row.add(Int64GetDatum(count));
        for (const model::Histogram &times : stats.time) {
            row.add(milliseconds(times.sum));
            row.add(bigints(times.count));
        }
    } else
        while (row.next < k_queue_columns - 1 - k_last_counts)
            row.add_null();
    row.add_time(queue.reset);
    for (const int64 count : std::span(stats.count).last(k_last_counts))
        if (all.has_counters)
            row.add(Int64GetDatum(count));
        else
            row.add_null();
    put(rows, row);
}

std::string_view returned_of(const shmem::HeadStatus &status, std::size_t priority) {
    StringInfoData returned;
    initStringInfo(&returned);
    for (const model::Stretch &stretch : std::span(status.view.returned.at).first(status.view.returned.count))
        if (static_cast<std::size_t>(stretch.priority) == priority)
            appendStringInfo(&returned, "%s[" INT64_FORMAT "," INT64_FORMAT "]", returned.len > 0 ? "," : "",
                             stretch.low, stretch.high);
    return {returned.data, static_cast<std::size_t>(returned.len)};
}

// A row for each priority that may have ready tasks.
void put_head(const Rows &rows, const shmem::HeadStatus &status) {
    for (std::size_t p = 0; p < shmem::k_priorities; p++) {
        if ((status.view.nonempty[p / 64] >> (p % 64) & 1) == 0)
            continue;
        RowValues<5> row;
        row.add(ObjectIdGetDatum(status.id.file));
        row.add(Int32GetDatum(status.id.queue));
        row.add(Int32GetDatum(static_cast<int32>(p)));
        row.add(Int64GetDatum(status.view.frontier[p]));
        row.add(CStringGetTextDatum(psprintf("{%s}", returned_of(status, p).data())));
        put(rows, row);
    }
}

// The queues that the current user administers, by number.
std::span<int32> queues_to_reset(Store &store) {
    const auto queues = allocate<int32>(static_cast<std::size_t>(settings::max_queues));
    std::size_t count = 0;
    const auto add = [&](const shmem::QueueEntry &entry) {
        if (rights::may(store, entry.queue, model::Privilege::admin))
            queues[count++] = entry.queue;
    };
    const shmem::StatView view = shmem::look_at_stats(MyDatabaseId, store::identity());
    std::for_each(view.queues.begin(), view.queues.end(), add);
    return queues.first(count);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_stat_queues) {
    using namespace scylla;
    const bool may_count = PG_ARGISNULL(0) || PG_GETARG_BOOL(0);
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    const AllNumbers all = find_numbers(store, may_count);
    const RowMemory memory = begin_row_memory();
    for (std::size_t i = 0; i < all.queues.size(); i++, reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        put_queue(rows, all, all.queues[i]);
    }
    end(memory);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_stat_waits) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    for (const WaitNumbers &numbers : read_wait_numbers(store)) {
        const auto &queue = queue_of(store, numbers.queue).row;
        if (!queue || !rights::may_watch(*queue))
            continue;
        RowValues<7> row;
        row.add(PointerGetDatum(queue->name));
        for (const int64 number :
             {numbers.signals, numbers.callbacks, numbers.checks, numbers.pools, numbers.deferred, numbers.asked})
            row.add(Int64GetDatum(number));
        put(rows, row);
    }
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_count_tasks) {
    using namespace scylla;
    const args::CountTasks given{fcinfo};
    const text *name = args::optional_name(given.queue());
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    HTAB *tallies = count_tasks(store);
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        const store::QueueRow queue = queue_row(scan);
        if ((name != nullptr && !equal(queue.name, name)) || !rights::may_watch(queue))
            continue;
        const Tally &tally = tally_of(tallies, queue.id);
        for (std::size_t s = 0; s < tally.tasks.size(); s++) {
            RowValues<3> row;
            row.add(PointerGetDatum(queue.name));
            row.add(store::status_datum(store, static_cast<Status>(s)));
            row.add(Int64GetDatum(tally.tasks[s]));
            put(rows, row);
        }
    }
    end(scan);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_stat_monitor) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    TimestampTz reset = 0;
    const auto stats = shmem::monitor_stats(stat_id(0), &reset);
    if (!stats || reset == 0)
        return 0;
    RowValues<11> row;
    row.add(Int64GetDatum(stats->rounds));
    row.add(milliseconds(stats->total_time));
    row.add(milliseconds(stats->max_time));
    for (const int64 tasks : stats->tasks)
        row.add(Int64GetDatum(tasks));
    row.add_time(stats->last_round);
    row.add(Int64GetDatum(stats->errors));
    if (stats->errors > 0)
        row.add(CStringGetTextDatum(stats->last_error.data()));
    else
        row.add_null();
    row.add_time(stats->last_error_at);
    row.add_time(reset);
    put(rows, row);
    return 0;
}

namespace scylla {
namespace {

// A name of another database may have another encoding.
const char *readable(shmem::CallText &name, Oid database) {
    if (database != MyDatabaseId && !pg_verifymbstr(name.data(), static_cast<int>(strlen(name.data())), true))
        for (char &c : name)
            c = IS_HIGHBIT_SET(c) ? '?' : c;
    return name.data();
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_failing_duties) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    const shmem::Failing failing = shmem::failing_duties();
    if (failing.duties == 0)
        return 0;
    Growing<Datum> names;
    for (uint32 i = 0; i < monitor::count_duties(); i++)
        if ((failing.duties >> i & 1) != 0)
            names.add(CStringGetTextDatum(monitor::name_of_duty(i)));
    RowValues<2> row;
    row.add(
        PointerGetDatum(construct_array(names.at, static_cast<int>(names.count), TEXTOID, -1, false, TYPALIGN_INT)));
    row.add_time(failing.since);
    put(rows, row);
    return 0;
}

SCYLLA_FUNCTION(scylla_server_workers) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    if (shmem::shared == nullptr)
        return 0;
    std::array<shmem::WorkerState, shmem::k_max_workers> states;
    const std::size_t count = shmem::look_at_workers(states);
    for (shmem::WorkerState &state : std::span(states).first(count)) {
        RowValues<10> row;
        const auto add = [&row](bool there, Datum value) { there ? row.add(value) : row.add_null(); };
        const auto add_text = [&add](const char *value) {
            add(value != nullptr, value != nullptr ? CStringGetTextDatum(value) : 0);
        };
        const bool runs_task = state.calls && state.queue != 0;
        const bool runs_schedule = state.calls && state.queue == 0;
        const char *of = readable(state.of, state.database);
        const char *name = readable(state.name, state.database);
        add(state.pid != 0, Int32GetDatum(state.pid));
        add_text(get_database_name(state.database));
        add_text(GetUserNameFromId(state.role, true));
        add_text(state.doing);
        add_text(runs_task ? of : nullptr);
        add_text(runs_task ? name : nullptr);
        add_text(runs_schedule ? of : nullptr);
        add_text(runs_schedule ? name : nullptr);
        row.add(TimestampTzGetDatum(state.since));
        add(runs_task && state.database == MyDatabaseId, Int32GetDatum(state.queue));
        put(rows, row);
    }
    return 0;
}

SCYLLA_FUNCTION(scylla_databases) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    if (shmem::shared == nullptr)
        return 0;
    std::array<shmem::DatabaseState, shmem::k_max_databases> states;
    const std::size_t count = shmem::look_at_databases(states);
    for (const shmem::DatabaseState &state : std::span(states).first(count)) {
        const char *name = get_database_name(state.id);
        if (name == nullptr)
            continue;
        RowValues<6> row;
        const auto add_time = [&row](bool there, TimestampTz time) {
            there ? row.add(TimestampTzGetDatum(time)) : row.add_null();
        };
        row.add(CStringGetTextDatum(name));
        row.add(BoolGetDatum(state.has_monitor));
        add_time(state.due != shmem::k_never, state.due);
        add_time(state.waits_since != 0, state.waits_since);
        row.add(Int64GetDatum(state.visits));
        row.add(Int64GetDatum(state.time_used));
        put(rows, row);
    }
    return 0;
}

SCYLLA_FUNCTION(scylla_stat_reset) {
    using namespace scylla;
    const args::StatReset given{fcinfo};
    const text *name = args::optional_name(given.queue());
    Store store = store::open(AccessShareLock);
    if (name != nullptr)
        shmem::reset_stats(MyDatabaseId, store::identity(),
                           std::array{rights::require_queue(store, name, model::Privilege::admin).id});
    else if (has_privs_of_role(GetUserId(), store::tables_owner()))
        shmem::reset_stats(MyDatabaseId, store::identity(), std::nullopt);
    else
        shmem::reset_stats(MyDatabaseId, store::identity(), queues_to_reset(store));
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_quantile) {
    using namespace scylla;
    const args::Quantile given{fcinfo};
    const auto histogram = given.histogram().value;
    const float8 fraction = args::fraction(given.fraction());
    if (!histogram)
        PG_RETURN_NULL();
    std::array<std::int64_t, model::k_buckets> count;
    bool good = histogram->size == static_cast<int64>(count.size());
    for (std::size_t i = 0; good && i < count.size(); i++) {
        count[i] = histogram->null[i] ? -1 : DatumGetInt64(histogram->value[i]);
        good = count[i] >= 0;
    }
    if (!good)
        error::bad_argument("histogram", error::array_of(histogram->size),
                            "It must have 32 elements, none of them null or negative.");
    const auto micros = model::quantile(count, fraction);
    if (!micros)
        PG_RETURN_NULL();
    PG_RETURN_INTERVAL_P(interval_of(static_cast<int64>(*micros)));
}

SCYLLA_FUNCTION(scylla_heads) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    shmem::HeadStatus status;
    for (int at = 0; shmem::next_head(&at, &status);) {
        CHECK_FOR_INTERRUPTS();
        const auto &queue = queue_of(store, status.id.queue).row;
        if (queue && rights::may_watch(*queue))
            put_head(rows, status);
    }
    close(store);
    return 0;
}
