// Which steps a restart runs again (docs/workflows.md, Restarts).
#pragma once

#include <optional>
#include <vector>

#include "model/workflow/graph.h"

namespace scylla::model::workflow {

// By the indexes of steps.
struct RestartGraph {
    std::vector<bool> again; // they begin as if they had never been created
    std::vector<bool> roots; // of these, those that follow no other one
};

// statuses: of all steps; not_created for those without a row. chosen: with from_specific, which leaves all steps as
// they are that do not follow it.
RestartGraph graph_of_restart(const StepList &steps, const std::vector<StepStatus> &statuses, RestartPolicy policy,
                              std::optional<std::size_t> chosen);

} // namespace scylla::model::workflow
