// The statistics as rows: what the counters in shared memory say, and counts of the tables.
//
// How many tasks are in each state is kept in shared memory once the tables have been counted; the first look after a
// start does that. Later looks count anew where that costs next to nothing: when the last count is long enough ago for
// the processor time that it took (model/pace.h). That makes up for what commits without a callback have changed.
#include "task/moves.h"

#include "model/pace.h"
#include "pg/clock.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"
#include "queue/ready_scan.h"
#include "task/rights.h"

namespace scylla {

namespace {

using model::Status;
using store::Store;
using store::TableId;

constexpr int k_attempts = 1000; // to find a moment at which a count can begin

// How many tasks of a queue are in each state.
struct Tally {
    int32 queue;
    std::array<int64, model::k_status_names.size()> tasks;
};

Tally &tally_of(HTAB *tallies, int32 queue) {
    bool found = false;
    auto *tally = static_cast<Tally *>(hash_search(tallies, &queue, HASH_ENTER, &found));
    if (!found)
        tally->tasks = {};
    return *tally;
}

// Counts what the snapshot of the store sees.
HTAB *count_tables(Store &store) {
    HASHCTL control{};
    control.keysize = sizeof(int32);
    control.entrysize = sizeof(Tally);
    control.hcxt = CurrentMemoryContext;
    HTAB *tallies = hash_create("scylla tasks by queue", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    constexpr struct {
        TableId table;
        Status status;
    } k_tables[] = {{TableId::waiting, Status::waiting},
                    {TableId::ready, Status::ready},
                    {TableId::lease, Status::running},
                    {TableId::outcome, Status::completed}};
    for (const auto &each : k_tables) {
        Tally *tally = nullptr;
        store::Scan scan = scan_all(store, each.table);
        while (next(scan)) {
            const int32 queue = queue_of(scan, each.table);
            if (tally == nullptr || tally->queue != queue)
                tally = &tally_of(tallies, queue);
            const Status status = each.table == TableId::outcome ? outcome_status(store, scan) : each.status;
            tally->tasks[static_cast<std::size_t>(status)]++;
        }
        end(scan);
    }
    return tallies;
}

int64 tasks(const Tally &tally, Status status) { return tally.tasks[static_cast<std::size_t>(status)]; }

shmem::Places places(const Tally &tally) {
    return {tasks(tally, Status::waiting), tasks(tally, Status::ready), tasks(tally, Status::running),
            tasks(tally, Status::completed) + tasks(tally, Status::aborted) + tasks(tally, Status::cancelled)};
}

void anchor(const shmem::StatView &view, HTAB *tallies, int64 time) {
    const auto counted = allocate<shmem::Counted>(static_cast<std::size_t>(hash_get_num_entries(tallies)));
    std::size_t count = 0;
    HASH_SEQ_STATUS status;
    hash_seq_init(&status, tallies);
    while (const auto *tally = static_cast<const Tally *>(hash_seq_search(&status)))
        counted[count++] = {tally->queue, places(*tally)};
    shmem::anchor(view, counted, time);
}

// Counts with a fresh snapshot and, where commits can keep the numbers up from then on, lets them.
HTAB *count_tasks(Store &store) {
    std::optional<shmem::StatView> view;
    // Our own changes are in the snapshot, but will only be added when we commit. On a standby nobody adds anything.
    const bool kept = shmem::shared != nullptr && !shmem::has_own_stats() && !RecoveryInProgress();
    for (int i = 0; i < k_attempts && !view; i++) {
        CHECK_FOR_INTERRUPTS();
        const uint64 changes = shmem::stat_changes();
        refresh(store);
        if (!kept)
            break;
        view = shmem::look_at_snapshot(MyDatabaseId, store::identity(), store.snapshot, changes);
    }
    const int64 begin = processor_time();
    HTAB *tallies = count_tables(store);
    if (view)
        anchor(*view, tallies, processor_time() - begin);
    return tallies;
}

// Commits without a callback (COMMIT PREPARED) have not been added: fewer than no tasks seem to be there.
bool is_wrong(const shmem::StatView &view) {
    return std::any_of(view.queues.begin(), view.queues.end(), [](const shmem::QueueEntry &entry) {
        return std::any_of(entry.stats.place.begin(), entry.stats.place.end(), [](int64 tasks) { return tasks < 0; });
    });
}

bool is_true(const shmem::StatView &view, bool may_count) {
    return view.valid && view.counted && !RecoveryInProgress() && !is_wrong(view) &&
           (!may_count || !model::count_is_due(GetCurrentTimestamp(), view.counted_at, view.count_time));
}

const shmem::QueueEntry *find_entry(const shmem::StatView &view, int32 queue) {
    const auto at = std::lower_bound(view.queues.begin(), view.queues.end(), queue,
                                     [](const shmem::QueueEntry &entry, int32 wanted) { return entry.queue < wanted; });
    return at != view.queues.end() && at->queue == queue ? &*at : nullptr;
}

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

void put_queue(const Rows &rows, Store &store, const store::QueueRow &queue, const shmem::StatView &view,
               const shmem::Places &now_in, TimestampTz now) {
    RowValues<k_queue_columns> row;
    row.add(PointerGetDatum(queue.name));
    for (const int64 tasks : now_in)
        row.add(Int64GetDatum(Max(tasks, 0)));
    const auto since = now_in[static_cast<std::size_t>(shmem::Place::ready)] == 0
                           ? std::nullopt
                           : ready_since(store, queue.id, now, RecoveryInProgress() ? Use::no_heads : Use::heads);
    if (since)
        row.add(PointerGetDatum(interval_of(Max(now - *since, 0))));
    else
        row.add_null();
    const shmem::QueueEntry *entry = find_entry(view, queue.id);
    const shmem::QueueStats nothing{};
    const shmem::QueueStats &stats = entry != nullptr ? entry->stats : nothing;
    // The last of the counts are the last columns.
    constexpr std::size_t k_last_counts = 2;
    const auto counts = std::span(stats.count).first(stats.count.size() - k_last_counts);
    if (view.valid) {
        for (const int64 count : counts)
            row.add(Int64GetDatum(count));
        for (const model::Histogram &times : stats.time) {
            row.add(milliseconds(times.sum));
            row.add(bigints(times.count));
        }
    } else
        while (row.next < k_queue_columns - 1 - k_last_counts)
            row.add_null();
    row.add_time(entry != nullptr ? entry->reset : 0);
    for (const int64 count : std::span(stats.count).last(k_last_counts))
        if (view.valid)
            row.add(Int64GetDatum(count));
        else
            row.add_null();
    put(rows, row);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_stat_queues) {
    using namespace scylla;
    const bool may_count = PG_ARGISNULL(0) || PG_GETARG_BOOL(0);
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    shmem::StatView view = shmem::look_at_stats(MyDatabaseId, store::identity());
    HTAB *tallies = nullptr;
    if (!is_true(view, may_count)) {
        tallies = count_tasks(store);
        view = shmem::look_at_stats(MyDatabaseId, store::identity());
    }
    std::size_t count = 0;
    std::size_t room = 64;
    auto *queues = static_cast<store::QueueRow *>(palloc(room * sizeof(store::QueueRow)));
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        if (count == room) {
            room *= 2;
            queues = static_cast<store::QueueRow *>(repalloc_huge(queues, room * sizeof(store::QueueRow)));
        }
        queues[count] = queue_row(scan);
        count += rights::may_watch(store, queues[count].id) ? 1 : 0;
    }
    end(scan);
    const TimestampTz now = GetCurrentTimestamp();
    const RowMemory memory = begin_row_memory();
    for (std::size_t i = 0; i < count; i++, reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        shmem::Places now_in{};
        if (tallies != nullptr)
            now_in = places(tally_of(tallies, queues[i].id));
        else if (const shmem::QueueEntry *entry = find_entry(view, queues[i].id))
            now_in = entry->stats.place;
        put_queue(rows, store, queues[i], view, now_in, now);
    }
    end(memory);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_count_tasks) {
    using namespace scylla;
    const text *name = PG_ARGISNULL(0) ? nullptr : args::name("queue", args::get_text(fcinfo, 0));
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    HTAB *tallies = count_tasks(store);
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        const store::QueueRow queue = queue_row(scan);
        if ((name != nullptr && !equal(queue.name, name)) || !rights::may_watch(store, queue.id))
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
    const auto stats = shmem::monitor_stats(stat_key(0), &reset);
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

SCYLLA_FUNCTION(scylla_stat_reset) {
    using namespace scylla;
    const text *name = PG_ARGISNULL(0) ? nullptr : args::name("queue", args::get_text(fcinfo, 0));
    Store store = store::open(AccessShareLock);
    std::optional<int32> queue;
    if (name != nullptr)
        queue = rights::require_queue(store, name, model::Privilege::admin).id;
    shmem::reset_stats(MyDatabaseId, store::identity(), queue);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_quantile) {
    using namespace scylla;
    const auto histogram = args::get_array(fcinfo, 0, INT8OID);
    const float8 fraction = args::fraction(args::get_float(fcinfo, 1));
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
    shmem::HeadStatus status;
    for (int at = 0; shmem::next_head(&at, &status);) {
        CHECK_FOR_INTERRUPTS();
        for (std::size_t p = 0; p < shmem::k_priorities; p++) {
            if ((status.view.nonempty[p / 64] >> (p % 64) & 1) == 0)
                continue;
            StringInfoData returned;
            initStringInfo(&returned);
            for (const model::Stretch &stretch : std::span(status.view.returned.at).first(status.view.returned.count))
                if (static_cast<std::size_t>(stretch.priority) == p)
                    appendStringInfo(&returned, "%s[" INT64_FORMAT "," INT64_FORMAT "]", returned.len > 0 ? "," : "",
                                     stretch.low, stretch.high);
            Datum values[] = {ObjectIdGetDatum(status.key.file), Int32GetDatum(status.key.queue),
                              Int32GetDatum(static_cast<int32>(p)), Int64GetDatum(status.view.frontier[p]),
                              CStringGetTextDatum(psprintf("{%s}", returned.data))};
            bool nulls[5] = {};
            tuplestore_putvalues(rows.store, rows.type, values, nulls);
        }
    }
    return 0;
}
