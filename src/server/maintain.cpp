#include "server/maintain.h"

#include "job/jobs.h"
#include "pg/growing.h"
#include "pg/hash.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "shmem/pending.h"
#include "store/check_rows.h"
#include "store/memo_rows.h"
#include "store/plans.h"
#include "store/queue_list.h"
#include "task/called.h"
#include "task/rules.h"
#include "task/events.h"
#include "task/dropped.h"
#include "task/gates.h"
#include "queue/pending.h"
#include "task/history.h"
#include "task/line.h"
#include "task/finish.h"
#include "task/moves.h"
#include "task/run_limit.h"
#include "workflow/runs.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;

namespace {

// Ends an expired lease: the task runs again, or has failed too often.
void end_lease(Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, TimestampTz now) {
    store::Carry carry = carry_on(lease, Ending::timeout, now);
    shmem::count(stat_id(lease.queue), shmem::Count::expired);
    if (spec.max_attempts && carry.failures >= *spec.max_attempts) {
        carry.errors = add_error(carry.errors, make_error("timeout", "the lease expired and no attempts are left"));
        make_final(store, spec, {.status = Status::aborted, .progress = lease.progress, .carry = carry}, now);
    } else {
        leave_pools(store, spec);
        make_startable(store, spec, carry, now);
    }
}

// Ends a run that has taken too long: it is a failure, and a server worker need not continue it.
void end_run(Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, TimestampTz ends,
             TimestampTz now) {
    fail_run(store, spec, lease, {run_timeout_error(store, run_of(lease), ends - lease.leased), std::nullopt}, now);
    shmem::note_taken_away(lease.id);
}

// Extends the lease of a process that is calling a handler and cannot do so itself. Returns when to check again.
TimestampTz extend(Store &store, store::LeaseRow lease, TimestampTz ends, TimestampTz now) {
    lease.deadline = std::min(now + lease.timeout, ends);
    lease.updated = now;
    (void)update_lease(store, lease); // if this fails, the lease has just changed: the next check shows how
    return lease.deadline;
}

// Runs `work` for each row of a scan with the memory of one row, until the portion is used up.
template <typename Work> void for_each(store::Scan scan, Portion *portion, Work work) {
    const RowMemory memory = begin_row_memory();
    while (next(scan)) {
        if (portion->done == portion->limit) {
            portion->more = true;
            break;
        }
        const bool go_on = work(scan);
        reset(memory);
        if (!go_on)
            break;
    }
    end(memory);
    end(scan);
}

// What a portion has done for each role. When it is used up, roles for which it has done little get their turn, so that
// very many rows of one do not delay the few of another.
struct Served {
    int64 limit;   // of the portion, for rows in their order
    int64 most;    // of the portion, with those of roles whose turn it is
    int64 little;  // until it has done so much for a role, it is the role's turn
    HTAB *of_role; // by a hash of its name
    int32 queue;   // that was asked for last
    int64 *count;  // of its owner; null: none was asked for
};

Served begin_served(const Portion &portion) {
    HASHCTL control{};
    control.keysize = sizeof(uint64);
    control.entrysize = sizeof(std::array<int64, 2>);
    control.hcxt = CurrentMemoryContext;
    const int64 more = portion.limit > PG_INT64_MAX / 2 ? 0 : portion.limit / 2;
    return {.limit = portion.limit,
            .most = portion.limit + more,
            .little = portion.limit / 10,
            .of_role = hash_create("scylla turns", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT),
            .queue = 0,
            .count = nullptr};
}

// How many rows of queues with the same owner it has done.
int64 &count_of(Store &store, Served &served, int32 queue) {
    if (served.count != nullptr && served.queue == queue)
        return *served.count;
    const auto &row = queue_of(store, queue).row;
    uint64 key = hash_of(row ? row->owner : "");
    bool found = false;
    auto *entry = static_cast<std::array<int64, 2> *>(hash_search(served.of_role, &key, HASH_ENTER, &found));
    if (!found)
        (*entry)[1] = 0;
    served.queue = queue;
    served.count = &(*entry)[1];
    return *served.count;
}

bool is_its_turn(Store &store, Served &served, int32 queue) { return count_of(store, served, queue) < served.little; }

// The retention of tasks, by queue and final status.
constexpr Status k_endings[] = {Status::completed, Status::aborted, Status::cancelled};
using ByEnding = std::array<std::optional<int64>, std::size(k_endings)>; // nothing: scylla.retention
struct Retention {
    int32 queue;
    ByEnding micros;
};
struct Retentions {
    std::span<const Retention> by_queue;
    std::array<Datum, std::size(k_endings)> endings; // as values of scylla.task_status
    int64 shortest;
    int64 otherwise;
};

std::optional<Retention> own_retention(const store::Scan &scan) {
    const store::QueueSettings own = queue_settings(scan);
    if (own.retention == nullptr && own.retention_completed == nullptr && own.retention_aborted == nullptr &&
        own.retention_cancelled == nullptr)
        return std::nullopt;
    const auto micros = [of_all = args::retention("retention", own.retention)](const char *name, Interval *retention) {
        const auto length = args::retention(name, retention);
        return length ? length : of_all;
    };
    return Retention{queue_row(scan).id,
                     {micros("retention_completed", own.retention_completed),
                      micros("retention_aborted", own.retention_aborted),
                      micros("retention_cancelled", own.retention_cancelled)}};
}

Retentions read_retentions(Store &store) {
    static constinit store::QueueList<Retention> known{};
    const int64 otherwise = static_cast<int64>(settings::retention) * model::k_second;
    Retentions result{list_queues(store, known, own_retention), {}, otherwise, otherwise};
    for (const Retention &each : result.by_queue)
        for (const auto &micros : each.micros)
            result.shortest = Min(result.shortest, micros.value_or(otherwise));
    for (std::size_t i = 0; i < std::size(k_endings); i++)
        result.endings[i] = status_datum(store, k_endings[i]);
    return result;
}

// status: of scylla.task_status. The queues are in the order of their ids.
int64 retention_of(const Retentions &retentions, int32 queue, Datum status) {
    const auto found = std::lower_bound(retentions.by_queue.begin(), retentions.by_queue.end(), queue,
                                        [](const Retention &each, int32 id) { return each.queue < id; });
    if (found != retentions.by_queue.end() && found->queue == queue)
        for (std::size_t i = 0; i < std::size(k_endings); i++)
            if (retentions.endings[i] == status)
                return found->micros[i].value_or(retentions.otherwise);
    return retentions.otherwise;
}

// Removes a terminal task, without waiting. False: another transaction is submitting a task that depends on it.
bool remove_task(Store &store, const store::SpecRow &spec, const ItemPointerData &outcome) {
    if (spec.dedup_key != nullptr && !remove_dedup_key(store, spec, false))
        return false; // another task is taking the key over
    if (spec.is_check && store::remove_check(store, spec.id, store::Waiting::no) != store::Taken::ok)
        return false; // a task has just joined it
    // The spec before the outcome: it is the row that others may lock, and both are removed or none.
    if (take(store, TableId::spec, spec, spec.tid, Wait::no) != store::Taken::ok)
        return false;
    if (take(store, TableId::outcome, spec, outcome, Wait::no) != store::Taken::ok)
        elog(ERROR, "outcome of task " INT64_FORMAT " was changed while its specification was removed", spec.id);
    remove_gates(store, spec);
    store::remove_memo(store, spec.id);
    shmem::count(stat_id(spec.queue), shmem::Count::purged);
    return true;
}

// A lease that was given or extended at a time that is still to come: the clock was ahead, and has been set right. Its
// worker has its time-out from now on, as if it had just sent a heartbeat.
constexpr int64 k_clock_step = 2 * 60 * USECS_PER_SEC; // less than that changes nothing

bool is_ahead(const store::LeaseRow &lease, TimestampTz now) { return lease.updated > now + k_clock_step; }

TimestampTz mend(Store &store, store::LeaseRow lease, TimestampTz now) {
    lease.leased = std::min(lease.leased, now);
    return extend(store, lease, DT_NOEND, now);
}

void end_expired_leases(Store &store, DutyTurn &turn) {
    const RunLimits limits = read_run_limits(store);
    Served served = begin_served(turn.portion);
    turn.portion.limit = served.most;
    for_each(scan_leases(store), &turn.portion, [&](const store::Scan &scan) {
        const store::LeaseTimes times = store::lease_times(scan);
        if (times.deadline > turn.now + k_clock_step) {
            if (const store::LeaseRow lease = lease_row(scan); is_ahead(lease, turn.now)) {
                turn.next = std::min(turn.next, mend(store, lease, turn.now));
                return true;
            }
        }
        const auto goes_on = [&](TimestampTz ends) {
            const TimestampTz over = Min(times.deadline, ends);
            if (over > turn.now)
                turn.next = Min(turn.next, over);
            return over > turn.now;
        };
        if (goes_on(run_ends(limits, {times.queue, times.leased, {}})))
            return true; // the deadline is not later than the task's own limit
        if (turn.portion.done >= served.limit && !is_its_turn(store, served, times.queue)) {
            turn.portion.more = true;
            return true;
        }
        const store::LeaseRow lease = lease_row(scan);
        const TimestampTz ends = run_ends(limits, run_of(lease));
        if (goes_on(ends))
            return true;
        const auto spec = find_spec(store, lease.id, store::With::no_spec);
        if (!spec || lacks_reservation(store, *spec))
            return true; // being restored: a later round will see it
        const bool is_alive = is_called(store, lease.id, lease.carry.attempt);
        if (is_alive && ends > turn.now) {
            turn.next = std::min(turn.next, extend(store, lease, ends, turn.now)); // Min() would do it twice
            return true;
        }
        if (take_lease(store, *spec, lease.tid, lease.permit != nullptr, Wait::no) == store::Taken::ok) {
            if (ends <= (is_alive ? turn.now : lease.deadline))
                end_run(store, *spec, lease, ends, turn.now);
            else
                end_lease(store, *spec, lease, turn.now);
            turn.portion.done++;
            count_of(store, served, lease.queue)++;
        } else
            turn.portion.more = true; // another transaction is changing it
        return true;
    });
    // In the order of their ids: the failure that a task with several providers names must not depend on positions in
    // the table.
    const auto ended = store.ended.all();
    std::sort(ended.begin(), ended.end(), [](const store::Ended &a, const store::Ended &b) { return a.id < b.id; });
    settle_gates(store, turn.now);
}

// Opens a task that is due, or ends what it waits for. False: another transaction is changing it.
bool open_task(Store &store, const store::WaitingRow &row, const store::SpecRow &spec, TimestampTz now) {
    if (row.expiring)
        return expire_gates(store, row, now);
    if (take(store, TableId::waiting, spec, row.tid, Wait::no) != store::Taken::ok)
        return false;
    make_startable(store, spec, row.carry, now);
    return true;
}

// Tasks that are due, and what has become of them in a portion.
struct DueTasks {
    Store &store;
    DutyTurn &turn;
    Served served;
    bool expired = false;
};

void open_due(DueTasks &all, const store::WaitingRow &row) {
    const auto spec = find_spec(all.store, row.id, store::With::no_spec);
    if (!spec)
        return; // being restored
    if (open_task(all.store, row, *spec, all.turn.now)) {
        all.turn.portion.done++;
        count_of(all.store, all.served, row.queue)++;
        all.expired = all.expired || row.expiring;
    } else
        all.turn.portion.more = true;
}

// How far the walk for roles whose turn it is has come: the id of a task, 0 at its end.
constinit int64 opened_until = 0;

// The portion is used up, and more are due: a walk by the ids, which looks at a row in a small part of the time that
// opening a task takes.
void open_for_others(DueTasks &all) {
    constexpr int64 k_looked_at = 20; // for one that is opened
    const int64 limit = all.served.limit * k_looked_at;
    CommandCounterIncrement();
    refresh(all.store);
    store::Scan scan = scan_waiting(all.store, opened_until);
    const RowMemory memory = begin_row_memory();
    opened_until = 0;
    for (int64 seen = 0; next(scan); reset(memory)) {
        const store::WaitingRow row = waiting_row(scan);
        if (row.due && *row.due <= all.turn.now && is_its_turn(all.store, all.served, row.queue))
            open_due(all, row);
        if (++seen == limit || all.turn.portion.done >= all.served.most) {
            opened_until = row.id;
            break;
        }
    }
    end(memory);
    end(scan);
}

void open_due_tasks(Store &store, DutyTurn &turn) {
    DueTasks all{.store = store, .turn = turn, .served = begin_served(turn.portion)};
    for_each(scan_by_due(store), &turn.portion, [&](const store::Scan &scan) {
        const store::WaitingRow row = waiting_row(scan);
        if (!row.due)
            return false; // nulls come last: they wait for gates
        if (*row.due > turn.now) {
            turn.next = Min(turn.next, *row.due);
            return false;
        }
        open_due(all, row);
        return true;
    });
    if (turn.portion.done == turn.portion.limit && turn.portion.more)
        open_for_others(all);
    if (all.expired) {
        // Tasks that wait, with rows that are new, may wait for tasks that have ended here.
        CommandCounterIncrement();
        refresh(store);
        settle_gates(store, turn.now);
    }
}

} // namespace

