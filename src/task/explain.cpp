// Why a waiting task waits.
#include "task/gates.h"

#include "pg/error.h"
#include "pg/memory.h"

namespace scylla {

using store::Store;

namespace {

// What is decided but not done yet: another transaction that changes the task, or has not ended, was in the way.
constexpr const char *k_undecided = "A transaction that has not ended decides about this. The monitor, or "
                                    "scylla.maintain(), looks again when it has.";
constexpr const char *k_timed_out = "The time for it is over: the monitor, or scylla.maintain(), ends the task.";
constexpr const char *k_failed = "It has failed: the monitor, or scylla.maintain(), ends the task.";
constexpr const char *k_all_open =
    "All that the task waited for has come: the monitor, or scylla.maintain(), makes the task ready.";

const char *describe_timeout(store::OnTimeout on_timeout) {
    switch (on_timeout) {
    case store::OnTimeout::abort:
        return "If it has not come by then, this task is aborted.";
    case store::OnTimeout::skip:
        return "If it has not come by then, this task is cancelled.";
    case store::OnTimeout::ignore:
        return "If it has not come by then, this task goes on without it.";
    }
    elog(ERROR, "unexpected on_timeout \"%c\"", static_cast<char>(on_timeout));
}

// The gate of a provider that ends by itself, or may wait for longer, ends by its own time.
void add_timeout(Reason *reason, const store::GateLimit &limit) {
    reason->until = Min(reason->until.value_or(limit.deadline), limit.deadline);
    reason->detail = psprintf("%s %s", reason->detail, describe_timeout(limit.on_timeout));
}

// Returns how many gates are not open.
int64 explain_gates(Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                    const ReasonSink &sink) {
    int64 closed = 0;
    store::Dirty *dirty = begin_dirty(store);
    store::Scan gates = scan_gates(store, spec.id);
    while (next(gates)) {
        const store::GateRow gate = gate_row(gates);
        const Verdict verdict = judge_gate(dirty, gate, now);
        if (verdict == Verdict::open)
            continue;
        Reason reason = describe_provider(store, gate);
        if (!reason.since)
            reason.since = waiting.updated;
        if (verdict == Verdict::timed_out)
            reason.detail = k_timed_out;
        else if (verdict == Verdict::failed)
            reason.detail = k_failed;
        else if (verdict == Verdict::in_doubt)
            reason.detail = k_undecided;
        if (gate.limit && verdict == Verdict::closed)
            add_timeout(&reason, *gate.limit);
        put(sink, reason);
        closed++;
    }
    end(gates);
    end(dirty);
    return closed;
}

void explain_time(const store::WaitingRow &waiting, TimestampTz due, TimestampTz now, const ReasonSink &sink) {
    const bool is_retry = !waits_for_gates(waiting) && waiting.carry.attempt > 0;
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

void label_waits(Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                 const LabelSink &sink) {
    const auto put_time = [&](TimestampTz time) {
        sink.put(sink.to, 0, error::print(TimestampTzGetDatum(time), TIMESTAMPTZOID));
    };
    if (!waits_for_gates(waiting)) {
        put_time(*waiting.due);
        return;
    }
    if (spec.not_before && *spec.not_before > now && waiting.carry.attempt == 0)
        put_time(*spec.not_before);
    store::Dirty *dirty = begin_dirty(store);
    store::Scan gates = scan_gates(store, spec.id);
    while (next(gates)) {
        const store::GateRow gate = gate_row(gates);
        if (judge_gate(dirty, gate, now) == Verdict::open)
            continue;
        if (const char *label = label_provider(store, gate))
            sink.put(sink.to, gate.provider, label);
    }
    end(gates);
    end(dirty);
}

void explain_waiting(Store &store, const store::SpecRow &spec, const store::WaitingRow &waiting, TimestampTz now,
                     const ReasonSink &sink) {
    const bool gated = waits_for_gates(waiting);
    const int64 closed = gated ? explain_gates(store, spec, waiting, now, sink) : 0;
    if (!gated)
        explain_time(waiting, *waiting.due, now, sink);
    else if (spec.not_before && *spec.not_before > now && waiting.carry.attempt == 0)
        explain_time(waiting, *spec.not_before, now, sink);
    else if (closed == 0)
        put(sink, {"the monitor", waiting.updated, std::nullopt, k_all_open});
}

} // namespace scylla
