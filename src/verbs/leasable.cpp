#include "verbs/leasable.h"

#include "model/aging.h"

namespace scylla {

using store::Found;
using store::KeyedPlace;
using store::Store;

namespace {

constexpr int64 k_first_share = 64; // so many tasks are passed over before keys are looked at
constexpr int64 k_price_of_key = 4; // in tasks that are passed over

// The next task of a key; with aging, of one priority of a key.
struct Candidate {
    KeyedPlace place;
    double effective;
};

// For a heap with the best on top.
bool goes_after(const Candidate &a, const Candidate &b) {
    return a.effective != b.effective ? a.effective < b.effective : a.place.id > b.place.id;
}

} // namespace

struct LeasableScan {
    Store *store;
    MemoryContext context; // in which it began
    int32 queue;
    double aging;
    TimestampTz now;
    KeyRooms *rooms;
    int64 *room; // of the key of the row that was given last

    ReadyScan *along; // the queue; null: the keys tell
    int64 passed_over;
    int64 share; // so many may be until it is the turn of the keys

    bool has_keys; // the scan has begun
    store::Scan keys;
    std::optional<KeyedPlace> within; // with aging: the key whose lower priorities are looked for
    Candidate *candidate;             // a heap
    std::size_t count;
    std::size_t capacity;
    std::optional<Candidate> given; // from the heap: its successor is to join
};

namespace {

void add_candidate(LeasableScan *scan, const KeyedPlace &place) {
    if (scan->count == scan->capacity) {
        scan->capacity = Max(scan->capacity * 2, std::size_t{64});
        const std::size_t bytes = scan->capacity * sizeof(Candidate);
        scan->candidate = static_cast<Candidate *>(scan->candidate == nullptr ? MemoryContextAlloc(scan->context, bytes)
                                                                              : repalloc_huge(scan->candidate, bytes));
    }
    double effective = place.priority;
    if (scan->aging > 0) {
        const auto spec = find_spec(*scan->store, place.id, store::With::no_spec);
        effective = model::effective_priority(place.priority, spec ? scan->now - spec->created : 0, scan->aging);
    }
    scan->candidate[scan->count++] = {place, effective};
    std::push_heap(scan->candidate, scan->candidate + scan->count, goes_after);
}

// The next row that the snapshot sees where the scan of the keys is. Its key lives as long as the scan.
bool next_place(LeasableScan *scan, KeyedPlace *place) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    Found found = Found::dead;
    while (found == Found::dead)
        found = next_keyed(scan->keys, place);
    MemoryContextSwitchTo(caller);
    return found == Found::row;
}

// Collects the first tasks of so many keys. True: of all keys.
bool collect(LeasableScan *scan, int64 keys) {
    if (!scan->has_keys) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        scan->keys = scan_keyed(*scan->store, scan->queue);
        MemoryContextSwitchTo(caller);
        scan->has_keys = true;
    }
    for (; keys > 0; keys--) {
        KeyedPlace place;
        if (next_place(scan, &place)) {
            add_candidate(scan, place);
            if (scan->aging > 0) {
                scan->within = place;
                restart_keyed_below(scan->keys, scan->queue, place.key, place.priority);
            } else
                restart_keyed_after(scan->keys, scan->queue, place.key);
        } else if (scan->within) {
            restart_keyed_after(scan->keys, scan->queue, scan->within->key);
            scan->within.reset();
        } else
            return true;
    }
    return false;
}

// The next task that is not passed over, going along the queue. Nothing if there is none.
bool next_along(LeasableScan *scan, store::ReadyRow *row) {
    while (next_ready(scan->along, row)) {
        scan->room = &room_of(scan->rooms, row->key);
        if (*scan->room > 0)
            return true;
        if (++scan->passed_over < scan->share)
            continue;
        if (collect(scan, scan->share / k_price_of_key)) {
            end_ready(scan->along);
            scan->along = nullptr;
            return false;
        }
        scan->share *= 2;
    }
    return false;
}

void add_successor(LeasableScan *scan, const KeyedPlace &of) {
    KeyedPlace place;
    restart_keyed_behind(scan->keys, scan->queue, of);
    bool found = next_place(scan, &place);
    if (!found && scan->aging <= 0) {
        restart_keyed_below(scan->keys, scan->queue, of.key, of.priority);
        found = next_place(scan, &place);
    }
    if (found)
        add_candidate(scan, place);
}

// The best of the first tasks of all keys.
bool next_of_keys(LeasableScan *scan, store::ReadyRow *row) {
    if (scan->given)
        add_successor(scan, scan->given->place);
    scan->given.reset();
    while (scan->count > 0) {
        std::pop_heap(scan->candidate, scan->candidate + scan->count, goes_after);
        const Candidate best = scan->candidate[--scan->count];
        scan->room = &room_of(scan->rooms, best.place.key);
        if (*scan->room < 1)
            continue; // nor have the others of this key
        const auto found = find_ready(*scan->store, scan->queue, best.place.priority, best.place.id);
        if (!found)
            elog(ERROR, "ready task " INT64_FORMAT " has vanished from a snapshot", best.place.id);
        *row = *found;
        scan->given = best;
        return true;
    }
    return false;
}

} // namespace

LeasableScan *begin_leasable(Store &store, const store::QueueRow &queue, KeyRooms *rooms, TimestampTz now) {
    auto *scan = static_cast<LeasableScan *>(palloc0(sizeof(LeasableScan)));
    scan->store = &store;
    scan->context = CurrentMemoryContext;
    scan->queue = queue.id;
    scan->aging = queue.aging;
    scan->now = now;
    scan->rooms = rooms;
    scan->share = k_first_share;
    scan->along = begin_ready(store, queue.id, queue.aging, now, Use::heads);
    return scan;
}

bool next_leasable(LeasableScan *scan, store::ReadyRow *row) {
    if (scan->along != nullptr && next_along(scan, row))
        return true;
    return scan->along == nullptr && next_of_keys(scan, row);
}

void settle(LeasableScan *scan, Fate fate) {
    if (fate == Fate::taken)
        use_room(scan);
    if (scan->along != nullptr)
        settle(scan->along, fate);
}

void use_room(LeasableScan *scan) { --*scan->room; }

void end_leasable(LeasableScan *scan) {
    if (scan->along != nullptr)
        end_ready(scan->along);
    if (scan->has_keys)
        end(scan->keys);
    if (scan->candidate != nullptr)
        pfree(scan->candidate);
    pfree(scan);
}

} // namespace scylla