void register_time_duties() {
    register_duty({.activity = "opening due tasks",
                   .work = open_due_tasks,
                   .timer = shmem::Timer::due,
                   .share = 0,
                   .statistics = shmem::Work::opening,
                   .restart = [] { opened_until = 0; }});
    register_duty({.activity = "ending expired leases",
                   .work = end_expired_leases,
                   .timer = shmem::Timer::deadline,
                   .share = 50, // without a signal, all leases are read
                   .statistics = shmem::Work::expiring});
}

namespace {

// A task that stays costs the walk a tenth of one that is removed, and one that the index tells to stay a
// two-hundredth.
constexpr int64 k_removed = 200;
constexpr int64 k_looked_at = 20;
// One of so many is looked at all the same: it tells how far the walk is.
constexpr int64 k_sample = 1000;

struct TaskPurge {
    Store &store;
    TimestampTz now;
    Retentions retentions;
    Portion *portion;
    TimestampTz submitted = 0; // when a task that stays was submitted; those that follow were submitted later
    int64 skipped = 0;         // how many were passed over in the index
    int64 passed_over = 0;     // what all that stay have cost
};

// Looks at an outcome, and removes the task if it is old. False: the walk ends, for this task and all later ones are
// too young.
bool look_at_ended(TaskPurge &walk, const store::Scan &scan) {
    const store::OutcomeHead row = store::outcome_head(scan);
    const auto spec = find_spec(walk.store, row.id, store::With::no_spec);
    if (!spec)
        return true; // being restored
    // A task of a plan is removed with the plan, and one whose result may still be needed stays. What has ended in this
    // round stays until the next, however short its retention.
    const bool stays = row.finished + retention_of(walk.retentions, row.queue, row.status) >= walk.now ||
                       (spec->plan && find_plan(walk.store, *spec->plan)) || has_live_dependants(walk.store, row.id) ||
                       keeps_dedup_key(walk.store, *spec);
    if (!stays) {
        walk.portion->done += remove_task(walk.store, *spec, row.tid) ? 1 : 0;
        return true;
    }
    walk.submitted = Max(walk.submitted, spec->created);
    walk.passed_over += k_looked_at;
    return spec->created + walk.retentions.shortest <= walk.now;
}

// Whether the index tells that the task stays: its retention, counted from the submission of an earlier task, has not
// passed.
bool is_too_young(TaskPurge &walk, const store::Head &head) {
    if (walk.submitted + retention_of(walk.retentions, head.queue, head.status) < walk.now ||
        ++walk.skipped % k_sample == 0)
        return false;
    walk.passed_over++;
    return true;
}

} // namespace

