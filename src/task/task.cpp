#include "task/task.h"

#include "pg/error.h"

namespace scylla {

using model::Status;
using store::Store;

Task task_of(const store::SpecRow &spec_row, const store::ReadyRow &row) {
    return {spec_row, Status::ready, row.updated, 0, nullptr, {}, {}, {}, row.carry, nullptr, nullptr, row.tid};
}

Task task_of(const store::SpecRow &spec_row, const store::LeaseRow &row) {
    return {spec_row, Status::running, row.updated, row.progress, row.owner, row.deadline,         row.leased,
            {},       row.carry,       nullptr,     nullptr,      row.tid,   row.permit != nullptr};
}

Task task_of(const store::SpecRow &spec_row, const store::WaitingRow &row) {
    const auto due = waits_for_gates(row) ? std::nullopt : row.due;
    return {spec_row, Status::waiting, row.updated, 0, nullptr, {}, {}, due, row.carry, nullptr, nullptr, row.tid};
}

Task task_of(const store::SpecRow &spec_row, const store::OutcomeRow &row) {
    return {spec_row,   row.status, row.finished, row.progress, row.owner,   {},
            row.leased, {},         row.carry,    row.result,   row.metrics, row.tid};
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
