#include "queue/leasable.h"

#include "model/aging.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/text.h"
#include "pg/text_table.h"
#include "shmem/gaps.h"
#include "shmem/key_notes.h"
#include "task/rules.h"
#include "pg/json.h"

namespace scylla {

using store::Found;
using store::KeyedPlace;
using store::Store;

namespace {

constexpr int64 k_first_share = 64; // so many tasks are skipped before keys are looked at
constexpr int64 k_price_of_key = 4; // in tasks that are skipped
constexpr std::string_view k_all_others = "*";

// The next task of a key; with aging, of one priority of a key.
struct Candidate {
    KeyedPlace place;
    double effective;
};

// For a heap with the best on top.
bool goes_after(const Candidate &a, const Candidate &b) {
    return a.effective != b.effective ? a.effective < b.effective : a.place.id > b.place.id;
}

// Of all keys, or of one.
struct Candidates {
    Growing<Candidate, 1> heap;
    std::optional<Candidate> given; // its successor is to join
};

// A key that takes turns. The text is the key of the hash table.
struct Sharer {
    const text *key;
    bool begun;
    bool done; // it has no tasks, or no room, for this call
    Candidates tasks;
};

// What the scan of the keys goes through.
enum class Scope : std::uint8_t { priority, key, queue };

// The dead entries of one key and priority that the scan has just walked over or jumped over.
struct Run {
    int64 walked; // 0: none
    text *key;
    int16 priority;
    int64 first;
    int64 last;
};

constexpr int k_steps_to_next = 64; // so many keys are visited before all of them are collected
constexpr int k_races = 16;         // so often may other processes pass the turn first

} // namespace

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one in a call; what belongs together stands together
struct LeasableScan {
    Store *store;
    MemoryContext context; // in which it began
    int32 queue;
    double aging;
    TimestampTz now;
    KeyRooms *rooms;
    int64 *room; // of the key of the row that was returned last

    ReadyScan *along; // the queue; null: the keys decide
    int64 passed_over;
    int64 share; // so many may be skipped until the keys are looked at

    bool has_keys; // the scan has begun
    store::Scan keys;
    uint64 clock; // of the gaps, before the snapshot
    Scope scope;  // what the scan has to read
    Scope at;     // the part of it that the scan is in, having jumped over a gap
    text *jumped; // of this key; the scan uses it
    int16 jumped_priority;
    Run run;
    std::optional<KeyedPlace> within; // with aging: the key whose lower priorities are read next
    Candidates tasks;

