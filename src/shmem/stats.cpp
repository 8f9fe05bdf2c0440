#include "shmem/stat_entries.h"

#include "model/visible.h"
#include "pg/hash.h"
#include "pg/settings.h"

namespace scylla::shmem {

constinit Stats *stats = nullptr;

namespace {

constexpr int k_eviction_choice = 16; // so many entries are compared to evict one

int buckets() { return settings::max_queues; }

// The functions up to find_or_make_entry() want the lock held exclusively.

void unlink_entry(int32 index) noexcept {
    int32 *link = stats->bucket(hash_of(bytes_of(stats->entry(index).id)));
    while (*link != index)
        link = &stats->entry(*link).next;
    *link = stats->entry(index).next;
}

// Something that has happened in the queue is in no counter.
void forget_counts(const StatId &id) noexcept {
    stats->generation++;
    if (StatEntry *database = find_entry({id.database, id.extension, 0}))
        database->counted = false;
}

// Makes room: of the entries at the hand the one that has not changed for longest. k_none if none may go.
int32 evict() noexcept {
    int32 oldest = k_none;
    for (int from = 0; from < stats->size && oldest == k_none; from += k_eviction_choice) {
        for (int i = 0; i < k_eviction_choice && i < stats->size; i++) {
            const int32 other = (stats->hand + i) % stats->size;
            const StatEntry &entry = stats->entry(other);
            if (!is_in_flight(entry) && (oldest == k_none || entry.used < stats->entry(oldest).used))
                oldest = other;
        }
        stats->hand = (stats->hand + k_eviction_choice) % stats->size;
    }
    if (oldest == k_none)
        return k_none;
    unlink_entry(oldest);
    forget_counts(stats->entry(oldest).id);
    return oldest;
}

} // namespace

StatEntry *find_entry(const StatId &id) noexcept {
    for (int32 i = *stats->bucket(hash_of(bytes_of(id))); i != k_none; i = stats->entry(i).next)
        if (stats->entry(i).id == id)
            return &stats->entry(i);
    return nullptr;
}

StatEntry *find_or_make_entry(const StatId &id, TimestampTz now) noexcept {
    if (StatEntry *found = find_entry(id))
        return found;
    const int32 index = stats->count < stats->size ? stats->count++ : evict();
    if (index == k_none) {
        forget_counts(id);
        return nullptr;
    }
    StatEntry &entry = stats->entry(index);
    entry = StatEntry{};
    entry.id = id;
    entry.used = now;
    entry.reset = now;
    for (Depth &depth : entry.depth)
        depth.version = ++stats->depth_version;
    SpinLockInit(&entry.mutex);
    int32 *link = stats->bucket(hash_of(bytes_of(id)));
    entry.next = *link;
    *link = index;
    return &entry;
}

// ---- looking -------------------------------------------------------------------------------------------------------

namespace {

extern "C" int compare_queues(const void *a, const void *b) {
    const int32 left = static_cast<const QueueEntry *>(a)->queue;
    const int32 right = static_cast<const QueueEntry *>(b)->queue;
    return left < right ? -1 : left > right;
}

// With the lock held. *queues has room for every entry.
void fill(StatView *view, QueueEntry *queues) noexcept {
    std::size_t count = 0;
    view->generation = stats->generation;
    for (int i = 0; i < stats->count; i++) {
        StatEntry &entry = stats->entry(i);
        if (!is_of(entry, view->database, view->extension))
            continue;
        SpinLockAcquire(&entry.mutex);
        if (entry.id.queue == 0) {
            view->counted = entry.counted;
            view->counted_at = entry.counted_at;
            view->count_time = entry.count_time;
        } else
            queues[count++] = {entry.id.queue, entry.stats, entry.reset};
        SpinLockRelease(&entry.mutex);
    }
    view->queues = {queues, count};
}

QueueEntry *allocate_entries() {
    return static_cast<QueueEntry *>(
        palloc_extended(sizeof(QueueEntry) * static_cast<Size>(stats->size), MCXT_ALLOC_HUGE));
}

StatView begin_view(Oid database, Oid extension) {
    StatView view{};
    view.valid = stats != nullptr;
    view.database = database;
    view.extension = extension;
    return view;
}

void sort(StatView *view) { qsort(view->queues.data(), view->queues.size(), sizeof(QueueEntry), compare_queues); }

// Whether a transaction that the snapshot sees as ended has not added its notes yet. Not XidInMVCCSnapshot(): commits
// wait for the lock that is held here, and it may read pg_subtrans. The ids are those of top-level transactions.
bool is_behind(Snapshot snapshot) noexcept {
    const model::InProgress in_progress{snapshot->xmin,
                                        snapshot->xmax,
                                        {snapshot->xip, snapshot->xcnt},
                                        {snapshot->subxip, static_cast<std::size_t>(Max(snapshot->subxcnt, 0))}};
    for (int i = 0; i < MaxBackends; i++) {
        const TransactionId xid = pg_atomic_read_u32(&stats->committing(i).xid);
        if (TransactionIdIsValid(xid) && !model::is_in_progress(xid, in_progress))
            return true;
    }
    return false;
}

} // namespace

StatView look_at_stats(Oid database, Oid extension) {
    StatView view = begin_view(database, extension);
    if (!view.valid)
        return view;
    QueueEntry *queues = allocate_entries();
    LWLockAcquire(stats->lock, LW_SHARED);
    fill(&view, queues);
    LWLockRelease(stats->lock);
    sort(&view);
    return view;
}

uint64 stat_changes() noexcept {
    if (stats == nullptr)
        return 0;
    const uint64 changes = pg_atomic_read_u64(&stats->changes);
    pg_memory_barrier();
    return changes;
}

bool is_moment_of(Snapshot snapshot, uint64 changes) noexcept {
    return !is_behind(snapshot) && pg_atomic_read_u64(&stats->changes) == changes;
}

std::optional<StatView> look_at_snapshot(Oid database, Oid extension, Snapshot snapshot, uint64 changes) {
    StatView view = begin_view(database, extension);
    QueueEntry *queues = allocate_entries();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE); // nothing is added meanwhile
    const bool good = is_moment_of(snapshot, changes);
    if (good)
        fill(&view, queues);
    LWLockRelease(stats->lock);
    if (!good) {
        pfree(queues);
        return std::nullopt;
    }
    sort(&view);
    return view;
}

