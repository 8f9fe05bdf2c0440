// Why a waiting task waits.
#include "task/gates.h"

#include "pg/memory.h"

namespace scylla {

using store::Store;

namespace {

// A gate that is open to this look: the transaction that decides about the task has not ended, or could not decide.
constexpr const char *k_undecided = "A transaction that has not ended decides about this. The monitor, or "
                                    "scylla.maintain(), looks again when it has.";

// Returns how many gates are not open.
int64 explain_gates(Store &store, const store::SpecRow &spec, TimestampTz since, const ReasonSink &sink) {
    int64 closed = 0;
    store::Dirty *dirty = begin_dirty(store);
    store::Scan gates = scan_gates(store, spec.id);
    while (next(gates)) {
        const store::GateRow gate = gate_row(gates);
        const Verdict verdict = judge_provider(dirty, gate);
        if (verdict == Verdict::open)
            continue;
        Reason reason = describe_provider(store, gate);
        if (!reason.since)
            reason.since = since;
        if (verdict != Verdict::closed)
            reason.detail = k_undecided;
        put(sink, reason);
        closed++;
    }
    end(gates);
    end(dirty);
    return closed;
}

void explain_time(const store::WaitingRow &waiting, TimestampTz due, TimestampTz now, const ReasonSink &sink) {
    const bool is_retry = waiting.due && waiting.carry.attempt > 0;
    const char *detail = "The time has come: the monitor, or scylla.maintain(), makes the task ready.";
    if (due > now)
        detail = !is_retry ? "It was submitted to start at this time."
                 : waiting.carry.failures > 0
                     ? psprintf("It is offered again after this delay. It has failed %d time%s.",
                                waiting.carry.failures, waiting.carry.failures == 1 ? "" : "s")
                     : "Its worker has given it back until this time.";
    put(sink, {is_retry ? "its next attempt" : "its start time", waiting.updated, due, detail});
}

} // namespace

void explain_waiting(Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                     const ReasonSink &sink) {
    const int64 closed = waiting.due ? 0 : explain_gates(store, spec, waiting.updated, sink);
    if (waiting.due)
        explain_time(waiting, *waiting.due, now, sink);
    else if (spec.not_before && *spec.not_before > now)
        explain_time(waiting, *spec.not_before, now, sink);
    else if (closed == 0)
        put(sink, {"the monitor", waiting.updated, std::nullopt, k_undecided});
}

} // namespace scylla