// Terminal tasks have no index by time. Ids follow the time of submission, and a task ends after it was submitted, so
// tasks that ended long ago have small ids: the walk starts at the smallest and ends at the first task that was
// submitted later than any that may be due. It passes over tasks that took long or are kept longer than others, mostly
// in the index; their number is limited too.
void purge_old_tasks(Store &store, TimestampTz now, Portion *portion, int64 *after) {
    TaskPurge walk{.store = store, .now = now, .retentions = read_retentions(store), .portion = portion};
    store::Scan scan = scan_heads(store, TableId::outcome, *after, ForwardScanDirection);
    const RowMemory memory = begin_row_memory();
    store::Head head;
    int64 reached = *after;
    for (bool goes_on = true; goes_on && !portion->more && next_head(scan, &head);) {
        portion->more = portion->done == portion->limit || walk.passed_over / k_removed >= portion->limit;
        if (portion->more)
            break;
        reached = head.id;
        if (!is_too_young(walk, head) && read_row(scan)) {
            goes_on = look_at_ended(walk, scan);
            reset(memory);
        }
    }
    end(memory);
    end(scan);
    *after = portion->more ? reached : 0;
}

namespace {

// Whether the retention of every task of a finished plan has passed; without tasks, the default retention for the plan.
bool is_old(Store &store, const store::PlanRow &plan, const Retentions &retentions, TimestampTz now) {
    if (*plan.finished + retentions.shortest >= now)
        return false;
    bool old = true;
    bool empty = true;
    store::Scan members = scan_dependants(store, plan.id);
    const RowMemory memory = begin_row_memory();
    for (; old && next(members); reset(memory)) {
        empty = false;
        const int64 task = gate_row(members).task;
        const auto outcome = find_outcome(store, task);
        old =
            outcome &&
            outcome->finished + retention_of(retentions, outcome->queue, status_datum(store, outcome->status)) < now &&
            !has_live_dependants(store, task);
    }
    end(memory);
    end(members);
    return empty ? *plan.finished + retentions.otherwise <= now : old;
}

// Whether the end of a workflow's run has yet to be processed.
bool is_still_used(const store::PlanRow &plan) {
    return plan.maker == store::PlanMaker::workflow && workflow::is_on_agenda(plan.id);
}

// Whether it was an old plan, which has been removed.
bool remove_if_old(Store &store, const store::PlanRow &plan, const Retentions &retentions, TimestampTz now) {
    if (!plan.finished || !is_old(store, plan, retentions, now) || is_still_used(plan) ||
        store::plans::remove(plan.id) == 0)
        return false;
    if (plan.maker == store::PlanMaker::job)
        job::forget_plan(plan.id);
    if (plan.maker == store::PlanMaker::workflow)
        workflow::forget_run(plan.id);
    return true;
}

} // namespace

