#include "api/queue_numbers.h"

#include "model/pace.h"
#include "pg/clock.h"
#include "pg/growing.h"
#include "pg/memory.h"
#include "queue/ready_scan.h"
#include "task/rights.h"

namespace scylla {

namespace {

using model::Status;
using store::Store;
using store::TableId;

constexpr int k_attempts = 1000; // to find a moment at which a count can begin

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

} // namespace

Tally &tally_of(HTAB *tallies, int32 queue) {
    bool found = false;
    auto *tally = static_cast<Tally *>(hash_search(tallies, &queue, HASH_ENTER, &found));
    if (!found)
        tally->tasks = {};
    return *tally;
}

// Stores the result in shared memory if commits can keep it up to date from then on.
HTAB *count_tasks(Store &store) {
    std::optional<shmem::StatView> view;
    // Our own changes are in the snapshot, but are added only when we commit. On a standby nothing is added.
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

namespace {

// Changes of commits without a callback (COMMIT PREPARED) are missing: a number of tasks is negative.
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

// The queues that the current user may watch, without their numbers.
std::span<QueueNumbers> find_queues(Store &store) {
    Growing<QueueNumbers> queues;
    store::Scan scan = scan_queues(store);
    const RowMemory memory = begin_row_memory();
    for (; next(scan); reset(memory)) {
        const store::QueueRow row = queue_row(scan);
        if (!rights::may_watch(row))
            continue;
        MemoryContextSwitchTo(memory.outer);
        queues.add({.name = DatumGetTextPP(datumCopy(PointerGetDatum(row.name), false, -1)),
                    .id = row.id,
                    .now_in = {},
                    .ready_since = {},
                    .stats = nullptr,
                    .reset = 0});
        MemoryContextSwitchTo(memory.own);
    }
    end(memory);
    end(scan);
    return queues.all();
}

void add_ready_since(Store &store, const AllNumbers &all) {
    const auto since = allocate<ReadySince>(all.queues.size());
    std::size_t count = 0;
    for (const QueueNumbers &queue : all.queues)
        if (queue.now_in[static_cast<std::size_t>(shmem::Place::ready)] != 0)
            since[count++] = {queue.id, std::nullopt};
    find_ready_since(store, since.first(count), all.now, RecoveryInProgress() ? Use::no_heads : Use::heads);
    const ReadySince *next = since.data();
    for (QueueNumbers &queue : all.queues)
        if (next != since.data() + count && next->queue == queue.id)
            queue.ready_since = (next++)->since;
}

} // namespace

AllNumbers find_numbers(Store &store, bool may_count) {
    shmem::StatView view = shmem::look_at_stats(MyDatabaseId, store::identity());
    HTAB *tallies = nullptr;
    if (!is_true(view, may_count)) {
        tallies = count_tasks(store);
        view = shmem::look_at_stats(MyDatabaseId, store::identity());
    }
    const AllNumbers all{view.valid, GetCurrentTimestamp(), find_queues(store)};
    for (QueueNumbers &queue : all.queues) {
        const shmem::QueueEntry *entry = find_entry(view, queue.id);
        if (tallies != nullptr)
            queue.now_in = places(tally_of(tallies, queue.id));
        else if (entry != nullptr)
            queue.now_in = entry->stats.place;
        if (entry != nullptr) {
            queue.stats = &entry->stats;
            queue.reset = entry->reset;
        }
    }
    add_ready_since(store, all);
    return all;
}

} // namespace scylla
