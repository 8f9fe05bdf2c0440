#include "task/moves.h"

#include "pg/text.h"
#include "shmem/gaps.h"
#include "shmem/key_notes.h"
#include "shmem/pending.h"
#include "store/check_rows.h"
#include "task/checks.h"
#include "task/events.h"
#include "task/history.h"
#include "task/line.h"
#include "task/run_limit.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

shmem::Place place_of(TableId table) {
    switch (table) {
    case TableId::waiting:
        return shmem::Place::waiting;
    case TableId::ready:
        return shmem::Place::ready;
    case TableId::lease:
        return shmem::Place::running;
    case TableId::outcome:
        return shmem::Place::terminal;
    case TableId::queue:
    case TableId::spec:
    case TableId::gate:
    case TableId::plan:
    case TableId::dedup:
    case TableId::event:
    case TableId::condition_end:
    case TableId::signal_condition:
    case TableId::signal_shape:
    case TableId::line:
    case TableId::reservation:
    case TableId::memo:
    case TableId::check:
        break;
    }
    elog(ERROR, "table %d is no place of tasks", static_cast<int>(table));
}

shmem::Count count_of(model::Status status) {
    switch (status) {
    case model::Status::completed:
        return shmem::Count::completed;
    case model::Status::aborted:
        return shmem::Count::aborted;
    case model::Status::cancelled:
        return shmem::Count::cancelled;
    case model::Status::waiting:
    case model::Status::ready:
    case model::Status::running:
        break;
    }
    elog(ERROR, "status %d is not final", static_cast<int>(status));
}

bool queue_goes_by_keys(Store &store, int32 queue) {
    const auto &row = queue_of(store, queue).row;
    if (row)
        note_use(store, *row, store::Use::made_ready);
    return row && goes_by_keys(*row);
}

// The commit itself wakes a server worker that waits. The monitor starts one if there is none, and need not look at
// each commit.
constexpr int64 k_handler_delay = 10'000; // microseconds

bool has_handler(Store &store, int32 queue) {
    const auto &row = queue_of(store, queue).row;
    return row && row->handler != nullptr;
}

// The key in the index by keys. In a queue where tasks are found by their keys, all its tasks must be in that index.
text *ready_key(Store &store, const store::SpecRow &spec) {
    if (spec.key != nullptr)
        return spec.key;
    return queue_goes_by_keys(store, spec.queue) ? cstring_to_text("") : nullptr;
}

// Tells the gaps of keys.
void note_key_ready(Store &store, const store::ReadyRow &row) {
    if (row.key != nullptr && queue_goes_by_keys(store, row.queue))
        shmem::note_key_ready(compat::file_number(store[TableId::ready].rel), row.queue, shmem::gap_hash(view(row.key)),
                              row.priority, row.id);
}

} // namespace

Task make_ready(Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now, bool is_new) {
    const store::ReadyRow row{.id = spec.id,
                              .updated = now,
                              .queue = spec.queue,
                              .priority = spec.priority,
                              .carry = carry,
                              .key = ready_key(store, spec),
                              .untouched = true};
    insert(store, row);
    shmem::note_ready(compat::file_number(store[TableId::ready].rel), spec.queue, spec.priority, spec.id, is_new);
    note_key_ready(store, row);
    if (has_handler(store, spec.queue))
        shmem::note_time(shmem::Timer::handler, now + k_handler_delay);
    shmem::count_arrival(stat_id(spec.queue), shmem::Place::ready);
    record_event(store, spec, model::Status::ready, carry, nullptr, now);
    notify_ready(store, spec.queue);
    return task_of(spec, row);
}

namespace {

Task wait(Store &store, const store::SpecRow &spec, const store::WaitingRow &row) {
    insert(store, row);
    if (row.due)
        shmem::note_time(shmem::Timer::due, *row.due);
    shmem::count_arrival(stat_id(spec.queue), shmem::Place::waiting);
    record_event(store, spec, model::Status::waiting, row.carry, nullptr, row.updated);
    return task_of(spec, row);
}

} // namespace

Task make_waiting(Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz due,
                  TimestampTz now) {
    return wait(store, spec, {.id = spec.id, .due = due, .updated = now, .queue = spec.queue, .carry = carry});
}