// As for tasks: a plan is finished after it was created, so the walk ends at the first one that was created too lately.
void purge_old_plans(Store &store, TimestampTz now, Portion *portion, int64 *after) {
    const Retentions retentions = read_retentions(store);
    int64 passed_over = 0;
    int64 reached = *after;
    for_each(scan_plans(store, *after), portion, [&](const store::Scan &scan) {
        const store::PlanRow plan = plan_row(scan);
        if (plan.created + retentions.shortest > now)
            return false;
        reached = plan.id;
        if (remove_if_old(store, plan, retentions, now))
            portion->done++;
        else
            portion->more = (passed_over += k_looked_at) / k_removed >= portion->limit;
        return !portion->more;
    });
    *after = portion->more ? reached : 0;
}

namespace {

constexpr int64 k_no_limit = PG_INT64_MAX;

// Runs a whole duty.
int64 fulfil(Store &store, const Duty &duty, TimestampTz now) {
    if (duty.restart != nullptr)
        duty.restart();
    DutyTurn turn{.now = now, .portion = {.limit = k_no_limit}};
    CommandCounterIncrement(); // two duties may change the same row
    refresh(store);
    duty.work(store, turn);
    return turn.portion.done;
}

} // namespace

int64 reset_expired(Store &store) {
    DutyTurn turn{.now = GetCurrentTimestamp(), .portion = {.limit = k_no_limit}};
    end_expired_leases(store, turn);
    return turn.portion.done;
}

int64 purge(Store &store, TimestampTz now) {
    // Plans first: their tasks are removed after them.
    Portion plans{.limit = k_no_limit};
    int64 after = 0;
    purge_old_plans(store, now, &plans, &after);
    if (plans.done > 0)
        refresh(store);
    Portion tasks{.limit = k_no_limit};
    purge_old_tasks(store, now, &tasks, &after);
    for (const Duty &duty : registered_duties())
        if (duty.is_removal)
            fulfil(store, duty, now);
    return tasks.done;
}

void maintain(Store &store, TimestampTz now) {
    settle_all_queues(store);
    remove_all_dropped(store);
    for (const Duty &duty : registered_duties())
        if (!duty.is_removal)
            fulfil(store, duty, now);
    purge(store, now);
}

} // namespace scylla
