#include "shmem/depth.h"

#include "shmem/stat_entries.h"

namespace scylla::shmem {

namespace {

constexpr int64 k_count_share = 1000; // how much longer than a count takes is the time until the next one

int64 depth_of(const StatEntry &entry) noexcept {
    return entry.depth.base + unleased(entry.stats.place) + entry.depth.in_flight + entry.depth.prepared;
}

// True for one who asks, who is to count then; the others go by the present number.
bool claim_count(Depth &depth, TimestampTz now) noexcept {
    if (now - depth.counted_at < depth.count_time * k_count_share)
        return false;
    depth.counted_at = now;
    return true;
}

} // namespace

Room take_room(const StatKey &key, int64 bound, int64 wanted, bool all, bool has_counted, int64 *taken) {
    const TimestampTz now = GetCurrentTimestamp();
    int64 &noted = noted_room(key); // what may raise comes first
    const int64 own = noted_excess(key);
    *taken = 0;
    LWLockAcquire(stats->lock, LW_SHARED);
    StatEntry *entry = find_entry(key);
    if (entry == nullptr) {
        LWLockRelease(stats->lock);
        LWLockAcquire(stats->lock, LW_EXCLUSIVE);
        entry = find_or_make_entry(key, now);
        if (entry == nullptr) {
            LWLockRelease(stats->lock);
            return Room::no_place;
        }
    }
    SpinLockAcquire(&entry->mutex);
    entry->used = now;
    const bool known = entry->depth.known && (has_counted || !claim_count(entry->depth, now));
    if (known) {
        const int64 room = Max(bound - depth_of(*entry) - own, 0);
        *taken = wanted <= room ? wanted : all ? 0 : room;
        entry->depth.in_flight += *taken;
        noted += *taken;
    }
    SpinLockRelease(&entry->mutex);
    LWLockRelease(stats->lock);
    return known ? Room::taken : Room::unknown;
}

void count_refused(const StatKey &key, int64 tasks) noexcept {
    if (stats != nullptr)
        change_entry(key, GetCurrentTimestamp(), [tasks](StatEntry &entry) {
            entry.stats.count[static_cast<std::size_t>(Count::refused)] += tasks;
        });
}

void begin_depth(const StatKey &key) {
    if (stats == nullptr)
        return;
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    if (StatEntry *entry = find_or_make_entry(key, GetCurrentTimestamp())) {
        entry->depth.known = false;
        entry->depth.version = ++stats->depth_version;
        take_noted_room(*entry);
    }
    LWLockRelease(stats->lock);
}

int64 prepared_depth(const StatKey &key) noexcept {
    int64 prepared = 0;
    LWLockAcquire(stats->lock, LW_SHARED);
    if (StatEntry *entry = find_entry(key)) {
        SpinLockAcquire(&entry->mutex);
        prepared = entry->depth.prepared;
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return prepared;
}

std::optional<DepthView> look_at_depth(const StatKey &key, Snapshot snapshot, uint64 changes) noexcept {
    std::optional<DepthView> view;
    LWLockAcquire(stats->lock, LW_EXCLUSIVE); // nothing is added meanwhile
    if (is_moment_of(snapshot, changes))
        if (const StatEntry *entry = find_entry(key))
            view = {key, entry->depth.version, unleased(entry->stats.place), noted_depth(key)};
    LWLockRelease(stats->lock);
    return view;
}

void set_depth(const DepthView &view, int64 counted, int64 prepared, int64 time) noexcept {
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    StatEntry *entry = find_entry(view.key);
    if (entry != nullptr && entry->depth.version == view.version) {
        Depth &depth = entry->depth;
        depth.known = true;
        depth.base = counted - view.own - view.sum;
        depth.prepared -= prepared;
        depth.version = ++stats->depth_version;
        depth.counted_at = GetCurrentTimestamp();
        depth.count_time = time;
    }
    LWLockRelease(stats->lock);
}

} // namespace scylla::shmem
