// Signals, and conditions that wait for one (plan/conditions.h).
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "plan/conditions.h"
#include "plan/signal_match.h"
#include "plan/signal_names.h"
#include "shmem/pending.h"
#include "store/plan/signals.h"
#include "task/gates.h"

namespace scylla {

using store::Sight;
using store::SignalConditionRow;
using store::Store;
using store::TableId;
using store::signals::Candidate;
using store::signals::Signal;

namespace {

constinit StepConditions step_conditions{};

// ---- the history ---------------------------------------------------------------------------------------------------

// The newest committed signal that matches.
std::optional<Signal> find_newest(const text *name, Jsonb *match, std::optional<TimestampTz> since) {
    const SignalMatch wanted = read_signal_match(match);
    const auto is_wanted = [&](const Candidate &signal) { return matches(wanted, read_signal_params(signal.params)); };
    const TimestampTz from = since.value_or(DT_NOBEGIN);
    const auto newest = wanted.equal.empty() ? store::signals::newest(name, from, is_wanted)
                                             : store::signals::newest_equal(name, equal_part(match), from, is_wanted);
    return newest ? store::signals::find_committed(newest->id) : std::nullopt;
}

// The value of a gate: {"name", "seq", "params", "payload", "sent"}. Steps do not use the payload.
Jsonb *value_of(const Signal &signal, bool with_payload = true) {
    const Datum sent = TimestampTzGetDatum(signal.sent);
    char *time = static_cast<char *>(palloc(MAXDATELEN + 1));
    JsonEncodeDateTime(time, sent, TIMESTAMPTZOID, nullptr);
    json::Builder object = json::build_object();
    object.member("name", view(signal.name));
    object.member("seq", json::of_whole(signal.id));
    object.member("sent", time);
    object.member("params", signal.params);
    if (with_payload)
        object.member("payload", signal.payload);
    return object.finish();
}

// ---- sending -------------------------------------------------------------------------------------------------------

// A signal that is being delivered to its waiters.
struct Arrival {
    Signal signal;
    TimestampTz now;
    Growing<int64> of_steps{}; // conditions that it has ended, of steps: they have no gate
    MemoryContext memory = CurrentMemoryContext;
};

// Removes a waiting condition, and ends it. busy: another transaction is removing it. The caller must call tell_steps()
// afterwards.
store::Taken end_waiting(Store &store, const SignalConditionRow &row, Arrival *arrival) {
    const store::Taken taken = remove(store[TableId::signal_condition], row.tid, store.snapshot, false);
    if (taken == store::Taken::ok && row.of_step)
        arrival->of_steps.add(row.id, arrival->memory);
    else if (taken == store::Taken::ok)
        end_condition(store, row.id, {.failed = false, .value = value_of(arrival->signal)}, arrival->now);
    return taken;
}

void tell_steps(const Arrival &arrival) {
    if (arrival.of_steps.size() > 0)
        step_conditions.tell(arrival.of_steps.all(), value_of(arrival.signal, false));
}

// The conditions of one digest.
Sight end_matching(Store &store, store::Dirty *dirty, Arrival *arrival, const SignalMatch &probe,
                   std::span<const SignalTerm> params) {
    const Signal &signal = arrival->signal;
    Sight all = Sight::present;
    SignalConditionRow row;
    walk_signal_conditions(dirty, digest_of(view(signal.name), probe), bounds_of(probe));
    const RowMemory memory = begin_row_memory();
    for (Sight sight; (sight = next_signal_condition(dirty, &row)) != Sight::absent; reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        if (sight == Sight::in_doubt) {
            all = Sight::in_doubt;
            continue;
        }
        if (!equal(row.name, signal.name) || (row.since && *row.since > signal.sent) ||
            !matches(read_signal_match(row.match), params))
            continue;
        if (end_waiting(store, row, arrival) == store::Taken::busy)
            all = Sight::in_doubt;
    }
    end(memory);
    return all;
}

// Ends the conditions that a signal matches. A duplicate of a shape finds nothing.
Sight announce(Store &store, store::Dirty *dirty, const Signal &signal, TimestampTz now) {
    Sight all = Sight::present;
    Arrival arrival{.signal = signal, .now = now};
    const auto params = read_signal_params(signal.params);
    store::SignalShapeRow row;
    walk_signal_shapes(dirty, signal.name);
    for (Sight sight; (sight = next_signal_shape(dirty, &row)) != Sight::absent;) {
        const auto probe = sight == Sight::present ? probe_of(row.shape, params) : std::nullopt;
        if (sight == Sight::in_doubt ||
            (probe && end_matching(store, dirty, &arrival, *probe, params) == Sight::in_doubt))
            all = Sight::in_doubt;
    }
    tell_steps(arrival);
    return all;
}

// Records a signal. Nothing if its request_id has been used; *used is then the number of the earlier signal.
std::optional<Signal> record(const SignalRequest &request, int64 *used) {
    const auto added = store::signals::add({.name = request.name,
                                            .sender = GetUserNameFromId(GetUserId(), false),
                                            .request_id = request.request_id,
                                            .params = request.params,
                                            .payload = request.payload});
    if (added)
        return Signal{.id = added->id,
                      .name = request.name,
                      .sent = added->sent,
                      .params = request.params,
                      .payload = request.payload};
    *used = store::signals::find_request(request.name, request.request_id).value_or(0);
    return std::nullopt;
}

// ---- waiting -------------------------------------------------------------------------------------------------------

bool is_same(const SignalConditionRow &row, const WaitFor &wait, TimestampTz now) {
    return !row.of_step && row.created > now - k_shared_for && equal(row.name, wait.name) && row.since == wait.since &&
           compareJsonbContainers(&row.match->root, &wait.match->root) == 0;
}

// A condition that waits for the same, committed or of this transaction.
std::optional<int64> find_same(store::Dirty *dirty, int64 digest, const SignalMatch &match, const WaitFor &wait,
                               TimestampTz now) {
    const std::string_view bound = match.range.value;
    SignalConditionRow row;
    walk_signal_conditions(dirty, digest, {.low = bound, .high = bound});
    for (Sight sight; (sight = next_signal_condition(dirty, &row)) != Sight::absent;)
        if (sight == Sight::present && is_same(row, wait, now))
            return row.id;
    return std::nullopt;
}

// Makes the shape of a condition known to senders.
void note_shape(Store &store, store::Dirty *dirty, const text *name, Jsonb *shape) {
    store::SignalShapeRow row;
    walk_signal_shapes(dirty, name);
    for (Sight sight; (sight = next_signal_shape(dirty, &row)) != Sight::absent;)
        if (sight == Sight::present && compareJsonbContainers(&row.shape->root, &shape->root) == 0)
            return;
    insert(store, store::SignalShapeRow{
                      .id = store::next_task_id(), .name = const_cast<text *>(name), .shape = shape, .tid = {}});
}

// Ends the condition of the row by the newest signal that matches. False: there is none.
bool end_by_newest(Store &store, const SignalConditionRow &row, TimestampTz now) {
    const auto newest = find_newest(row.name, row.match, row.since);
    if (!newest)
        return false;
    Arrival arrival{.signal = *newest, .now = now};
    const bool ended = end_waiting(store, row, &arrival) == store::Taken::ok;
    tell_steps(arrival);
    return ended;
}

struct NewCondition {
    bool of_step;
    TimestampTz now;
};
// Adds a condition, which no other task shares yet.
int64 add_condition(Store &store, store::Dirty *dirty, const WaitFor &wait, const NewCondition &as) {
    const SignalMatch match = read_signal_match(wait.match);
    note_shape(store, dirty, wait.name, shape_of(match));
    const SignalConditionRow row{
        .id = store::next_task_id(),
        .digest = digest_of(view(wait.name), match),
        .created = as.now,
        .since = wait.since,
        .name = wait.name,
        .bound = cstring_to_text_with_len(match.range.value.data(), static_cast<int>(match.range.value.size())),
        .match = wait.match,
        .of_step = as.of_step,
        .tid = {}};
    insert(store, row);
    return row.id;
}

// A condition that has already been ended by the sent signal `seq`.
int64 ended_by_sent(Store &store, const WaitFor &wait, TimestampTz now) {
    const auto signal = store::signals::find(wait.seq);
    if (!signal || !equal(signal->name, wait.name))
        error::no_such_sent_signal(wait.name, wait.seq);
    const int64 id = store::next_task_id();
    end_condition(store, id, {.failed = false, .value = value_of(*signal)}, now);
    return id;
}

} // namespace

int64 send_signal(Store &store, const SignalRequest &request, TimestampTz now) {
    (void)read_signal_params(request.params);
    require(request.name, SignalPrivilege::send);
    int64 used = 0;
    const auto signal = record(request, &used);
    if (!signal)
        return used;
    refresh(store);
    store::Dirty *dirty = store::begin_dirty(store);
    (void)announce(store, dirty, *signal, now);
    end(dirty);
    shmem::note_recheck(signal->id);
    if (store::signals::note_for_triggers(signal->id, signal->name) > 0)
        shmem::note_time(shmem::Timer::trigger, signal->sent);
    return signal->id;
}

std::optional<SentSignal> find_sent(int64 seq) {
    const auto signal = store::signals::find(seq);
    if (!signal)
        return std::nullopt;
    return SentSignal{signal->name, signal->params, value_of(*signal), signal->sent};
}

int64 condition_on(Store &store, store::Dirty *dirty, const WaitFor &wait, TimestampTz now, bool *is_new) {
    require(wait.name, SignalPrivilege::wait);
    *is_new = false;
    if (wait.seq != 0)
        return ended_by_sent(store, wait, now);
    const SignalMatch match = read_signal_match(wait.match);
    if (const auto newest = find_newest(wait.name, wait.match, wait.since)) {
        const int64 id = store::next_task_id();
        end_condition(store, id, {.failed = false, .value = value_of(*newest)}, now);
        return id;
    }
    const int64 digest = digest_of(view(wait.name), match);
    if (const auto same = find_same(dirty, digest, match, wait, now))
        return *same;
    *is_new = true;
    return add_condition(store, dirty, wait, {.of_step = false, .now = now});
}

StepCondition condition_of_step(Store &store, store::Dirty *dirty, const WaitFor &wait, TimestampTz now) {
    require(wait.name, SignalPrivilege::wait);
    (void)read_signal_match(wait.match);
    if (const auto newest = find_newest(wait.name, wait.match, wait.since))
        return {.id = 0, .signal = value_of(*newest, false)};
    return {.id = add_condition(store, dirty, wait, {.of_step = true, .now = now}), .signal = nullptr};
}

void register_step_conditions(const StepConditions &conditions) { step_conditions = conditions; }
const StepConditions &conditions_of_steps() noexcept { return step_conditions; }

Reason describe_signal_condition(Store &store, int64 id) {
    const auto row = find_signal_condition(store, id);
    if (!row || !may(GetUserId(), row->name, SignalPrivilege::wait))
        return {"a signal", std::nullopt, std::nullopt, "No such signal has been sent."};
    const char *match = JsonbToCString(nullptr, &row->match->root, static_cast<int>(VARSIZE(row->match)));
    return {psprintf("signal %s", text_to_cstring(row->name)), std::nullopt, std::nullopt,
            psprintf("No signal with this name%s%s has been sent%s%s.",
                     JB_ROOT_COUNT(row->match) > 0 ? " that matches " : "", JB_ROOT_COUNT(row->match) > 0 ? match : "",
                     row->since ? " since " : "", row->since ? timestamptz_to_str(*row->since) : "")};
}

const char *label_signal_condition(Store &store, int64 id) {
    const auto row = find_signal_condition(store, id);
    if (!row || !may(GetUserId(), row->name, SignalPrivilege::wait))
        return "a signal";
    const char *name = text_to_cstring(row->name);
    return JB_ROOT_COUNT(row->match) == 0 ? psprintf("signal %s", name)
                                          : psprintf("signal %s\n%s", name, label_json(row->match));
}

void end_by_history(Store &store, int64 id, TimestampTz now) {
    if (const auto row = find_signal_condition(store, id))
        (void)end_by_newest(store, *row, now);
}

bool has_signal(int64 id) { return store::signals::find(id).has_value(); }

Sight announce_again(Store &store, store::Dirty *dirty, int64 id, TimestampTz now, bool *changed) {
    const auto signal = store::signals::find(id);
    if (!signal)
        return Sight::present;
    const std::size_t ended = store.ended.count;
    const Sight sight = announce(store, dirty, *signal, now);
    *changed = *changed || store.ended.count > ended;
    return sight;
}

namespace {

constinit int64 looked_until = 0; // the walk continues behind this id of a condition; 0: from the start

} // namespace

void look_at_conditions(Store &store, DutyTurn &turn) {
    walk_portion(turn, &looked_until, scan_signal_conditions_after(store, looked_until), [&](const store::Scan &scan) {
        const SignalConditionRow row = signal_condition_row(scan);
        (void)end_by_newest(store, row, turn.now);
        return row.id;
    });
    settle_gates(store, turn.now);
}

void restart_conditions() { looked_until = 0; }

} // namespace scylla
