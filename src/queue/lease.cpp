// lease, lease_task: giving ready tasks to workers.
//
// A lease deletes the ready row without waiting: it skips a row that another transaction is deleting. That has the
// effect of FOR UPDATE SKIP LOCKED, with one WAL record instead of two. Nothing takes row locks on ready rows: a lock
// would make them look taken (src/store/README.md).
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

// One call of lease().
struct LeaseCall {
    Store &store;
    const LeaseRequest &request;
    const TaskSink &sink;
    Tokens &tokens;
    Permits permits; // by max_running
    int32 max_tasks; // never more than the request's
};

// What is common to the leases of one scan.
struct LeaseTerms {
    int64 timeout;
    TimestampTz now;
    bool many;
};

// What became of a ready row.
enum class Tried : std::uint8_t {
    leased,
    leased_last, // the sink takes no more
    left,        // another transaction is changing it, or a restore has not brought the task's specification yet
    gone,
    no_permit,
    no_token, // of its key
};

Tried try_lease(LeaseCall &call, const store::QueueRow &queue, const LeaseTerms &terms, const store::ReadyRow &ready) {
    Store &store = call.store;
    // Whether another transaction is changing the row is cheap to ask, and often the case when many workers lease.
    store::Taken standing = store::standing(store, ready);
    if (standing == store::Taken::ok) {
        const auto spec = terms.many ? find_next_spec(store, ready.id, store::With::spec)
                                     : find_spec(store, ready.id, store::With::spec);
        if (!spec)
            return Tried::left;
        if (!take_permit(call.permits, queue))
            return Tried::no_permit;
        if (!take_token(call.tokens, ready.key))
            return Tried::no_token;
        standing = take(store, TableId::ready, *spec, ready.tid, Wait::no);
        if (standing == store::Taken::ok) {
            const Task task = make_running(
                store, *spec, ready,
                {.worker = call.request.worker, .timeout = terms.timeout, .permit = permit_of(queue, *spec)},
                terms.now);
            return call.sink.put(call.sink.to, store, task) ? Tried::leased : Tried::leased_last;
        }
        return_token(call.tokens, ready.key);
    }
    return standing == store::Taken::busy ? Tried::left : Tried::gone;
}

// Leases what the heads know. Returns how many.
int32 lease_known(LeaseCall &call, const store::QueueRow &queue, KeyRooms *rooms) {
    Store &store = call.store;
    note_use(store, queue, store::Use::leased);
    LeasableScan *scan = begin_leasable(store, queue, rooms, {true, call.max_tasks}, GetCurrentTimestamp());
    // begin_leasable() may have waited for locks, and the scan sees what became ready meanwhile: so the time is taken
    // afterwards.
    const LeaseTerms terms{.timeout = call.request.timeout.value_or(default_timeout(queue)),
                           .now = GetCurrentTimestamp(),
                           .many = call.max_tasks > 1};
    if (terms.many)
        begin_bulk(store[TableId::lease]);
    const RowMemory memory = begin_row_memory();
    store::ReadyRow ready;
    int32 leased = 0;
    bool wants_more = true;
    for (; leased < call.max_tasks && wants_more && take_token(call.tokens) && next_leasable(scan, &ready);
         reset(memory)) {
        const Tried tried = try_lease(call, queue, terms, ready);
        switch (tried) {
        case Tried::leased:
        case Tried::leased_last:
            settle(scan, RowFate::taken);
            use_token(call.tokens);
            use_permit(call.permits);
            leased++;
            wants_more = tried == Tried::leased;
            break;
        case Tried::left:
            break; // the next lease finds it if that transaction rolls back
        case Tried::gone:
            settle(scan, RowFate::gone);
            break;
        case Tried::no_permit:
            wants_more = false;
            break;
        case Tried::no_token:
            close_key(scan);
            break;
        }
    }
    end(memory);
    if (terms.many)
        end_bulk(store[TableId::lease]);
    end_leasable(scan);
    return leased;
}

// Also waits for keys that seemed to have room, and finds tasks that the heads do not know. Returns how many it leased.
int32 lease_some(LeaseCall &call, const store::QueueRow &queue, const LimitsLock &lock) {
    KeyRooms *rooms = begin_rooms(call.store, queue, lock, &call.tokens);
    int32 leased = lease_known(call, queue, rooms);
    while (leased == 0 && wait_for_room(rooms))
        leased = lease_known(call, queue, rooms);
    if (leased == 0 && find_overlooked(call.store, queue.id))
        leased = lease_known(call, queue, rooms);
    end_rooms(rooms);
    return leased;
}

// The same in a queue with limits.
int32 lease_limited(LeaseCall &call, const store::QueueRow &seen) {
    const int32 wanted = call.request.max_tasks;
    for (LimitsLock lock{};; lock.held_by = HeldBy::count) {
        call.permits = {};
        int32 leased = 0;
        const auto queue = lock_limits_unless_full(call.store, seen, &lock);
        if (lock.mode != NoLock && queue && !queue->paused) {
            call.permits = begin_permits(*queue, lock);
            for (int attempt = 0; attempt < k_permit_attempts; attempt++) {
                call.permits.unknown = false;
                call.max_tasks =
                    static_cast<int32>(std::min<int64>(wanted, free_permits(call.store, *queue, lock.held_by, wanted)));
                if (call.max_tasks < 1)
                    break;
                leased = lease_some(call, *queue, lock);
                if (leased > 0 || !call.permits.unknown)
                    break;
            }
            end_permits(call.permits, *queue);
        }
        unlock_limits(call.store, lock);
        if (leased > 0 || !call.permits.unknown)
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

// Takes a token of the queue and one of the key; an error if there is none.
Tokens require_tokens(Store &store, const store::QueueRow &queue, const text *key) {
    Tokens tokens = begin_tokens(store, queue);
    if (!take_token(tokens))
        error::rate_reached(queue.name);
    if (!take_token(tokens, key)) {
        end_tokens(tokens);
        error::rate_reached(queue.name, key);
    }
    return tokens;
}

// Takes a slot of the key; without one, calls refuse() as require_permit() does. The caller ends the result when the
// lease is written.
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
        tell_unknown_queue(store, request.queue);
        return;
    }
    rights::require(store, *queue, model::Privilege::work);
    if (queue->paused) {
        shmem::found_empty(stat_id(queue->id)); // waiters are told when the pause ends
        return;
    }
    Tokens tokens = begin_tokens(store, *queue);
    if (!take_token(tokens)) {
        shmem::found_empty(stat_id(queue->id)); // waiters are told of tasks from now on
        return;
    }
    LeaseCall call{.store = store,
                   .request = request,
                   .sink = sink,
                   .tokens = tokens,
                   .permits = {},
                   .max_tasks = request.max_tasks};
    const auto nothing = [&] {
        return (has_limits(*queue) ? lease_limited(call, *queue) : lease_some(call, *queue, {})) == 0;
    };
    if (nothing() && queue->notify && shmem::found_empty(stat_id(queue->id)))
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
        Tokens tokens = queue ? require_tokens(store, *queue, spec->key) : Tokens{};
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
