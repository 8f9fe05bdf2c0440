// lease, lease_task: giving ready tasks to workers.
//
// A lease deletes the ready row without waiting: it skips a row that another transaction is deleting. That has the
// effect of FOR UPDATE SKIP LOCKED, with one WAL record instead of two. Nothing takes row locks on ready rows: a lock
// would make them look taken (docs/internals.md).
#include "queue/lease.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "shmem/waiters.h"
#include "task/rules.h"
#include "queue/leasable.h"
#include "queue/rate.h"
#include "queue/unknown.h"
#include "task/gates.h"
#include "task/rights.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

int64 default_timeout(const store::QueueRow &queue) {
    const auto own = args::timeout("default_timeout", queue.default_timeout);
    return own.value_or(static_cast<int64>(settings::default_timeout) * 1000);
}

// Leases what the heads know. Returns how many.
int32 lease_known(Store &store, const LeaseRequest &request, const store::QueueRow &queue, KeyRooms *rooms,
                  Tokens &tokens, Permits &permits, const TaskSink &sink) {
    const int64 timeout = request.timeout.value_or(default_timeout(queue));
    note_use(store, queue, store::Use::leased);
    LeasableScan *scan = begin_leasable(store, queue, rooms, {true, request.max_tasks}, GetCurrentTimestamp());
    // Only now: the call may have waited for locks, and what it sees may have become ready meanwhile.
    const TimestampTz now = GetCurrentTimestamp();
    const bool many = request.max_tasks > 1;
    if (many)
        begin_bulk(store[TableId::lease]);
    const RowMemory memory = begin_row_memory();
    store::ReadyRow ready;
    int32 leased = 0;
    bool wants_more = true;
    for (; leased < request.max_tasks && wants_more && take_token(tokens) && next_leasable(scan, &ready);
         reset(memory)) {
        // Who else is at it is a cheap question, and the answer is often yes where many lease at once.
        store::Taken standing = store::standing(store, ready);
        const auto spec = standing != store::Taken::ok ? std::nullopt
                          : many                       ? find_next_spec(store, ready.id, store::With::spec)
                                                       : find_spec(store, ready.id, store::With::spec);
        if (standing == store::Taken::ok && !spec)
            continue; // a restore is under way and has not brought it yet
        if (spec && !take_permit(permits, queue))
            break;
        if (spec && !take_token(tokens, ready.key)) {
            close_key(scan);
            continue;
        }
        if (spec)
            standing = take(store, TableId::ready, *spec, ready.tid, Wait::no);
        if (spec && standing != store::Taken::ok)
            return_token(tokens, ready.key);
        switch (standing) {
        case store::Taken::ok:
            wants_more = sink.put(
                sink.to, store,
                make_running(store, *spec, ready,
                             {.worker = request.worker, .timeout = timeout, .permit = permit_of(queue, *spec)}, now));
            settle(scan, RowFate::taken);
            use_token(tokens);
            use_permit(permits);
            leased++;
            break;
        case store::Taken::busy:
            break; // if that transaction rolls back it is there for the next lease
        case store::Taken::gone:
            settle(scan, RowFate::gone);
            break;
        }
    }
    end(memory);
    if (many)
        end_bulk(store[TableId::lease]);
    end_leasable(scan);
    return leased;
}

// These two say how many they have leased.
int32 lease_some(Store &store, const LeaseRequest &request, const store::QueueRow &queue, const LimitsLock &lock,
                 Tokens &tokens, Permits &permits, const TaskSink &sink) {
    KeyRooms *rooms = begin_rooms(store, queue, lock, &tokens);
    int32 leased = lease_known(store, request, queue, rooms, tokens, permits, sink);
    while (leased == 0 && wait_for_room(rooms))
        leased = lease_known(store, request, queue, rooms, tokens, permits, sink);
    if (leased == 0 && find_overlooked(store, queue.id))
        leased = lease_known(store, request, queue, rooms, tokens, permits, sink);
    end_rooms(rooms);
    return leased;
}

