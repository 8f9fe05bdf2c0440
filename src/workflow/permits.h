// Permits of runs (docs/workflows.md, Permits): pools of which leaf steps need a permit.
//
//   workflow:ID            for all runs of the workflow: as many as the property step_concurrency
//   workflow:ID/INSTANCE   for an instance and the subworkflows that it waits for: as many as
//                          instance_step_concurrency; exists from its start to its end
//   tag:TAG                for all steps with the tag whose workflow's owner may use the pool
#pragma once

#include "workflow/new_run.h"
#include "workflow/turns.h"

namespace scylla::workflow {

// The present needs of steps, for those of these runs that have events.
void read_permits(std::span<Root> roots);

// Those of these tags that have a pool which the owner of a run may use.
std::span<const std::string_view> tags_with_pools(std::span<const std::string_view> tags, const char *owner);

// Called after a possible change of the property step_concurrency.
void keep_workflow_permits(const Head &head, Jsonb *properties);
// Called when the workflow is dropped.
void drop_workflow_permits(const text *workflow);

// The pool of the tree that a new run belongs to; null: no limit. parent: the run that waits for it; 0: none.
const text *tree_permits(const NewRun &made, int64 parent);
// Called when a run of the tree has ended, which may be the last one.
void leave_tree_permits(const text *pool);

} // namespace scylla::workflow
