// What the statements about workflows are given and return.
#pragma once

#include "store/statement.h"

namespace scylla::store {

// Times in the form of the model: milliseconds since 1970, 0 for none.
inline constexpr int64 k_model_epoch =
    static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1'000;
inline int64 to_millis(TimestampTz time) { return time / 1'000 + k_model_epoch; }

namespace sql {

struct millis {
    static constexpr Oid oid = TIMESTAMPTZOID;
    using Argument = int64;
    using Value = int64;
    static Cell put(int64 value) { return {TimestampTzGetDatum((value - k_model_epoch) * 1'000), value == 0}; }
    static int64 get(Datum value) { return to_millis(DatumGetTimestampTz(value)); }
};

} // namespace sql

// An event of a workflow that is to be recorded.
struct NewWorkflowEvent {
    const text *workflow;
    const char *owner;     // of the workflow
    std::string_view kind; // run, step, version, activated, deactivated, properties, dropped
    int64 instance = 0;    // 0: about the workflow
    int32 run = 0;
    int32 version = 0;             // 0: not about a version
    std::string_view step{};       // empty: not about a step
    std::string_view iterations{}; // that the step is in, as an array of SQL; empty: none
    int32 attempt = 0;             // of the step
    std::string_view old_status{}; // empty: a new run or step
    std::string_view status{};
};

} // namespace scylla::store
