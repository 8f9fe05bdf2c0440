#include "plan/conditions.h"

#include "task/gates.h"
#include "task/history.h"
#include "task/wait_for.h"

namespace scylla {

using store::Dirty;
using store::GateRow;
using store::Sight;
using store::Store;

namespace {

Verdict judge(Dirty *dirty, const GateRow &gate) {
    bool failed = false;
    switch (see_condition_end(dirty, gate.provider, &failed)) {
    case Sight::absent:
        return Verdict::closed;
    case Sight::in_doubt:
        return Verdict::in_doubt;
    case Sight::present:
        break;
    }
    return failed && gate.on_failure != store::OnFailure::ignore ? Verdict::failed : Verdict::open;
}

bool has_ended(Dirty *dirty, int64 id) {
    bool failed = false;
    return see_condition_end(dirty, id, &failed) == Sight::present;
}

Jsonb *value(Store &store, const GateRow &gate) {
    const auto end = find_condition_end(store, gate.provider);
    return end && !end->failed ? end->value : nullptr;
}

Jsonb *failure(Dirty *dirty, const GateRow &gate) {
    store::ConditionEndRow end;
    if (see_condition_end(dirty, gate.provider, &end) != Sight::present || end.value == nullptr)
        elog(ERROR, "condition " INT64_FORMAT " of task " INT64_FORMAT " has vanished", gate.provider, gate.task);
    return make_error("dependency-failed", "error", end.value, "a condition that this task waits for has failed");
}

// A condition that has ended is removed with the last task that waited for it. Other tasks may still come to wait for
// one that has not ended: a duty removes it later (condition_purge.cpp). The same holds for a callback whose last task
// continues without it: its token stays valid for its retention.
void leave(Store &store, Dirty *dirty, int64 provider, Gates which) {
    if (which == Gates::of_waits && store::callbacks::is_there(provider))
        return;
    GateRow gate;
    walk_dependants(dirty, provider, 0, PG_INT64_MAX);
    if (next_dependant(dirty, &gate) == Sight::absent)
        remove_ended_condition(store, provider);
}

Reason describe(Store &store, const GateRow &gate) {
    const auto callback = describe_callback(gate.provider);
    return callback ? *callback : describe_signal_condition(store, gate.provider);
}

const char *label(Store &store, const GateRow &gate) {
    const auto callback = describe_callback(gate.provider);
    return callback ? callback->waits_for : label_signal_condition(store, gate.provider);
}

// Whether the id is a signal, whose conditions are searched for again when it is committed.
bool is_signal(Dirty *dirty, int64 id) {
    (void)dirty;
    return has_signal(id);
}

Sight consider_signal(Store &store, Dirty *dirty, const store::Ended &ended, TimestampTz now, bool *changed) {
    return announce_again(store, dirty, ended.plan, now, changed);
}

Provider find(Store &store, const WaitFor &wait, TimestampTz now, int64 element) {
    if (wait.what != WaitFor::What::callback)
        return {.id = 0, .expires = {}};
    const Callback callback = find_callback(store, wait.name, now, element);
    return {.id = callback.id, .expires = callback.expires};
}

} // namespace

void register_condition_gates() {
    register_gates({.kind = store::GateKind::condition,
                    .judge = judge,
                    .has = is_signal,
                    .value = value,
                    .error = failure,
                    .describe = describe,
                    .label = label,
                    .has_ended = has_ended,
                    .leave = leave,
                    .consider = consider_signal});
    // A signal that a commit could not announce is as rare as a crash.
    register_duty({.activity = "looking for signals",
                   .work = look_at_conditions,
                   .pause = 600 * model::k_second,
                   .share = 2500,
                   .is_second_way = true,
                   .restart = restart_conditions});
    register_condition_removals();
    register_conditions({.find = find, .make = condition_on, .look_back = end_by_history});
}

void end_condition(Store &store, int64 id, const ConditionEnd &end, TimestampTz now) {
    insert(store, store::ConditionEndRow{.id = id, .ended = now, .failed = end.failed, .value = end.value, .tid = {}});
    store::note_ended(store, {.id = id, .plan = 0});
}

} // namespace scylla
