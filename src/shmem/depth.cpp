#include "shmem/depth.h"

#include "model/pace.h"
#include "shmem/stat_entries.h"
#include "shmem/waiters.h"

namespace scylla::shmem {

namespace {

int64 total(const StatEntry &entry, Bounded which) noexcept {
    const Depth &depth = entry.depth[static_cast<std::size_t>(which)];
    return depth.base + number_of(which, entry.stats.place) + depth.in_flight + depth.prepared;
}

// True for one who asks, who is to count then; the others go by the present number.
bool claim_count(Depth &depth, TimestampTz now) noexcept {
    if (!model::count_is_due(now, depth.counted_at, depth.count_time))
        return false;
    depth.counted_at = now;
    return true;
}

// Lets `use(depth, room)` act under the entry's mutex where the room is known: no more than arithmetic. shares_only:
// the entry may not be held by this transaction alone.
template <typename Use> Room with_room(const Wish &wish, bool shares_only, Use use) noexcept {
    const auto [key, which, bound, wanted, has_counted] = wish;
    const TimestampTz now = GetCurrentTimestamp();
    const int64 own = noted_excess(key, which);
    LWLockAcquire(stats->lock, LW_SHARED);
    StatEntry *entry = find_entry(key);
    if (entry == nullptr) {
        LWLockRelease(stats->lock);
        LWLockAcquire(stats->lock, LW_EXCLUSIVE);
        entry = find_or_make_entry(key, now);
        if (entry == nullptr) {
            LWLockRelease(stats->lock);
            return Room::no_entry;
        }
    }
    SpinLockAcquire(&entry->mutex);
    entry->used = now;
    Depth &depth = depth_of(*entry, which);
    const int64 room = Max(bound - total(*entry, which) - own, 0);
    const bool in_doubt = which == Bounded::running && depth.doubtful && room < wanted;
    const bool allowed = !shares_only || is_in_flight(*entry);
    const bool known = allowed && depth.known && (has_counted || (!in_doubt && !claim_count(depth, now)));
    if (known)
        use(depth, room);
    SpinLockRelease(&entry->mutex);
    LWLockRelease(stats->lock);
    return known ? Room::known : allowed ? Room::unknown : Room::no_entry;
}

} // namespace

Room reserve_room(const Wish &wish, Share share, int64 *taken) {
    HeldRoom &held = held_room(wish.id); // what may raise comes first
    const bool shares_only = !held.any() && !may_hold_another();
    *taken = 0;
    return with_room(wish, shares_only, [&](Depth &depth, int64 room) {
        *taken = wish.wanted <= room ? wish.wanted : share == Share::all ? 0 : room;
        depth.in_flight += *taken;
        change(held, wish.which, *taken);
    });
}

Room see_room(const Wish &wish, int64 *room) {
    return with_room(wish, false, [room](Depth &, int64 there) { *room = there; });
}

void release_room(const StatId &id, Bounded which, int64 room) {
    HeldRoom &held = held_room(id);
    LWLockAcquire(stats->lock, LW_SHARED);
    StatEntry *entry = find_entry(id); // it is there as long as it has something in flight
    SpinLockAcquire(&entry->mutex);
    depth_of(*entry, which).in_flight -= room;
    change(held, which, -room);
    SpinLockRelease(&entry->mutex);
    LWLockRelease(stats->lock);
    if (which == Bounded::running)
        signal(id.database, id.queue, room); // others may have found none meanwhile
}

bool forget_depth(const StatId &id, Bounded which) noexcept {
    bool free = true;
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    if (StatEntry *entry = find_entry(id)) {
        Depth &depth = depth_of(*entry, which);
        free = depth.in_flight == 0;
        if (free) {
            depth.known = false;
            depth.version = ++stats->depth_version;
        }
    }
    LWLockRelease(stats->lock);
    return free;
}

void count_refused(const StatId &id, int64 tasks) noexcept {
    if (stats != nullptr)
        change_entry(id, GetCurrentTimestamp(), [tasks](StatEntry &entry) {
            entry.stats.count[static_cast<std::size_t>(Count::refused)] += tasks;
        });
}

bool reset_depth(const StatId &id, Bounded which) {
    const bool brings = noted_without_room(id, which) > 0;
    const bool shares_only = brings && !held_room(id).any() && !may_hold_another(); // what may raise comes first
    const TimestampTz now = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    StatEntry *entry = brings ? find_or_make_entry(id, now) : find_entry(id);
    const bool taken = !brings || (entry != nullptr && (!shares_only || is_in_flight(*entry)));
    if (entry != nullptr && taken) {
        depth_of(*entry, which).known = false;
        depth_of(*entry, which).version = ++stats->depth_version;
        take_noted_room(*entry, which);
    }
    LWLockRelease(stats->lock);
    return taken;
}

PreparedDepth prepared_depth(const StatId &id, Bounded which) noexcept {
    PreparedDepth prepared{0, 0, 0};
    LWLockAcquire(stats->lock, LW_SHARED);
    if (StatEntry *entry = find_entry(id)) {
        SpinLockAcquire(&entry->mutex);
        const Depth &depth = depth_of(*entry, which);
        prepared = {depth.prepared, depth.doubts, depth.version};
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return prepared;
}

Look look_at_depth(const StatId &id, Bounded which, Snapshot snapshot, uint64 changes, DepthView *view) noexcept {
    Look look = Look::missed;
    LWLockAcquire(stats->lock, LW_EXCLUSIVE); // nothing is added meanwhile
    const StatEntry *entry = find_entry(id);
    if (entry == nullptr)
        look = Look::evicted;
    else if (is_moment_of(snapshot, changes)) {
        look = Look::good;
        *view = {id, which, number_of(which, entry->stats.place), noted_depth(id, which)};
    }
    LWLockRelease(stats->lock);
    return look;
}

void set_depth(const DepthView &view, int64 counted, const PreparedDepth &prepared, bool any_prepared,
               int64 time) noexcept {
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    StatEntry *entry = find_entry(view.id);
    if (entry != nullptr && depth_of(*entry, view.which).version == prepared.version) {
        Depth &depth = depth_of(*entry, view.which);
        if (!depth.known)
            take_noted_room(*entry, view.which);
        depth.known = true;
        depth.base = counted - view.own - view.sum;
        depth.prepared -= prepared.tasks;
        depth.doubtful = any_prepared || depth.doubts != prepared.doubts;
        depth.version = ++stats->depth_version;
        depth.counted_at = GetCurrentTimestamp();
        depth.count_time = time;
    }
    LWLockRelease(stats->lock);
}

} // namespace scylla::shmem