Task make_gated(Store &store, const store::SpecRow &spec, const store::Carry &carry,
                std::optional<TimestampTz> times_out, TimestampTz now) {
    return wait(store, spec,
                {.id = spec.id,
                 .due = times_out,
                 .updated = now,
                 .queue = spec.queue,
                 .carry = carry,
                 .expiring = times_out.has_value()});
}

Task make_running(Store &store, const store::SpecRow &spec, const store::ReadyRow &ready, const NewLease &lease,
                  TimestampTz now) {
    store::LeaseRow row{.id = spec.id,
                        .deadline = std::min(now + lease.timeout, run_ends(store, {spec.queue, now, spec.run_timeout})),
                        .leased = now,
                        .updated = now,
                        .timeout = lease.timeout,
                        .queue = spec.queue,
                        .owner = lease.worker,
                        .carry = ready.carry,
                        .permit = lease.permit,
                        .run_timeout = spec.run_timeout};
    row.carry.attempt++;
    row.carry.history = begin_history(row.carry.history, lease.worker, row.carry.attempt, now);
    if (lease.permit != nullptr) { // before the row is written
        const shmem::HeadId queue{MyDatabaseId, compat::file_number(store[TableId::lease].rel), spec.queue};
        shmem::tell_gaps(queue, shmem::gap_hash(view(lease.permit)), shmem::k_permits, spec.id, spec.id);
    }
    insert(store, row);
    shmem::note_time(shmem::Timer::deadline, row.deadline);
    const shmem::StatId id = stat_id(spec.queue);
    shmem::count_arrival(id, shmem::Place::running);
    shmem::count(id, shmem::Count::leased);
    shmem::count_time(id, shmem::Time::wait, now - ready.updated);
    record_event(store, spec, model::Status::running, row.carry, lease.worker, now);
    return task_of(spec, row);
}

Task make_final(Store &store, const store::SpecRow &spec, const Final &end, TimestampTz now) {
    const store::OutcomeRow row{.id = spec.id,
                                .finished = now,
                                .leased = end.leased,
                                .queue = spec.queue,
                                .progress = end.progress,
                                .status = end.status,
                                .owner = end.owner,
                                .carry = end.carry,
                                .result = end.result,
                                .metrics = end.metrics};
    insert(store, row);
    const shmem::StatId id = stat_id(spec.queue);
    shmem::count_arrival(id, shmem::Place::terminal);
    shmem::count(id, count_of(end.status));
    if (end.leased && end.status != model::Status::cancelled)
        shmem::count_time(id, shmem::Time::run, now - *end.leased);
    record_event(store, spec, end.status, end.carry, end.owner, now);
    if (spec.dedup_key != nullptr)
        end_dedup_key(store, spec, end.status == model::Status::completed);
    leave_pools(store, spec);
    if (spec.is_check)
        (void)store::remove_check(store, spec.id, store::Waiting::no);
    if (spec.gates && end.status != model::Status::completed)
        leave_checks(store, spec.id);
    note_ended(store, {.id = spec.id,
                       .plan = spec.plan.value_or(0),
                       .began = end.status == model::Status::completed ? end.leased.value_or(0) : 0});
    return task_of(spec, row);
}

store::Taken take(Store &store, TableId table, const store::SpecRow &spec, const ItemPointerData &tid, Wait wait) {
    const store::Taken taken = remove(store[table], tid, store.snapshot, wait == Wait::yes);
    if (taken != store::Taken::ok)
        return taken;
    if (table == TableId::ready) {
        const Oid file = compat::file_number(store[table].rel);
        shmem::note_taken(file, spec.queue, spec.priority);
        const auto &queue = queue_of(store, spec.queue).row;
        if (queue && queue->notify)
            shmem::note_notify_taken(stat_id(spec.queue));
        if (queue && goes_by_keys(*queue))
            shmem::note_key_taken(file, spec.queue, shmem::gap_hash(spec.key != nullptr ? view(spec.key) : ""));
    }
    if (table != TableId::spec)
        shmem::count_departure(stat_id(spec.queue), place_of(table));
    return taken;
}

store::Taken take_lease(Store &store, const store::SpecRow &spec, const ItemPointerData &tid, bool limited, Wait wait) {
    const store::Taken taken = take(store, TableId::lease, spec, tid, wait);
    if (taken == store::Taken::ok && limited) {
        shmem::note_room(spec.queue, 1);
        shmem::note_lease_ended(spec.queue, spec.id);
        notify_ready(store, spec.queue);
    }
    return taken;
}

} // namespace scylla
