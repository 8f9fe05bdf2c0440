// One layer of parameters over another (docs/workflows.md, Parameters).
#pragma once

#include <optional>
#include <span>

#include "model/sel/context.h"
#include "model/workflow/param.h"

namespace scylla::model::workflow {

// The source of a layer, and what the layer may change.
struct Merge {
    ParamSource source;
    bool upstream = false; // the step that starts a subworkflow passes its values down
    bool restart = false;  // a run of an instance that has run before
};

bool is_system(ParamSource source) noexcept;

// Throws ParamFailure if the modes of the parameters below do not allow a change.
void merge_params(sel::Context &context, ParamMap &base, const ParamMap &incoming, const Merge &merge);
// After the last layer: optional parameters without a value are dropped, others must have one.
void finish_merge(ParamMap &params);

struct Layer {
    const ParamMap *params; // null: none
    Merge merge;
};
// In order, the lowest one first.
ParamMap merge_layers(sel::Context &context, std::span<const Layer> layers);

// Merges the output of a step: only into parameters that the step has.
void merge_output(sel::Context &context, ParamMap &params, const ParamMap &output);

} // namespace scylla::model::workflow