    // If keys take turns.
    bool takes_turns;
    Jsonb *weights;
    shmem::HeadId head;
    int32 most;     // so many tasks are still wanted
    int32 granted;  // of the present turn
    Sharer *sharer; // the key that has the turn
    HTAB *sharers;
    int steps;    // from key to key
    bool has_all; // keys that were not done, in their order
    Growing<const text *> all;
};

namespace {

void add_candidate(LeasableScan *scan, Candidates &to, const KeyedPlace &place) {
    double effective = place.priority;
    if (scan->aging > 0) {
        const auto spec = find_spec(*scan->store, place.id, store::With::no_spec);
        effective = model::effective_priority(place.priority, spec ? scan->now - spec->created : 0, scan->aging);
    }
    to.heap.add({place, effective}, scan->context);
    std::push_heap(to.heap.all().begin(), to.heap.all().end(), goes_after);
}

shmem::GapKey gap_key(const LeasableScan *scan, const text *key) {
    return {head_id(*scan->store, scan->queue), view(key)};
}

// The dead entries end here. Remembers them as a gap, so that other scans need not walk over them again.
void end_run(LeasableScan *scan) {
    const Run &run = scan->run;
    if (run.walked >= shmem::k_worth_a_gap && run.first <= run.last) {
        const shmem::GapKey key = gap_key(scan, run.key);
        if (!shmem::has_taken(key.queue.file, scan->queue, shmem::gap_hash(key.key)))
            shmem::add_gap(key, {run.first, run.last, run.priority}, run.walked, scan->clock, scan->now);
    }
    if (run.walked > 0)
        pfree(run.key);
    scan->run.walked = 0;
}

// Begins a scope anew: restart(scan->keys, …).
template <typename Restart, typename... Where>
void go(LeasableScan *scan, Scope scope, Restart restart, Where... where) {
    end_run(scan);
    scan->scope = scan->at = scope;
    restart(scan->keys, scan->queue, where...);
}

void go_after(LeasableScan *scan, const text *key) { go(scan, Scope::queue, store::restart_keyed_after, key); }
void go_from(LeasableScan *scan, const text *key) { go(scan, Scope::queue, store::restart_keyed_from, key); }
void go_below(LeasableScan *scan, const text *key, int16 priority) {
    go(scan, Scope::key, store::restart_keyed_below, key, priority);
}
void go_behind(LeasableScan *scan, const KeyedPlace &place) {
    go(scan, Scope::priority, store::restart_keyed_behind, place);
}

// Jumps over the gap that a dead entry is in, if one is known.
void jump(LeasableScan *scan, int64 id) {
    Run &run = scan->run;
    const shmem::GapKey key = gap_key(scan, run.key);
    const auto gap = shmem::find_gap(key, run.priority, id, scan->now);
    if (!gap || gap->high <= id)
        return;
    const shmem::OwnIds own = shmem::own_ready(key.queue.file, scan->queue, shmem::gap_hash(key.key), run.priority);
    if (own.low <= gap->high && own.high > id)
        return;
    if (scan->jumped == nullptr || !equal(scan->jumped, run.key))
        scan->jumped = cstring_to_text_with_len(view(run.key).data(), static_cast<int>(view(run.key).size()));
    scan->jumped_priority = run.priority;
    scan->at = Scope::priority;
    run.last = gap->high;
    restart_keyed_behind(scan->keys, scan->queue, {scan->jumped, run.priority, gap->high});
}

void pass_dead(LeasableScan *scan, const KeyedPlace &entry) {
    constexpr int64 k_between_looks = 16;
    constexpr int64 k_first_look = 4;
    Run &run = scan->run;
    if (run.walked > 0 && (run.priority != entry.priority || !has_key(scan->keys, run.key)))
        end_run(scan);
    if (run.walked == 0)
        run = {0, copy_key(scan->keys), entry.priority, entry.id, entry.id};
    run.last = entry.id;
    if (++run.walked % k_between_looks == k_first_look)
        jump(scan, entry.id);
}

// Continues behind the end of the part that a jump has led to. False: all of the scope has been read.
bool widen(LeasableScan *scan) {
    if (scan->at == scan->scope)
        return false;
    if (scan->at == Scope::priority) {
        scan->at = Scope::key;
        restart_keyed_below(scan->keys, scan->queue, scan->jumped, scan->jumped_priority);
    } else {
        scan->at = Scope::queue;
        restart_keyed_after(scan->keys, scan->queue, scan->jumped);
    }
    return true;
}

// The next row in the scan of the keys that the snapshot sees. Its key lives as long as the scan.
bool next_place(LeasableScan *scan, KeyedPlace *place) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    Found found = Found::end;
    do {
        while ((found = next_keyed(scan->keys, place)) == Found::dead)
            pass_dead(scan, *place);
        // Those before it may be earlier versions of the row itself.
        if (found == Found::row && scan->run.walked > 0 && scan->run.priority == place->priority &&
            equal(scan->run.key, place->key))
            scan->run.last = Min(scan->run.last, place->id - 1);
        end_run(scan);
    } while (found == Found::end && widen(scan));
    MemoryContextSwitchTo(caller);
    return found == Found::row;
}

void begin_keyed_scan(LeasableScan *scan) {
    if (scan->has_keys)
        return;
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    scan->keys = scan_keyed(*scan->store, scan->queue);
    scan->scope = scan->at = Scope::queue;
    MemoryContextSwitchTo(caller);
    scan->has_keys = true;
}

// Collects the first tasks of so many keys. True: of all keys.
bool collect(LeasableScan *scan, int64 keys) {
    begin_keyed_scan(scan);
    for (; keys > 0; keys--) {
        KeyedPlace place;
        if (next_place(scan, &place)) {
            add_candidate(scan, scan->tasks, place);
            if (scan->aging > 0) {
                scan->within = place;
                go_below(scan, place.key, place.priority);
            } else
                go_after(scan, place.key);
        } else if (scan->within) {
            go_after(scan, scan->within->key);
            scan->within.reset();
        } else
            return true;
    }
    return false;
}

// The next task along the queue that is not skipped. Nothing if there is none.
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

void add_successor(LeasableScan *scan, Candidates &tasks, const KeyedPlace &of) {
    KeyedPlace place;
    go_behind(scan, of);
    bool found = next_place(scan, &place);
    if (!found && scan->aging <= 0) {
        go_below(scan, of.key, of.priority);
        found = next_place(scan, &place);
    }
    if (found)
        add_candidate(scan, tasks, place);
}

// Whether there is one whose key has free slots; then the best of these is on top.
bool has_next(LeasableScan *scan, Candidates &tasks) {
    if (tasks.given)
        add_successor(scan, tasks, tasks.given->place);
    tasks.given.reset();
    for (; tasks.heap.count > 0; tasks.heap.count--) {
        const auto heap = tasks.heap.all();
        scan->room = &room_of(scan->rooms, heap.front().place.key);
        if (*scan->room > 0)
            return true;
        std::pop_heap(heap.begin(), heap.end(), goes_after); // the others of this key have none either
    }
    return false;
}

// The best of them whose key has free slots.
bool next_of(LeasableScan *scan, Candidates &tasks, store::ReadyRow *row) {
    if (!has_next(scan, tasks))
        return false;
    const auto heap = tasks.heap.all();
    std::pop_heap(heap.begin(), heap.end(), goes_after);
    const Candidate best = heap.back();
    tasks.heap.count--;
    const auto found = find_ready(*scan->store, scan->queue, best.place.priority, best.place.id);
    if (!found)
        elog(ERROR, "ready task " INT64_FORMAT " has vanished from a snapshot", best.place.id);
    *row = *found;
    tasks.given = best;
    return true;
}

// ---- turns ---------------------------------------------------------------------------------------------------------

Sharer *sharer_of(LeasableScan *scan, const text *key) {
    if (auto *known = static_cast<Sharer *>(hash_search(scan->sharers, &key, HASH_FIND, nullptr)))
        return known;
    bool found = false;
    auto *made = static_cast<Sharer *>(hash_search(scan->sharers, &key, HASH_ENTER, &found));
    *made = Sharer{};
    made->key = key;
    return made;
}

int32 weight_of(const LeasableScan *scan, const text *key) {
    for (const std::string_view name : {view(key), k_all_others}) {
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&scan->weights->root, name.data(), static_cast<int>(name.size()), &value) !=
            nullptr)
            return json::to_int("key_weights", &value);
    }
    return 1;
}

