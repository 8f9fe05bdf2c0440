// The definitions that this process has parsed.
#pragma once

#include "model/workflow/engine.h"
#include "pg/prelude.h"

namespace scylla::workflow {

// A version of a workflow. `created` distinguishes it from a version of a dropped workflow with the same id.
struct VersionName {
    const text *workflow;
    int32 version;
    TimestampTz created;
};
std::optional<VersionName> find_version(const text *workflow, int32 version);

// Valid until the next call. An error if it cannot be parsed; a definition that has been checked can.
const model::workflow::Definition &definition_of(const VersionName &name);

} // namespace scylla::workflow
