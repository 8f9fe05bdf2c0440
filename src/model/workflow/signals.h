// Checks of the triggers and signals in a definition (docs/workflows.md, The document).
#pragma once

#include "model/workflow/reader.h"

namespace scylla::model::workflow {

// Of a workflow.
void check_time_triggers(const Reader &reader, const Object &workflow);
void check_signal_triggers(const Reader &reader, const Object &workflow);
// Of a step.
void check_signal_dependencies(const Reader &reader, const Object &step);
void check_signal_outputs(const Reader &reader, const Object &step);

// The first time zone of a time trigger; empty if there is none.
std::string_view first_time_zone(const sel::Map &workflow) noexcept;

} // namespace scylla::model::workflow
