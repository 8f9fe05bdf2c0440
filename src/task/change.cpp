#include "task/change.h"

#include "pg/error.h"
#include "store/check_rows.h"
#include "store/memo_rows.h"
#include "task/gates.h"
#include "task/line.h"
#include "task/moves.h"
#include "task/rights.h"
#include "shmem/pending.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;

store::SpecRow require_spec(Store &store, const text *rn, model::Privilege privilege) {
    const auto spec = find_spec(store, rn, store::With::spec);
    if (!spec || !rights::may_act(store, spec->queue, privilege))
        error::no_such_task(rn);
    return *spec;
}

Task reschedule(Store &store, const text *rn, TimestampTz not_before) {
    const TimestampTz now = GetCurrentTimestamp();
    for (;; refresh(store)) {
        const store::SpecRow spec = require_spec(store, rn, model::Privilege::submit);
        const Task task = require_task(store, spec);
        const bool waits_for_time = task.status == Status::waiting && task.due;
        if (task.status != Status::ready && !waits_for_time)
            error::not_reschedulable(rn, model::name(task.status), task.owner, task.carry.attempt);
        if (task.status == Status::ready && not_before <= now)
            return task;
        const TableId table = waits_for_time ? TableId::waiting : TableId::ready;
        if (take(store, table, spec, task.tid, Wait::yes) != store::Taken::ok)
            continue; // a concurrent change came first
        if (not_before <= now)
            return make_startable(store, spec, task.carry, now);
        leave_pools(store, spec); // it is placed anew when it is due
        return make_waiting(store, spec, task.carry, not_before, now);
    }
}

namespace {

// What its row there tells of a task that waits or is ready.
struct Standing {
    store::Carry carry;
    std::optional<TimestampTz> due = {}; // while it waits
    bool ready = false;
    bool expiring = false;
};

// Takes a task that waits or is ready out of its table. gone: look again; nothing: it is neither.
std::optional<store::Taken> take_unleased(Store &store, const store::SpecRow &spec, Standing *standing) {
    if (const auto row = find_ready(store, spec.queue, spec.priority, spec.id)) {
        *standing = {.carry = row->carry, .ready = true};
        return take(store, TableId::ready, spec, row->tid, Wait::yes);
    }
    if (const auto row = find_waiting(store, spec.id)) {
        *standing = {.carry = row->carry, .due = row->due, .expiring = row->expiring};
        return take(store, TableId::waiting, spec, row->tid, Wait::yes);
    }
    return std::nullopt;
}

// Puts the changed task back. A transaction that ends a provider of it meanwhile may see neither row, nor the
// specification (store/dirty.h): so a task that waits for gates is checked again when this is committed.
Task put_back(Store &store, const store::SpecRow &changed, const Standing &standing, TimestampTz now) {
    if (standing.ready)
        return make_ready(store, changed, standing.carry, now);
    if (standing.due && !standing.expiring)
        return make_waiting(store, changed, standing.carry, *standing.due, now);
    leave_pools(store, changed); // a place in line is one of its priority: it gets a new one when it is looked at
    const Task task = make_gated(store, changed, standing.carry, standing.due, now);
    shmem::note_recheck(changed.id);
    return task;
}

// A drop of the queue that goes on meanwhile may miss the row that is moved, as it may miss a new one: the same look at
// the end of the call sees to it (store::close()).
void note_moved(Store &store, int32 queue) {
    if (const auto &row = queue_of(store, queue).row)
        note_use(store, *row, store::Use::submitted);
}

} // namespace

Task set_priority(Store &store, const text *rn, int16 priority) {
    for (;; refresh(store)) {
        const store::SpecRow spec = require_spec(store, rn, model::Privilege::submit);
        const Task task = require_task(store, spec);
        if (task.status != Status::ready && task.status != Status::waiting)
            error::not_unleased(rn, model::name(task.status), task.owner, task.carry.attempt);
        if (spec.priority == priority)
            return task;
        note_moved(store, spec.queue);
        Standing standing{};
        if (take_unleased(store, spec, &standing) != store::Taken::ok)
            continue; // a concurrent change came first
        store::SpecRow changed = spec;
        changed.priority = priority;
        update_spec(store, changed, store::With::no_spec);
        return put_back(store, changed, standing, GetCurrentTimestamp());
    }
}

bool raise_priority(Store &store, int64 check, int16 priority, bool *changed) {
    auto spec = find_spec(store, check, store::With::no_spec);
    if (!spec || spec->priority >= priority)
        return true;
    const auto ready = find_ready(store, spec->queue, spec->priority, check);
    const auto waiting = ready ? std::nullopt : find_waiting(store, check);
    if (!ready && !waiting)
        return true;
    note_moved(store, spec->queue);
    if (ready ? take(store, TableId::ready, *spec, ready->tid, Wait::no) != store::Taken::ok
              : remove(store[TableId::waiting], waiting->tid, store.snapshot, false) != store::Taken::ok)
        return false;
    spec->priority = priority;
    update_spec(store, *spec, store::With::no_spec);
    if (ready)
        make_ready(store, *spec, ready->carry, GetCurrentTimestamp());
    else
        insert(store, *waiting); // unchanged: the row keeps its due time
    shmem::note_recheck(check);
    *changed = true;
    return true;
}

std::optional<Task> replace_task(Store &store, const store::SpecRow &spec, const Replacement &by) {
    note_moved(store, spec.queue);
    Standing standing{};
    if (take_unleased(store, spec, &standing) != store::Taken::ok)
        return std::nullopt;
    const TimestampTz now = GetCurrentTimestamp();
    store::SpecRow changed = spec;
    changed.spec = by.spec;
    changed.priority = by.priority;
    changed.not_before = by.not_before;
    update_spec(store, changed, store::With::spec);
    if (!standing.ready && (!standing.due || standing.expiring))
        return put_back(store, changed, standing, now);
    if (!by.not_before || *by.not_before <= now)
        return make_startable(store, changed, standing.carry, now);
    leave_pools(store, changed); // it is placed anew when it is due
    return make_waiting(store, changed, standing.carry, *by.not_before, now);
}

void delete_task(Store &store, const text *rn) {
    for (;; refresh(store)) {
        const store::SpecRow spec = require_spec(store, rn, model::Privilege::admin);
        const Task task = require_task(store, spec);
        if (!model::is_final(task.status))
            error::not_ended(rn, model::name(task.status), task.owner, task.carry.attempt);
        // This waits for transactions that are making a task depend on it. So its dependants are known only afterwards.
        if (take(store, TableId::spec, spec, spec.tid, Wait::yes) != store::Taken::ok)
            continue;
        if (has_live_dependants(store, spec.id))
            error::task_needed(rn);
        if (take(store, TableId::outcome, spec, task.tid, Wait::yes) != store::Taken::ok)
            elog(ERROR, "outcome of task " INT64_FORMAT " was changed while its specification was removed", spec.id);
        if (spec.dedup_key != nullptr)
            (void)remove_dedup_key(store, spec, true);
        leave_plan(store, spec);
        remove_gates(store, spec);
        store::remove_memo(store, spec.id);
        if (spec.is_check) // waits for transactions that are joining it
            (void)store::remove_check(store, spec.id, store::Waiting::yes);
        shmem::count(stat_id(spec.queue), shmem::Count::purged);
        settle_gates(store, GetCurrentTimestamp());
        return;
    }
}

} // namespace scylla
