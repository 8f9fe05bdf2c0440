// Calls of the worker runtime that are not part of the public client.
#ifndef SCYLLA_SRC_CALLS_H
#define SCYLLA_SRC_CALLS_H

#include <optional>
#include <vector>

#include <scylla/types.h>

#include "executor.h"
#include "text.h"

namespace scylla::detail {

struct progress_report {
    held_task task;
    double progress;
};

// All or none. @throw lease_lost, not_found one of them is not held any more
void yield_each(executor &on, const std::vector<held_task> &tasks, const worker_name &worker);
void heartbeat_each(executor &on, const std::vector<progress_report> &reports, const worker_name &worker,
                    std::optional<duration> timeout);

// A lease, and for how long the server gave it.
struct leased_job {
    task what;
    duration lasts;
};

std::vector<leased_job> lease_jobs(executor &on, const queue_name &queue, const worker_name &worker, int max_tasks,
                                   std::optional<duration> timeout);
// @throw lease_lost one of the tasks is not held any more; then nothing was done
std::vector<leased_job> complete_and_lease_jobs(executor &on, const std::vector<completion> &tasks,
                                                const worker_name &worker, const queue_name &queue, int max_tasks,
                                                std::optional<duration> timeout);

} // namespace scylla::detail

#endif