// The next key that has a ready task, after the last one the first; null: there is none.
const text *step(LeasableScan *scan, const text *from) {
    KeyedPlace place;
    go_after(scan, from);
    if (next_place(scan, &place))
        return place.key;
    go_from(scan, cstring_to_text(""));
    return next_place(scan, &place) ? place.key : nullptr;
}

// All keys that have a ready task and are not done.
void collect_all(LeasableScan *scan) {
    KeyedPlace place;
    for (go_from(scan, cstring_to_text("")); next_place(scan, &place); go_after(scan, place.key)) {
        if (!sharer_of(scan, place.key)->done)
            scan->all.add(place.key, scan->context);
    }
    scan->has_all = true;
}

// The next one after `from`, wrapping around, that is not done; null: all are.
Sharer *next_sharer(LeasableScan *scan, const text *from) {
    for (const text *key = from; !scan->has_all;) {
        if (++scan->steps > k_steps_to_next) {
            collect_all(scan);
            break;
        }
        key = step(scan, key);
        if (key == nullptr)
            return nullptr;
        if (Sharer *sharer = sharer_of(scan, key); !sharer->done)
            return sharer;
    }
    const auto all = scan->all.all();
    auto next = std::upper_bound(all.begin(), all.end(), view(from),
                                 [](std::string_view a, const text *b) { return a < view(b); });
    for (std::size_t i = 0; i < all.size(); i++, ++next) {
        if (next == all.end())
            next = all.begin();
        if (Sharer *sharer = sharer_of(scan, *next); !sharer->done)
            return sharer;
    }
    return nullptr;
}

// The key has no more tasks for this call, or no free slot.
void set_done(LeasableScan *scan, Sharer *sharer) {
    sharer->done = true;
    const auto all = scan->all.all();
    const auto known = std::find_if(all.begin(), all.end(), [&](const text *key) { return equal(key, sharer->key); });
    if (known != all.end()) {
        std::copy(known + 1, all.end(), known);
        scan->all.count--;
    }
}

bool has_task(LeasableScan *scan, Sharer *sharer) {
    if (!sharer->begun) {
        // With aging its first task of each priority.
        KeyedPlace place;
        int16 below = model::k_max_priority + 1;
        do {
            go_below(scan, sharer->key, below);
            if (!next_place(scan, &place))
                break;
            add_candidate(scan, sharer->tasks, place);
            below = place.priority;
        } while (scan->aging > 0);
        sharer->begun = true;
    }
    return has_next(scan, sharer->tasks);
}

