// Why a task does not run, as text (explain_waiting). The gates of a task describe themselves (GateProviders::describe
// in task/gates.h); queue/reasons.h says what holds back a ready task.
#pragma once

#include "pg/prelude.h"

namespace scylla {

struct Reason {
    const char *waits_for;            // "task build-1"
    std::optional<TimestampTz> since; // nothing: unknown
    std::optional<TimestampTz> until; // nothing: unknown
    const char *detail;               // sentences
};

struct ReasonSink {
    void (*put)(void *to, const Reason &reason);
    void *to;
};

inline void put(const ReasonSink &sink, const Reason &reason) { sink.put(sink.to, reason); }

// A number of tasks: "1 task", "2 tasks".
inline const char *tasks(int64 count) { return psprintf(INT64_FORMAT " task%s", count, count == 1 ? "" : "s"); }

} // namespace scylla
