#include "workflow/numbers.h"

#include "store/workflow/workflows.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

namespace {

Numbers numbers_of(const store::workflows::Numbers &row) {
    return {.id = row.id,
            .instances = row.instances,
            .queued = row.queued,
            .running = row.running,
            .failed = row.failed,
            .steps = {row.steps_failed, row.steps_paused, row.steps_retrying, row.steps_running,
                      row.steps_waiting_for_permits, row.steps_waiting_for_signals},
            .agenda = row.agenda,
            .oldest_queued = row.oldest_queued,
            .oldest_running = row.oldest_running,
            .oldest_agenda = row.oldest_agenda};
}

} // namespace

std::span<const Numbers> read_numbers() {
    const bool all = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
    Growing<Numbers> seen;
    for (const store::workflows::Numbers &row : store::workflows::numbers()) {
        Head head{};
        head.owner = row.owner;
        head.grantees = {row.runners, row.viewers, row.admins};
        if (all || can_view(head))
            seen.add(numbers_of(row));
    }
    return seen.all();
}

} // namespace scylla::workflow
