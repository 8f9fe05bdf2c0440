// Definitions that this process has read.
#pragma once

#include "model/workflow/engine.h"
#include "pg/prelude.h"

namespace scylla::workflow {

// A version of a workflow. `created` tells it from one of a workflow of the same id that was dropped.
struct VersionName {
    const text *workflow;
    int32 version;
    TimestampTz created;
};
std::optional<VersionName> find_version(const text *workflow, int32 version);

// Stays until the next call. An error if it cannot be read, which a definition that was checked when it came can.
const model::workflow::Definition &definition_of(const VersionName &name);

} // namespace scylla::workflow