// The same where not everything may be leased.
int32 lease_limited(Store &store, const LeaseRequest &request, const store::QueueRow &seen, Tokens &tokens,
                    const TaskSink &sink) {
    for (LimitsLock lock{};; lock.held_by = HeldBy::count) {
        Permits permits{};
        int32 leased = 0;
        const auto queue = lock_limits_unless_full(store, seen, &lock);
        if (lock.mode != NoLock && queue && !queue->paused) {
            permits = begin_permits(*queue, lock);
            for (int attempt = 0; attempt < k_permit_attempts; attempt++) {
                LeaseRequest allowed = request;
                allowed.max_tasks = static_cast<int32>(
                    std::min<int64>(request.max_tasks, free_permits(store, *queue, lock.held_by, request.max_tasks)));
                permits.unknown = false;
                if (allowed.max_tasks < 1)
                    break;
                leased = lease_some(store, allowed, *queue, lock, tokens, permits, sink);
                if (leased > 0 || !permits.unknown)
                    break;
            }
            end_permits(permits, *queue);
        }
        unlock_limits(store, lock);
        if (leased > 0 || !permits.unknown)
            return leased;
    }
}

// Takes the permit by max_running for the lease of one task. False: shared memory does not know whether there is one.
// If there is none, calls refuse(setting, limit, key), which raises.
template <typename Refuse>
bool require_permit(Store &store, const store::QueueRow &queue, const LimitsLock &lock, Refuse refuse) {
    Permits permits = begin_permits(queue, lock);
    for (int attempt = 0; attempt < k_permit_attempts; attempt++) {
        permits.unknown = false;
        const bool taken = free_permits(store, queue, lock.held_by, 1) >= 1 && take_permit(permits, queue);
        if (taken)
            return true;
        if (!permits.unknown)
            refuse("max_running", *queue.max_running, nullptr);
    }
    return false;
}

// Locks the limits of a queue and takes the permit. Returns the queue as it is now; nothing if it is gone.
template <typename Refuse>
std::optional<store::QueueRow> lock_permit(Store &store, const store::QueueRow &seen, LimitsLock *lock, Refuse refuse) {
    for (;; lock->held_by = HeldBy::count) {
        const auto queue = lock_limits(store, seen, lock);
        if (!queue || require_permit(store, *queue, *lock, refuse))
            return queue;
        unlock_limits(store, *lock);
    }
}

// Takes a slot of the key, as above. The caller ends the result when the lease is written.
template <typename Refuse>
KeyRooms *require_room(Store &store, const store::QueueRow &queue, const LimitsLock &lock, const text *key,
                       Refuse refuse) {
    KeyRooms *rooms = begin_rooms(store, queue, lock, nullptr);
    if (wait_for_room(rooms, key) < 1)
        refuse("max_running_per_key", *queue.max_running_per_key, key);
    return rooms;
}

} // namespace

void lease_tasks(Store &store, const LeaseRequest &request, const TaskSink &sink) {
    const auto queue = find_queue(store, request.queue);
    if (!queue) {
        tell_unknown_queue(request.queue);
        return;
    }
    rights::require(store, *queue, model::Privilege::work);
    if (queue->paused) {
        shmem::found_empty(stat_key(queue->id)); // waiters are told when the pause ends
        return;
    }
    Tokens tokens = begin_tokens(store, *queue);
    if (!take_token(tokens)) {
        shmem::found_empty(stat_key(queue->id)); // waiters are told of tasks from now on
        return;
    }
    const auto nothing = [&] {
        Permits none{};
        return (has_limits(*queue) ? lease_limited(store, request, *queue, tokens, sink)
                                   : lease_some(store, request, *queue, {}, tokens, none, sink)) == 0;
    };
    if (nothing() && queue->notify && shmem::found_empty(stat_key(queue->id)))
        nothing();
    end_tokens(tokens);
}

