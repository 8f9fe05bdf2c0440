#include "task/task.h"

#include "pg/error.h"

namespace scylla {

using model::Status;
using store::Store;

Task task_of(const store::SpecRow &spec_row, const store::ReadyRow &row) {
    return {.spec = spec_row, .status = Status::ready, .updated = row.updated, .carry = row.carry, .tid = row.tid};
}

Task task_of(const store::SpecRow &spec_row, const store::LeaseRow &row) {
    return {.spec = spec_row,
            .status = Status::running,
            .updated = row.updated,
            .progress = row.progress,
            .owner = row.owner,
            .deadline = row.deadline,
            .leased = row.leased,
            .carry = row.carry,
            .tid = row.tid,
            .limited = row.permit != nullptr};
}

Task task_of(const store::SpecRow &spec_row, const store::WaitingRow &row) {
    return {.spec = spec_row,
            .status = Status::waiting,
            .updated = row.updated,
            .due = waits_for_gates(row) ? std::nullopt : row.due,
            .carry = row.carry,
            .tid = row.tid};
}

Task task_of(const store::SpecRow &spec_row, const store::OutcomeRow &row) {
    return {.spec = spec_row,
            .status = row.status,
            .updated = row.finished,
            .progress = row.progress,
            .owner = row.owner,
            .leased = row.leased,
            .carry = row.carry,
            .result = row.result,
            .metrics = row.metrics,
            .tid = row.tid};
}

std::optional<Task> find_task(Store &store, const store::SpecRow &spec_row) {
    if (const auto lease = find_lease(store, spec_row.id))
        return task_of(spec_row, *lease);
    if (const auto ready = find_ready(store, spec_row.queue, spec_row.priority, spec_row.id))
        return task_of(spec_row, *ready);
    if (const auto outcome = find_outcome(store, spec_row.id))
        return task_of(spec_row, *outcome);
    if (const auto waiting = find_waiting(store, spec_row.id))
        return task_of(spec_row, *waiting);
    return std::nullopt;
}

Task require_task(Store &store, const store::SpecRow &spec_row) {
    const auto task = find_task(store, spec_row);
    if (!task)
        error::no_such_task(spec_row.rn);
    return *task;
}

} // namespace scylla