void anchor(const StatView &view, std::span<const Counted> counted, int64 time) {
    const TimestampTz now = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    if (stats->generation != view.generation) {
        LWLockRelease(stats->lock);
        return;
    }
    stats->generation++;
    const auto correct = [&](int32 queue, const Places &places, int sign) {
        StatEntry *entry = find_or_make_entry({view.database, view.extension, queue}, now);
        if (entry == nullptr)
            return;
        for (std::size_t i = 0; i < k_places; i++)
            entry->stats.place[i] += sign * places[i];
        for (const Bounded which : {Bounded::unleased, Bounded::running}) {
            depth_of(*entry, which).base -= sign * number_of(which, places);
            depth_of(*entry, which).version = ++stats->depth_version;
        }
    };
    StatEntry *database = find_or_make_entry({view.database, view.extension, 0}, now);
    if (database == nullptr) {
        LWLockRelease(stats->lock);
        return;
    }
    database->used = now;
    database->counted = true;
    database->counted_at = now;
    database->count_time = time;
    for (const Counted &each : counted)
        correct(each.queue, each.places, 1);
    for (const QueueEntry &each : view.queues)
        correct(each.queue, each.stats.place, -1);
    LWLockRelease(stats->lock);
}

void reset_stats(Oid database, Oid extension, std::optional<std::span<const int32>> queues) {
    if (stats == nullptr)
        return;
    const TimestampTz now = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    for (int i = 0; i < stats->count; i++) {
        StatEntry &entry = stats->entry(i);
        if (!is_of(entry, database, extension) ||
            (queues && !std::binary_search(queues->begin(), queues->end(), entry.id.queue)))
            continue;
        entry.reset = now;
        entry.stats.count = {};
        entry.stats.time = {};
        entry.monitor = {};
    }
    LWLockRelease(stats->lock);
}

// ---- the monitor ---------------------------------------------------------------------------------------------------

void count_round(const StatId &id, Work work, int64 tasks, int64 micros) {
    const TimestampTz now = GetCurrentTimestamp();
    change_entry(id, now, [&](StatEntry &entry) {
        MonitorStats &monitor = entry.monitor;
        monitor.rounds++;
        monitor.total_time += micros;
        monitor.max_time = Max(monitor.max_time, micros);
        monitor.tasks[static_cast<std::size_t>(work)] += tasks;
        monitor.last_round = now;
    });
}

void count_error(const StatId &id, const char *message) {
    const TimestampTz now = GetCurrentTimestamp();
    std::array<char, k_message> cut{};
    memcpy(cut.data(), message,
           static_cast<std::size_t>(pg_mbcliplen(message, static_cast<int>(strlen(message)), k_message - 1)));
    change_entry(id, now, [&](StatEntry &entry) {
        entry.monitor.errors++;
        entry.monitor.last_error_at = now;
        entry.monitor.last_error = cut;
    });
}

std::optional<MonitorStats> monitor_stats(const StatId &id, TimestampTz *reset) {
    if (stats == nullptr)
        return std::nullopt;
    MonitorStats found{};
    *reset = 0;
    LWLockAcquire(stats->lock, LW_SHARED);
    if (StatEntry *entry = find_entry(id)) {
        SpinLockAcquire(&entry->mutex);
        found = entry->monitor;
        *reset = entry->reset;
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return found;
}

// ---- set-up --------------------------------------------------------------------------------------------------------

Size stats_size() {
    return MAXALIGN(sizeof(Stats) + sizeof(int32) * static_cast<Size>(buckets())) +
           sizeof(StatEntry) * static_cast<Size>(settings::max_queues) + PG_CACHE_LINE_SIZE +
           sizeof(Committing) * static_cast<Size>(MaxBackends);
}

void make_stats(Stats *made, LWLock *lock, bool found) {
    stats = made;
    if (found)
        return;
    memset(made, 0, sizeof(Stats));
    made->lock = lock;
    made->size = settings::max_queues;
    pg_atomic_init_u32(&made->untold, 0);
    pg_atomic_init_u64(&made->changes, 0);
    for (int i = 0; i < made->size; i++)
        *made->bucket(static_cast<uint32>(i)) = k_none;
    for (int i = 0; i < MaxBackends; i++)
        pg_atomic_init_u32(&made->committing(i).xid, InvalidTransactionId);
    restore_stats();
}

} // namespace scylla::shmem
