// Permits of runs (section 13): pools that leaf steps need one of.
//
//   workflow:ID            as many as the property step_concurrency says, of all runs of the workflow
//   workflow:ID/INSTANCE   as many as instance_step_concurrency says, of an instance and all subworkflows that it waits
//                          for; there from its start to its end
//   tag:TAG                of all steps with the tag, whose workflows' owners may use the pool
#pragma once

#include "workflow/new_run.h"
#include "workflow/turns.h"

namespace scylla::workflow {

// What steps of these runs need by now, of those that have events.
void read_permits(std::span<Root> roots);

// Of these tags those for which there is a pool that the owner of a run may use.
std::span<const std::string_view> tags_with_pools(std::span<const std::string_view> tags, const char *owner);

// The property step_concurrency may have changed.
void keep_workflow_permits(const Head &head, Jsonb *properties);
// The workflow is dropped.
void drop_workflow_permits(const text *workflow);

// The pool of the tree that a new run belongs to; null: it has no bound. parent: the run that waits for it; 0: none.
const text *tree_permits(const NewRun &made, int64 parent);
// A run of the tree has ended: perhaps it was the last.
void leave_tree_permits(const text *pool);

} // namespace scylla::workflow