// Finds the key that has the turn. False: no key has a task.
bool begin_turn(LeasableScan *scan) {
    for (int races = 0;; races++) {
        shmem::KeyTurn turn;
        scan->granted = shmem::take_turn(scan->head, scan->most, &turn);
        const text *whose = cstring_to_text_with_len(turn.key.data(), turn.length);
        if (scan->granted > 0) {
            scan->sharer = sharer_of(scan, whose);
            if (!scan->sharer->done)
                return true;
            shmem::end_turn(scan->head, view(whose));
        }
        // The turn passes only to a key that has a task: the snapshot still shows those that this call has taken.
        scan->sharer = next_sharer(scan, whose);
        while (scan->sharer != nullptr && !has_task(scan, scan->sharer)) {
            set_done(scan, scan->sharer);
            scan->sharer = next_sharer(scan, scan->sharer->key);
        }
        if (scan->sharer == nullptr) {
            scan->granted = 0;
            return false;
        }
        const int32 weight = weight_of(scan, scan->sharer->key);
        scan->granted = Min(weight, scan->most);
        if (shmem::pass_turn(scan->head, view(whose), view(scan->sharer->key), weight - scan->granted) ||
            races == k_races)
            return true;
    }
}

bool next_by_turns(LeasableScan *scan, store::ReadyRow *row) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    bool found = false;
    begin_keyed_scan(scan);
    while (!found && (scan->granted > 0 || begin_turn(scan))) {
        found = has_task(scan, scan->sharer);
        if (found) {
            MemoryContextSwitchTo(caller);
            found = next_of(scan, scan->sharer->tasks, row);
            MemoryContextSwitchTo(scan->context);
        } else {
            set_done(scan, scan->sharer);
            shmem::end_turn(scan->head, view(scan->sharer->key));
            scan->granted = 0;
        }
    }
    MemoryContextSwitchTo(caller);
    return found;
}

} // namespace

LeasableScan *begin_leasable(Store &store, const store::QueueRow &queue, KeyRooms *rooms, const Purpose &purpose,
                             TimestampTz now) {
    auto *scan = static_cast<LeasableScan *>(palloc0(sizeof(LeasableScan)));
    scan->store = &store;
    scan->context = CurrentMemoryContext;
    scan->queue = queue.id;
    scan->aging = queue.aging;
    scan->now = now;
    scan->rooms = rooms;
    scan->share = k_first_share;
    scan->clock = shmem::gap_clock(); // before the snapshot
    if (queue.is_shared && purpose.lease) {
        refresh(store);
        const auto settings = find_settings(store, queue.id);
        scan->weights = settings ? settings->key_weights : nullptr; // null: it has just lost them, or is gone
    }
    if (scan->weights != nullptr) {
        scan->takes_turns = true;
        scan->head = head_id(store, queue.id);
        scan->most = static_cast<int32>(purpose.most);
        scan->sharers = make_text_table("scylla keys that take turns", sizeof(Sharer), scan->context);
    } else
        scan->along = begin_ready(store, queue.id, queue.aging, now, Use::heads);
    return scan;
}

bool next_leasable(LeasableScan *scan, store::ReadyRow *row) {
    if (scan->takes_turns)
        return next_by_turns(scan, row);
    if (scan->along != nullptr && next_along(scan, row))
        return true;
    return scan->along == nullptr && next_of(scan, scan->tasks, row);
}

void settle(LeasableScan *scan, RowFate fate) {
    if (fate == RowFate::taken) {
        use_room(scan);
        scan->granted--;
        scan->most--;
    }
    if (scan->along != nullptr)
        settle(scan->along, fate);
}

void use_room(LeasableScan *scan) { --*scan->room; }

void close_key(LeasableScan *scan) { *scan->room = 0; }

void end_leasable(LeasableScan *scan) {
    if (scan->along != nullptr)
        end_ready(scan->along);
    if (scan->has_keys)
        end(scan->keys);
    if (scan->sharers != nullptr)
        hash_destroy(scan->sharers);
    pfree(scan);
}

void check_key_weights(Jsonb *weights) {
    if (!json::is_object(weights))
        error::bad_argument("key_weights", error::show(weights), "It must be an object.");
    json::for_each_member(&weights->root, [&](const char *name, JsonbValue *value) {
        if (*name != '\0')
            args::name("key_weights", cstring_to_text(name));
        const int32 weight = json::to_int("key_weights", value);
        if (weight < 1 || weight > model::k_max_key_weight)
            error::bad_argument("key_weights", psprintf("%d", weight), "It must be between 1 and 1000.");
    });
}

} // namespace scylla