int64 count_leasable(Store &store, int32 queue, int64 limit, TimestampTz now, int64 *again) {
    const auto row = queue_of(store, queue).row; // a copy: the store is refreshed
    if (!row || row->paused)
        return 0;
    if (const auto token = next_token(*row)) {
        if (again != nullptr)
            *again = Min(*again, *token);
        return 0;
    }
    const int64 allowed = std::min(limit, free_permits(store, *row, HeldBy::shared_memory, limit));
    if (allowed < 1)
        return 0;
    Tokens tokens = look_at_tokens(*row);
    KeyRooms *rooms = begin_rooms(store, *row, {}, &tokens);
    LeasableScan *scan = begin_leasable(store, *row, rooms, {false, 0}, now);
    const RowMemory memory = begin_row_memory();
    store::ReadyRow ready;
    int64 count = 0;
    for (; count < allowed && next_leasable(scan, &ready); reset(memory))
        switch (store::standing(store, ready)) {
        case store::Taken::ok:
            count++;
            use_room(scan);
            break;
        case store::Taken::busy:
            break;
        case store::Taken::gone:
            settle(scan, RowFate::gone);
            break;
        }
    end(memory);
    if (count == 0 && again != nullptr && tokens.key_rate && shmem::shared != nullptr)
        *again = std::min(*again, next_token(rooms, shmem::ahead(row->id)));
    end_leasable(scan);
    end_rooms(rooms);
    end_tokens(tokens);
    return count;
}

namespace {

// What a waiting task waits for first, in sentences; null: it does not wait, or not any more.
const char *reason_to_wait(Store &store, const Task &task) {
    const auto waiting = task.status == model::Status::waiting ? find_waiting(store, task.spec.id) : std::nullopt;
    if (!waiting)
        return nullptr;
    std::optional<Reason> first;
    const auto keep_first = [](void *to, const Reason &reason) {
        auto &kept = *static_cast<std::optional<Reason> *>(to);
        if (!kept)
            kept = reason;
    };
    explain_waiting(store, task.spec, *waiting, GetCurrentTimestamp(), {keep_first, &first});
    if (!first)
        return nullptr;
    const char *until =
        first->until ? psprintf(" (%s)", error::print(TimestampTzGetDatum(*first->until), TIMESTAMPTZOID)) : "";
    return psprintf("It waits for %s%s. %s", first->waits_for, until, first->detail);
}

} // namespace

Task lease_task(Store &store, const TaskLeaseRequest &request) {
    for (;; refresh(store)) {
        const auto spec = find_spec(store, request.rn, store::With::spec);
        if (!spec || !rights::may_act(store, spec->queue, model::Privilege::work))
            error::no_such_task(request.rn);
        const auto ready = find_ready(store, spec->queue, spec->priority, spec->id);
        if (!ready) {
            const Task task = require_task(store, *spec);
            error::not_ready(request.rn, model::name(task.status), task.owner, task.carry.attempt,
                             reason_to_wait(store, task));
        }
        auto queue = queue_of(store, spec->queue).row;
        if (queue && queue->paused)
            error::queue_paused(queue->name);
        if (take(store, TableId::ready, *spec, ready->tid, Wait::yes) != store::Taken::ok)
            continue;
        Tokens tokens = queue ? begin_tokens(store, *queue) : Tokens{};
        if (!take_token(tokens))
            error::rate_reached(queue->name);
        if (!take_token(tokens, spec->key)) {
            end_tokens(tokens);
            error::rate_reached(queue->name, spec->key);
        }
        const auto refuse = [&](const char *setting, int32 limit, const text *key) {
            return_token(tokens, spec->key);
            end_tokens(tokens);
            error::limit_reached(queue->name, setting, limit, key);
        };
        // Only now: a call that waits for a row must not hold the lock.
        LimitsLock lock{};
        KeyRooms *rooms = nullptr;
        if (queue && has_limits(*queue)) {
            queue = lock_permit(store, *queue, &lock, refuse);
            if (queue)
                rooms = require_room(store, *queue, lock, spec->key, refuse);
        }
        if (queue)
            note_use(store, *queue, store::Use::leased);
        const int64 length = request.timeout ? *request.timeout : queue ? default_timeout(*queue) : 0;
        const Task task = make_running(
            store, *spec, *ready,
            {.worker = request.worker, .timeout = length, .permit = queue ? permit_of(*queue, *spec) : nullptr},
            GetCurrentTimestamp());
        use_token(tokens);
        end_tokens(tokens);
        if (rooms != nullptr)
            end_rooms(rooms);
        unlock_limits(store, lock);
        return task;
    }
}

} // namespace scylla
