#include "queue/limits.h"

#include "pg/hash.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "pg/text_table.h"
#include "shmem/gaps.h"
#include "shmem/key_notes.h"
#include "task/depth.h"
#include "store/locks.h"
#include "queue/rate.h"

namespace scylla {

using store::Store;
using store::TableId;

text *permit_of(const store::QueueRow &queue, const store::SpecRow &spec) {
    if (!has_limits(queue))
        return nullptr;
    return spec.key != nullptr ? spec.key : cstring_to_text("");
}

namespace {

bool acquire(Store &store, const LimitsLock &lock, bool wait) {
    // Opens the tables that a lease needs first: waiting for the lock of a table means waiting for other transactions.
    for (const TableId table : {TableId::spec, TableId::ready, TableId::lease})
        (void)store[table];
    const LOCKTAG tag = lock_tag(store, lock.queue, QueueLock::limits);
    return LockAcquire(&tag, lock.mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

// Sees all that has been committed, and what this call has done itself: it may have ended leases.
void look_again(Store &store) {
    CommandCounterIncrement();
    refresh(store);
}

LOCKMODE mode_for(const store::QueueRow &queue, HeldBy held_by) {
    return queue.max_running && held_by == HeldBy::count ? ExclusiveLock : ShareLock;
}

enum class IfFull : bool { wait, give_up };

std::optional<store::QueueRow> lock_as_is(Store &store, store::QueueRow seen, LimitsLock *lock, IfFull if_full) {
    if (shmem::shared == nullptr)
        lock->held_by = HeldBy::count;
    for (;;) {
        lock->queue = seen.id;
        lock->mode = mode_for(seen, lock->held_by);
        if (!acquire(store, *lock, false)) {
            if (if_full == IfFull::give_up && free_permits(store, seen, lock->held_by, 1) < 1) {
                lock->mode = NoLock;
                return seen;
            }
            acquire(store, *lock, true);
        }
        look_again(store);
        const auto queue = queue_of(store, seen.id).row;
        const bool fits = !queue || mode_for(*queue, lock->held_by) == lock->mode;
        const bool leaves = fits && lock->mode == ExclusiveLock && shmem::shared != nullptr;
        if (fits && (!leaves || leave_running_room(store, seen.id)))
            return queue;
        unlock_limits(store, *lock);
        if (leaves)
            lock->held_by = HeldBy::shared_memory;
        seen = *queue;
    }
}

} // namespace

std::optional<store::QueueRow> lock_limits(Store &store, const store::QueueRow &seen, LimitsLock *lock) {
    return lock_as_is(store, seen, lock, IfFull::wait);
}

std::optional<store::QueueRow> lock_limits_unless_full(Store &store, const store::QueueRow &seen, LimitsLock *lock) {
    return lock_as_is(store, seen, lock, IfFull::give_up);
}

void unlock_limits(Store &store, const LimitsLock &lock) {
    const LOCKTAG tag = lock_tag(store, lock.queue, QueueLock::limits);
    if (lock.mode != NoLock)
        (void)LockRelease(&tag, lock.mode, false);
}

int64 free_permits(Store &store, const store::QueueRow &queue, HeldBy held_by, int64 wanted) {
    if (!queue.max_running)
        return PG_INT64_MAX;
    const auto room = held_by == HeldBy::shared_memory && shmem::shared != nullptr
                          ? see_running_room(store, queue, wanted)
                          : std::nullopt;
    return room ? *room : *queue.max_running - count_permits(store, queue.id);
}

Permits begin_permits(const store::QueueRow &queue, const LimitsLock &lock) {
    return {queue.max_running && lock.held_by == HeldBy::shared_memory, false, false};
}

bool take_permit(Permits &permits, const store::QueueRow &queue) {
    if (!permits.needed || permits.held)
        return true;
    const Grant grant = take_running_room(queue);
    permits.held = grant == Grant::granted;
    permits.unknown = grant == Grant::unknown;
    return permits.held;
}

void end_permits(Permits &permits, const store::QueueRow &queue) {
    if (permits.held)
        return_running_room(queue.id);
    permits.held = false;
}

// ---- keys ----------------------------------------------------------------------------------------------------------

struct KeyRooms {
    Store *store;
    MemoryContext context; // of what is below
    HTAB *of_key;
    int32 queue;
    std::optional<int32> bound;
    Tokens *tokens; // null: any number may start in a time
    bool lock_keys;
    std::array<bool, k_key_locks> locked;
    text *busy; // a key with free slots that another call has locked; null: none
    int64 without_key;
};

namespace {

// The key is the text that the first member points to.
struct KeyRoom {
    const text *key;
    int64 room;
    int64 next; // when its rate allows a lease again; 0: it does now
};

void forget(KeyRooms *rooms) {
    if (rooms->of_key != nullptr)
        hash_destroy(rooms->of_key);
    rooms->of_key = make_text_table("scylla rooms of keys", sizeof(KeyRoom), rooms->context);
}

LOCKTAG tag_of_key(KeyRooms *rooms, std::size_t place) {
    return lock_tag(*rooms->store, rooms->queue, key_lock(place));
}

std::size_t lock_place(const text *key) { return (hash_of(key) >> 32) % k_key_locks; }

void lock_key(KeyRooms *rooms, std::size_t place) {
    const LOCKTAG tag = tag_of_key(rooms, place);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    rooms->locked[place] = true;
}

void unlock_keys(KeyRooms *rooms) {
    if (!rooms->lock_keys)
        return;
    for (std::size_t place = 0; place < k_key_locks; place++)
        if (rooms->locked[place]) {
            const LOCKTAG tag = tag_of_key(rooms, place);
            (void)LockRelease(&tag, ExclusiveLock, false);
            rooms->locked[place] = false;
        }
}

// Whether the count may store the gaps that it finds: only with the lock of the key.
enum class Learn : bool { no, yes };

// The leases of a key, without walking over the dead entries in its gaps (shmem/gaps.h).
int64 count_permits(KeyRooms *rooms, const text *key, Learn learn) {
    const shmem::GapKey place{{MyDatabaseId, compat::file_number((*rooms->store)[TableId::lease].rel), rooms->queue},
                              view(key)};
    const TimestampTz now = GetCurrentTimestamp();
    const shmem::KeyGaps known = shmem::gaps_of(place, now);
    std::array<model::IdRange, shmem::k_gaps + 1> ranges{};
    const std::size_t count = outside(known, shmem::k_permits, ranges);
    const store::PermitCount found = find_permits(*rooms->store, rooms->queue, key, std::span(ranges).first(count));
    if (learn == Learn::yes && found.dead >= shmem::k_worth_a_gap) {
        shmem::KeyGaps gaps{1, {{{0, PG_INT64_MAX, shmem::k_permits}}}};
        for (const int64 id : found.ids)
            take_out(gaps, shmem::k_permits, id, id);
        // These leases are held again if this transaction rolls back.
        if (const shmem::OwnIds ended = shmem::own_ended(rooms->queue); ended.low <= ended.high)
            take_out(gaps, shmem::k_permits, ended.low, ended.high);
        shmem::replace_gaps(place, gaps, found.dead, now);
    }
    return static_cast<int64>(found.ids.size());
}

// By max_running_per_key.
int64 count_running_room(KeyRooms *rooms, text *key) {
    if (!rooms->bound)
        return PG_INT64_MAX;
    bool locked_here = false;
    bool busy = false;
    const std::size_t place = lock_place(key);
    const LOCKTAG tag = tag_of_key(rooms, place);
    if (rooms->lock_keys && !rooms->locked[place]) {
        busy = LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL;
        rooms->locked[place] = locked_here = !busy;
    }
    const int64 room = *rooms->bound - count_permits(rooms, key, rooms->locked[place] ? Learn::yes : Learn::no);
    if (room < 1 && locked_here) {
        (void)LockRelease(&tag, ExclusiveLock, false);
        rooms->locked[place] = false;
    }
    if (room < 1 || !busy)
        return room;
    rooms->busy = key;
    return 0;
}

// The free slots of a key that is counted for the first time.
KeyRoom count_room(KeyRooms *rooms, text *key) {
    int64 next = 0;
    const int64 starting = rooms->tokens != nullptr ? tokens_of(*rooms->tokens, key, &next) : PG_INT64_MAX;
    if (starting < 1)
        return {key, 0, next};
    return {key, std::min(starting, count_running_room(rooms, key)), 0};
}

} // namespace

KeyRooms *begin_rooms(Store &store, const store::QueueRow &queue, const LimitsLock &lock, Tokens *tokens) {
    auto *rooms = static_cast<KeyRooms *>(palloc0(sizeof(KeyRooms)));
    rooms->store = &store;
    rooms->context = CurrentMemoryContext;
    rooms->queue = queue.id;
    rooms->bound = queue.max_running_per_key;
    rooms->tokens = tokens != nullptr && tokens->key_rate ? tokens : nullptr;
    rooms->lock_keys = lock.mode == ShareLock;
    rooms->without_key = PG_INT64_MAX;
    if (rooms->bound || rooms->tokens != nullptr)
        forget(rooms);
    return rooms;
}

int64 &room_of(KeyRooms *rooms, const text *key) {
    if (rooms->of_key == nullptr || key == nullptr || view(key).empty())
        return rooms->without_key;
    bool found = false;
    if (auto *seen = static_cast<KeyRoom *>(hash_search(rooms->of_key, &key, HASH_FIND, nullptr)))
        return seen->room;
    MemoryContext caller = MemoryContextSwitchTo(rooms->context);
    text *copy = cstring_to_text_with_len(view(key).data(), static_cast<int>(view(key).size()));
    MemoryContextSwitchTo(caller);
    const KeyRoom counted = count_room(rooms, copy);
    auto *entered = static_cast<KeyRoom *>(hash_search(rooms->of_key, &copy, HASH_ENTER, &found));
    *entered = counted;
    return entered->room;
}

int64 &wait_for_room(KeyRooms *rooms, const text *key) {
    if (rooms->lock_keys && rooms->bound && key != nullptr) {
        unlock_keys(rooms);
        lock_key(rooms, lock_place(key));
        forget(rooms);
    }
    return room_of(rooms, key);
}

bool wait_for_room(KeyRooms *rooms) {
    const text *busy = rooms->busy;
    rooms->busy = nullptr;
    if (busy == nullptr)
        return false;
    wait_for_room(rooms, busy);
    return true;
}

int64 next_token(KeyRooms *rooms, int64 ahead) {
    if (rooms->tokens == nullptr)
        return PG_INT64_MAX;
    const auto firsts = allocate<int64>(static_cast<std::size_t>(hash_get_num_entries(rooms->of_key)));
    std::size_t count = 0;
    HASH_SEQ_STATUS at;
    hash_seq_init(&at, rooms->of_key);
    while (const auto *known = static_cast<const KeyRoom *>(hash_seq_search(&at))) {
        if (known->next != 0)
            firsts[count++] = known->next;
    }
    const int64 step = (rooms->tokens->key_rate->interval + model::k_nanos - 1) / model::k_nanos;
    const int64 time = count > 0 ? model::time_of_any(firsts.first(count), step, ahead) : PG_INT64_MAX;
    pfree(firsts.data());
    return time;
}

void end_rooms(KeyRooms *rooms) {
    unlock_keys(rooms);
    if (rooms->of_key != nullptr)
        hash_destroy(rooms->of_key);
    pfree(rooms);
}

} // namespace scylla
