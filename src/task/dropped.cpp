#include "task/dropped.h"

#include "pg/memory.h"
#include "shmem/pending.h"
#include "store/check_rows.h"
#include "store/dropped.h"
#include "store/queue/dropped.h"
#include "store/memo_rows.h"
#include "task/duty.h"
#include "task/gates.h"
#include "task/history.h"
#include "task/moves.h"
#include "task/names.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;
using store::Taken;

namespace {

constexpr int64 k_busy = 50'000;                             // microseconds until rows that were busy are tried again
constexpr int64 k_longest_delay = int64{10} * USECS_PER_SEC; // the same, when they stay so
constexpr int64 k_passed_per_removed = 100;                  // tasks of other queues that a portion may pass over

// The live row of a task, out of its table, and what it carries; busy also where no table has it, as in a restore that
// is under way.
Taken take_live(Store &store, const store::SpecRow &spec, store::Carry *carry) {
    if (const auto row = find_waiting(store, spec.id)) {
        *carry = row->carry;
        return take(store, TableId::waiting, spec, row->tid, Wait::no);
    }
    if (const auto row = find_ready(store, spec.queue, spec.priority, spec.id)) {
        *carry = row->carry;
        return take(store, TableId::ready, spec, row->tid, Wait::no);
    }
    if (const auto row = find_lease(store, spec.id)) {
        *carry = row->carry;
        const Taken taken = take(store, TableId::lease, spec, row->tid, Wait::no);
        if (taken == Taken::ok)
            shmem::note_taken_away(spec.id); // a handler that runs it is interrupted
        return taken;
    }
    return Taken::busy;
}

Taken cancel_dropped(Store &store, const store::SpecRow &spec, TimestampTz now) {
    store::Carry carry{};
    const Taken taken = take_live(store, spec, &carry);
    if (taken == Taken::ok) {
        carry.errors = add_error(carry.errors, make_error("queue-dropped", "the queue of the task was dropped"));
        make_final(store, spec, {.status = Status::cancelled, .carry = carry}, now);
    }
    return taken;
}

// Removes a task that has ended and whose result is not needed. The spec first: it is the row that others may lock.
Taken remove_ended(Store &store, const store::SpecRow &spec, const ItemPointerData &outcome) {
    if (spec.dedup_key != nullptr && !remove_dedup_key(store, spec, false))
        return Taken::busy;
    if (spec.is_check && store::remove_check(store, spec.id, store::Waiting::no) != Taken::ok)
        return Taken::busy;
    const Taken taken = take(store, TableId::spec, spec, spec.tid, Wait::no);
    if (taken != Taken::ok)
        return taken;
    if (take(store, TableId::outcome, spec, outcome, Wait::no) != Taken::ok)
        elog(ERROR, "outcome of task " INT64_FORMAT " was changed while its specification was removed", spec.id);
    leave_plan(store, spec);
    remove_gates(store, spec);
    store::remove_memo(store, spec.id);
    return taken;
}

// One step of its end; whether it could be done.
bool advance(Store &store, const store::SpecRow &spec, TimestampTz now) {
    if (const auto outcome = find_outcome(store, spec.id))
        return !has_live_dependants(store, spec.id) && remove_ended(store, spec, outcome->tid) == Taken::ok;
    return cancel_dropped(store, spec, now) == Taken::ok;
}

// A walk through all tasks by their ids, in portions, for some of the dropped queues; the next walk is for the next
// ones. If it has met no task of theirs, nothing is left of these queues: no tasks can be added to them any more
// (queue/settings.cpp).
struct Walk {
    std::size_t queues; // 0: none is under way
    std::array<int32, 64> queue;
    int64 after;
    int64 time; // that it has taken
    bool met;   // a task of theirs
    bool done;  // it has ended or removed one
};
constinit Walk walk{};
constinit int32 walked_to = 0;  // the last of the queues that had their walk in this round
constinit int64 delay = k_busy; // after a walk that found only what it had to leave

bool is_of_walk(int32 queue) { return std::binary_search(walk.queue.begin(), walk.queue.begin() + walk.queues, queue); }

void begin_walk() {
    walk = {};
    walk.queues = store::find_dropped(walked_to, walk.queue);
    if (walk.queues == 0 && walked_to != 0) {
        walked_to = 0;
        walk.queues = store::find_dropped(walked_to, walk.queue);
    }
}

void end_walk(DutyTurn &turn) {
    const auto queues = std::span(walk.queue).first(walk.queues);
    const bool kept = !walk.met && !store::forget_dropped(queues);
    walked_to = queues.size() == walk.queue.size() ? queues.back() : 0;
    const bool left = kept || (walk.met && !walk.done);
    delay = left ? std::min(delay * 2, k_longest_delay) : k_busy;
    if ((walk.met && walk.done) || walked_to != 0)
        turn.portion.more = true;
    else if (left)
        turn.next = std::min(turn.next, turn.now + std::max(delay, walk.time * model::k_background_share));
    walk.queues = 0;
}

void remove_portion(Store &store, DutyTurn &turn) {
    if (walk.queues == 0)
        begin_walk();
    if (walk.queues == 0)
        return;
    Portion &portion = turn.portion;
    const int64 most_passed =
        portion.limit > PG_INT64_MAX / k_passed_per_removed ? PG_INT64_MAX : portion.limit * k_passed_per_removed;
    int64 passed = 0;
    bool stopped = false;
    store::SpecWalk specs = store::begin_spec_walk(store, walk.after);
    const RowMemory memory = begin_row_memory();
    for (store::WalkedSpec spec; !stopped && next(specs, &spec); reset(memory)) {
        walk.after = spec.row.id;
        stopped = ++passed == most_passed;
        if (!is_of_walk(spec.row.queue))
            continue;
        walk.met = true;
        if (!spec.in_progress && advance(store, spec.row, turn.now))
            portion.done++;
        stopped = stopped || portion.done == portion.limit;
    }
    end(memory);
    end(specs);
    settle_gates(store, turn.now);
    walk.done = walk.done || portion.done > 0;
    walk.time += GetCurrentTimestamp() - turn.now;
    if (stopped)
        portion.more = true;
    else
        end_walk(turn);
}

} // namespace

void register_dropped_duty() {
    register_duty({.activity = "removing tasks of dropped queues",
                   .work = remove_portion,
                   .timer = shmem::Timer::dropped,
                   .share = 50,
                   .restart = [] {
                       walk = {};
                       walked_to = 0;
                   }});
}

void remove_all_dropped(Store &store) {
    walk = {};
    walked_to = 0;
    for (bool more = true; more;) {
        DutyTurn turn{.now = GetCurrentTimestamp(), .portion = {.limit = PG_INT64_MAX}};
        CommandCounterIncrement();
        refresh(store);
        remove_portion(store, turn);
        more = turn.portion.more;
    }
    CommandCounterIncrement();
    refresh(store);
}

void free_dropped_name(Store &store, const text *rn) {
    if (rn == nullptr || !store::any_dropped())
        return;
    for (Taken renamed = Taken::busy; renamed != Taken::ok;) {
        const auto spec = find_spec(store, rn, store::With::no_spec);
        if (!spec || queue_of(store, spec->queue).row || !store::dropped::is_there(spec->queue))
            return;
        renamed = rename_dropped(store, *spec, make_up_name(GetCurrentTimestamp()));
        CommandCounterIncrement();
        refresh(store);
    }
}

} // namespace scylla
