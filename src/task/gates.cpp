#include "task/gates.h"

#include "pg/error.h"
#include "pg/growing.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "shmem/pending.h"
#include "store/memo_rows.h"
#include "task/checks.h"
#include "task/duty.h"
#include "task/history.h"
#include "task/line.h"
#include "task/makers.h"
#include "task/rights.h"
#include "task/task.h"

namespace scylla {

using model::Status;
using store::Dirty;
using store::GateKind;
using store::GateRow;
using store::OnFailure;
using store::OnTimeout;
using store::Sight;
using store::Store;
using store::TableId;

namespace {

// The codes of the error of a task whose provider has failed, or has not ended in time.
constexpr const char *k_dependency_failed = "dependency-failed";
constexpr const char *k_dependency_timeout = "dependency-timeout";

// Where this backend last found a closed gate of a task, or a live member of a plan. If many providers of one task end
// one after the other, that gate mostly is still closed, and there is nothing to search. The hint is checked before it
// is used. It contains the file of the table, because ids may begin anew with new tables.
struct Closed {
    Oid file;
    int64 id; // of the task or the plan
    GateRow gate;
};
constinit std::array<Closed, 256> closed_before{};

constinit std::array<GateProviders, 8> providers{};
constinit std::size_t kinds = 0;

const GateProviders &providers_of(GateKind kind) {
    for (const GateProviders &each : std::span(providers).first(kinds))
        if (each.kind == kind)
            return each;
    elog(ERROR, "gates of kind \"%c\" have no provider", static_cast<char>(kind));
}

Closed &closed_entry(int64 id) { return closed_before[static_cast<std::uint64_t>(id) % closed_before.size()]; }

} // namespace

void register_gates(const GateProviders &of) {
    if (kinds == providers.size())
        elog(ERROR, "there are more than %zu kinds of gates", providers.size());
    providers[kinds++] = of;
}

void remember_closed(Store &store, int64 id, const GateRow &gate) {
    closed_entry(id) = {compat::file_number(store[TableId::gate].rel), id, gate};
}

const GateRow *recall_closed(Store &store, int64 id) {
    const Closed &entry = closed_entry(id);
    return entry.id == id && entry.file == compat::file_number(store[TableId::gate].rel) ? &entry.gate : nullptr;
}

std::optional<GateRow> find_again(Dirty *dirty, const GateRow &gate) {
    GateRow row;
    walk_gates(dirty, gate.task, gate.ord - 1, gate.ord + 1);
    if (next_gate(dirty, &row) == Sight::absent || row.provider != gate.provider)
        return std::nullopt;
    return row;
}

namespace {

// Whether the provider is a task.
bool is_of_task(GateKind kind) { return kind == GateKind::task || kind == GateKind::check; }

} // namespace

Jsonb *value_of(Store &store, const GateRow &gate) {
    if (!is_of_task(gate.kind))
        return providers_of(gate.kind).value != nullptr ? providers_of(gate.kind).value(store, gate) : nullptr;
    const auto outcome = find_outcome(store, gate.provider);
    return outcome ? outcome->result : nullptr;
}

namespace {

// A task that another one depends on. A role that may not view it learns that it exists, as from args in scylla.task.
Reason describe_task(Store &store, const GateRow &gate) {
    const auto spec = find_spec(store, gate.provider, store::With::no_spec);
    if (!spec || !rights::may(store, spec->queue, model::Privilege::view))
        return {gate.kind == GateKind::check ? "a check" : "a task", std::nullopt, std::nullopt,
                "The task is in a queue that you may not view."};
    const auto task = find_task(store, *spec);
    const text *queue = queue_of(store, spec->queue).row ? queue_of(store, spec->queue).row->name : nullptr;
    StringInfoData detail;
    initStringInfo(&detail);
    appendStringInfo(&detail, "The task is %s", task ? model::name(task->status) : "not restored yet");
    if (queue != nullptr)
        appendStringInfo(&detail, " in queue \"%s\"", text_to_cstring(queue));
    if (task && task->owner != nullptr)
        appendStringInfo(&detail, ", by worker \"%s\"", text_to_cstring(task->owner));
    appendStringInfoChar(&detail, '.');
    const auto memo = gate.kind == GateKind::check ? store::find_memo(store, gate.provider) : std::nullopt;
    if (memo && memo->answered)
        appendStringInfo(&detail, " It has answered \"not yet\" " INT64_FORMAT " time%s, at last at %s.", memo->answers,
                         memo->answers == 1 ? "" : "s", timestamptz_to_str(*memo->answered));
    const char *kind = gate.kind == GateKind::check ? "check" : "task";
    return {psprintf("%s %s", kind, text_to_cstring(spec->rn)), std::nullopt, std::nullopt, detail.data};
}

} // namespace

Verdict judge_provider(Dirty *dirty, const GateRow &gate) {
    if (!is_of_task(gate.kind))
        return providers_of(gate.kind).judge(dirty, gate);
    Status status;
    switch (see_outcome(dirty, gate.provider, &status)) {
    case Sight::absent:
        return Verdict::closed;
    case Sight::in_doubt:
        return Verdict::in_doubt;
    case Sight::present:
        break;
    }
    return status == Status::completed || gate.on_failure == OnFailure::ignore ? Verdict::open : Verdict::failed;
}

Reason describe_provider(Store &store, const GateRow &gate) {
    return is_of_task(gate.kind) ? describe_task(store, gate) : providers_of(gate.kind).describe(store, gate);
}

const char *label_json(Jsonb *value) {
    constexpr int k_longest = 60; // bytes
    const char *json = JsonbToCString(nullptr, &value->root, static_cast<int>(VARSIZE(value)));
    const int size = static_cast<int>(strlen(json));
    return size <= k_longest ? json : psprintf("%.*s...", pg_mbcliplen(json, size, k_longest), json);
}

namespace {

const char *label_check(Store &store, const GateRow &gate) {
    const auto spec = find_spec(store, gate.provider, store::With::spec);
    const auto &queue = spec ? queue_of(store, spec->queue).row : std::nullopt;
    if (!queue || !rights::may(store, spec->queue, model::Privilege::view))
        return "a check";
    return psprintf("check in %s\n%s", text_to_cstring(queue->name), label_json(spec->spec));
}

} // namespace

const char *label_provider(Store &store, const GateRow &gate) {
    if (gate.kind == GateKind::check)
        return label_check(store, gate);
    const auto label = is_of_task(gate.kind) ? nullptr : providers_of(gate.kind).label;
    return label != nullptr ? label(store, gate) : nullptr;
}

// A provider that ends in a transaction that has not committed by the deadline has not ended in time. Otherwise an open
// transaction could keep a gate from timing out.
Verdict judge_gate(Dirty *dirty, const GateRow &gate, TimestampTz now) {
    const Verdict verdict = judge_provider(dirty, gate);
    const bool has_timed_out = gate.limit && gate.limit->deadline <= now;
    if (verdict == Verdict::failed && has_timed_out && gate.limit->on_timeout == OnTimeout::ignore)
        return Verdict::open; // the task has gone on without this gate
    if ((verdict != Verdict::closed && verdict != Verdict::in_doubt) || !has_timed_out)
        return verdict;
    return gate.limit->on_timeout == OnTimeout::ignore ? Verdict::open : Verdict::timed_out;
}

namespace {

// Whether such a gate ends its task.
bool ends_task(Verdict verdict) { return verdict == Verdict::failed || verdict == Verdict::timed_out; }

// The verdict on all gates of a task. failed: the gate that failed.
struct Judgement {
    Verdict verdict;
    GateRow gate;
};

// Gates with ord in after+1 .. before-1; first_closed: the first closed one decides.
Judgement judge_range(Dirty *dirty, int64 task, int32 after, int32 before, TimestampTz now, bool first_closed) {
    Judgement all{Verdict::open, {}};
    GateRow gate;
    walk_gates(dirty, task, after, before);
    for (Sight sight; (sight = next_gate(dirty, &gate)) != Sight::absent;) {
        const Verdict verdict = sight == Sight::in_doubt ? Verdict::in_doubt : judge_gate(dirty, gate, now);
        if (ends_task(verdict) || (first_closed && verdict == Verdict::closed))
            return {verdict, gate};
        if (verdict == Verdict::closed || (verdict == Verdict::in_doubt && all.verdict == Verdict::open))
            all.verdict = verdict;
    }
    return all;
}

// All gates of a task.
Judgement judge_all(Dirty *dirty, int64 task, TimestampTz now) {
    return judge_range(dirty, task, -1, PG_INT32_MAX, now, false);
}

// After the provider of the gate `ord` has ended: whether another gate is closed. Failed providers are handled by the
// calls that end them.
Judgement judge_others(Dirty *dirty, int64 task, int32 ord, TimestampTz now) {
    const Judgement above = judge_range(dirty, task, ord, PG_INT32_MAX, now, true);
    if (above.verdict == Verdict::closed || ends_task(above.verdict))
        return above;
    const Judgement below = judge_range(dirty, task, -1, ord, now, true);
    return below.verdict == Verdict::open ? above : below;
}

Jsonb *dependency_error(Dirty *dirty, const GateRow &gate) {
    if (!is_of_task(gate.kind))
        return providers_of(gate.kind).error(dirty, gate);
    store::SpecRow provider;
    store::Ending ending;
    if (see_spec(dirty, gate.provider, &provider) != Sight::present ||
        see_ending(dirty, gate.provider, &ending) != Sight::present)
        elog(ERROR, "provider " INT64_FORMAT " of task " INT64_FORMAT " has vanished", gate.provider, gate.task);
    const char *status = model::name(ending.status);
    if (gate.kind != GateKind::check)
        return make_error(k_dependency_failed, "provider", provider.rn,
                          psprintf("a task that this one depends on was %s", status));
    // Who may wait for a check gets its answer, and so may know why there is none.
    json::Builder arguments = json::build_object();
    arguments.member("provider", view(provider.rn));
    if (JsonbValue *error = last_error(ending.errors); error != nullptr)
        arguments.member("error", *error);
    return make_error(k_dependency_failed, arguments.finish(),
                      psprintf("a check that this task waits for was %s", status));
}

Jsonb *timeout_error(const GateRow &gate) {
    auto *place = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(psprintf("%d", gate.ord))));
    return make_error(k_dependency_timeout, "gate", place, "what this task waits for has not come in time");
}

// The end of a task by the failure of a provider, or by one that has not ended in time.
Final end_by(Dirty *dirty, const Judgement &judgement, store::Carry carry) {
    const GateRow &gate = judgement.gate;
    const bool late = judgement.verdict == Verdict::timed_out;
    carry.errors = add_error(carry.errors, late ? timeout_error(gate) : dependency_error(dirty, gate));
    const bool skips = late ? gate.limit->on_timeout == OnTimeout::skip : gate.on_failure == OnFailure::skip;
    return {.status = skips ? Status::cancelled : Status::aborted, .carry = carry};
}

// Moves a task whose gates are open. The not_before of a task that has run before is past.
Task begin_task(Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now, bool is_new) {
    if (spec.not_before && *spec.not_before > now && carry.attempt == 0)
        return make_waiting(store, spec, carry, *spec.not_before, now);
    return make_startable(store, spec, carry, now, is_new);
}

// The gate where the task was last found to wait, if it still has it: a task that has run may have been deferred since,
// to wait for something else.
std::optional<GateRow> recall_gate(Store &store, Dirty *dirty, const store::WaitingRow &waiting) {
    const GateRow *before = recall_closed(store, waiting.id);
    if (before == nullptr)
        return std::nullopt;
    return waiting.carry.attempt == 0 ? *before : find_again(dirty, *before);
}

// Decides about a waiting task if that can be done now. `ended`: the gate whose provider has just ended; null: any.
Sight consider(Store &store, Dirty *dirty, int64 task, const GateRow *ended, TimestampTz now, bool *changed) {
    store::WaitingRow waiting;
    const Sight sight = see_waiting(dirty, task, &waiting);
    if (sight != Sight::present)
        return sight;
    if (!waits_for_gates(waiting))
        return Sight::present; // it waits for the time
    Judgement judgement =
        ended == nullptr ? judge_all(dirty, task, now) : Judgement{judge_gate(dirty, *ended, now), *ended};
    if (ended != nullptr && judgement.verdict == Verdict::open) {
        if (const auto before = recall_gate(store, dirty, waiting);
            before && judge_gate(dirty, *before, now) == Verdict::closed)
            return Sight::present;
        judgement = judge_others(dirty, task, ended->ord, now);
        if (judgement.verdict == Verdict::closed)
            remember_closed(store, task, judgement.gate);
    }
    if (judgement.verdict == Verdict::closed)
        return Sight::present;
    if (judgement.verdict == Verdict::in_doubt)
        return Sight::in_doubt;
    store::SpecRow spec;
    store::SpecRow provider; // its name is needed if it has failed
    if (see_spec(dirty, task, &spec) != Sight::present ||
        (judgement.verdict == Verdict::failed && is_of_task(judgement.gate.kind) &&
         see_spec(dirty, judgement.gate.provider, &provider) != Sight::present))
        return Sight::in_doubt;
    // The task has left the table, or is leaving it: it is being cancelled, for example. If that is rolled back, it has
    // to be looked at again.
    if (take(store, TableId::waiting, spec, waiting.tid, Wait::no) != store::Taken::ok)
        return Sight::in_doubt;
    *changed = true;
    if (ends_task(judgement.verdict))
        make_final(store, spec, end_by(dirty, judgement, waiting.carry), now);
    else
        begin_task(store, spec, waiting.carry, now, false);
    return Sight::present;
}

// A provider that has ended may be purged at any moment. It is held until the gate is committed; from then on
// has_live_dependants() keeps it.
void hold_provider(Store &store, Dirty *dirty, const GateRow &gate, const store::SpecRow &dependant) {
    ItemPointerData last;
    ItemPointerSetInvalid(&last);
    const text *name = nullptr;
    for (store::SpecRow provider;;) {
        if (see_spec(dirty, gate.provider, &provider) == Sight::absent)
            error::no_such_provider(name, dependant.rn);
        if (hold(store[TableId::spec], provider.tid, store.snapshot) == store::Taken::ok)
            return;
        name = DatumGetTextPCopy(PointerGetDatum(provider.rn));
        if (ItemPointerEquals(&provider.tid, &last))
            error::no_such_provider(name, dependant.rn);
        last = provider.tid; // set_priority() may have replaced it
    }
}

} // namespace

namespace {

// How many dependants a call looks at: a fixed number, and some more for each task that it ends. So a batch leaves no
// more to the monitor than its tasks would one by one.
constexpr int64 k_dependants = 1000;
constexpr int64 k_dependants_per_end = 10;

// The walk through store.ended, which grows by tasks that end because of others.
struct Settling {
    Store &store;
    Dirty *dirty;
    TimestampTz now;
    int64 budget;       // how many dependants it may still look at
    int64 share;        // how many of them of one provider
    int64 waits_on = 0; // the task that was last seen to wait for something else, after all outcomes so far; 0: none
    bool changed = false;
};

// Looks at the dependants of one provider. False: the budget or its share is used up, and ended->after says how far it
// got.
bool settle_dependants(Settling &all, store::Ended *ended, const RowMemory &memory) {
    const int64 ends = Max(all.budget - all.share, int64{0});
    GateRow gate;
    walk_dependants(all.dirty, ended->id, ended->after, PG_INT64_MAX);
    for (Sight sight; (sight = next_dependant(all.dirty, &gate)) != Sight::absent; reset(memory)) {
        // Often the next provider has the same dependant. It need not be looked at again: the call that ends what it
        // waits for comes later, and sees all that has ended here.
        if (sight == Sight::present && gate.task == all.waits_on && judge_provider(all.dirty, gate) == Verdict::open)
            continue;
        if (all.budget == ends)
            return false;
        all.budget--;
        bool moved = false;
        if (sight == Sight::present)
            sight = consider(all.store, all.dirty, gate.task, &gate, all.now, &moved);
        all.waits_on = sight == Sight::present && !moved ? gate.task : 0;
        all.changed = all.changed || moved;
        if (sight == Sight::in_doubt)
            shmem::note_recheck(gate.task);
        ended->after = gate.task;
    }
    return true;
}

// What is left stays in store.ended. True: it has changed something.
bool settle(Store &store, TimestampTz now, int64 budget, int64 share = PG_INT64_MAX) {
    if (store.ended.count == 0)
        return false;
    // As long as no gate was ever written this costs next to nothing. (A first gate that another transaction is writing
    // comes after our outcomes, so its writer sees them.)
    if (store.ended[0].plan == 0 && store::is_empty(store[TableId::gate])) {
        store.ended.clear();
        return false;
    }
    tell_completed(store);
    Settling all{.store = store, .dirty = begin_dirty(store), .now = now, .budget = budget, .share = share};
    const RowMemory memory = begin_row_memory();
    std::size_t left = 0;
    for (std::size_t i = 0; i < store.ended.count; i++) {
        store::Ended ended = store.ended[i];
        const bool done = settle_dependants(all, &ended, memory);
        // A plan is looked at once for a run of its tasks.
        const bool last = i + 1 == store.ended.count || store.ended[i + 1].plan != ended.plan;
        if (ended.plan != 0 && last &&
            providers_of(GateKind::plan).consider(store, all.dirty, ended, now, &all.changed) == Sight::in_doubt)
            shmem::note_recheck(ended.plan);
        if (!done)
            store.ended[left++] = {ended.id, 0, ended.after};
        reset(memory);
    }
    end(memory);
    end(all.dirty);
    store.ended.count = left;
    return all.changed;
}

// Providers that have ended, some of whose dependants the monitor has still to look at. They take turns, the first of
// the list is next. If an error ends the monitor, the walk with which the next one begins finds them.
struct Backlog {
    bool is_kept; // this process is the monitor
    Growing<store::Ended> ended;
};
constinit Backlog backlog{};

// Moves the rest of store.ended to the end of the backlog.
void keep_rest(Store &store) {
    backlog.ended.add_all(store.ended.all(), TopMemoryContext);
    store.ended.clear();
}

// The monitor's duty: the backlog, and what ends because of it. Each provider has its share of the portion, so that one
// with very many dependants does not delay those of others.
void settle_backlog(Store &store, DutyTurn &turn) {
    constexpr int64 k_least = 10;
    const auto waiting = backlog.ended.all();
    const int64 turns = Min(static_cast<int64>(waiting.size()), Max(turn.portion.limit / k_least, int64{1}));
    const auto others = waiting.subspan(static_cast<std::size_t>(turns));
    for (const store::Ended &ended : waiting.first(static_cast<std::size_t>(turns)))
        note_ended(store, ended);
    std::copy(others.begin(), others.end(), waiting.begin());
    backlog.ended.count = others.size();
    (void)settle(store, turn.now, turn.portion.limit, turn.portion.limit / Max(turns, int64{1}));
    keep_rest(store);
    turn.portion.more = backlog.ended.count > 0;
}

} // namespace

bool settle_gates(Store &store, TimestampTz now) {
    const int64 budget = backlog.is_kept ? k_dependants
                         : shmem::has_monitor()
                             ? k_dependants + static_cast<int64>(store.ended.count) * k_dependants_per_end
                             : PG_INT64_MAX;
    const bool changed = settle(store, now, budget);
    if (backlog.is_kept && store.ended.count > 0)
        keep_rest(store);
    for (const store::Ended &ended : store.ended.all())
        shmem::note_recheck(ended.id);
    store.ended.clear();
    return changed;
}

bool settle_all_gates(Store &store, TimestampTz now) { return settle(store, now, PG_INT64_MAX); }

void keep_backlog() { backlog.is_kept = true; }

Task place_gated(Store &store, Dirty *dirty, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now) {
    Judgement judgement{Verdict::open, {}};
    std::optional<TimestampTz> times_out;
    GateRow gate;
    walk_gates(dirty, spec.id, -1, PG_INT32_MAX);
    while (next_gate(dirty, &gate) != Sight::absent) {
        Verdict verdict = judge_gate(dirty, gate, now);
        if (verdict != Verdict::closed && gate.kind == GateKind::task) {
            hold_provider(store, dirty, gate, spec);
            verdict = judge_gate(dirty, gate, now); // a purge that was under way has ended
        }
        if (gate.limit && (verdict == Verdict::closed || verdict == Verdict::in_doubt))
            times_out = Min(times_out.value_or(gate.limit->deadline), gate.limit->deadline);
        if (ends_task(judgement.verdict))
            continue;
        if (ends_task(verdict))
            judgement = {verdict, gate};
        else if (verdict == Verdict::closed || (verdict == Verdict::in_doubt && judgement.verdict == Verdict::open))
            judgement.verdict = verdict;
    }
    switch (judgement.verdict) {
    case Verdict::open:
        return begin_task(store, spec, carry, now, carry.attempt == 0);
    case Verdict::failed:
    case Verdict::timed_out:
        return make_final(store, spec, end_by(dirty, judgement, carry), now);
    case Verdict::in_doubt:
        shmem::note_recheck(spec.id);
        break;
    case Verdict::closed:
        break;
    }
    return make_gated(store, spec, carry, times_out, now);
}

namespace {

// The gate of a task that times out next.
std::optional<TimestampTz> next_timeout(Dirty *dirty, int64 task, TimestampTz now) {
    std::optional<TimestampTz> first;
    GateRow gate;
    walk_gates(dirty, task, -1, PG_INT32_MAX);
    while (next_gate(dirty, &gate) != Sight::absent)
        if (gate.limit && gate.limit->deadline > now && judge_provider(dirty, gate) != Verdict::open)
            first = Min(first.value_or(gate.limit->deadline), gate.limit->deadline);
    return first;
}

// The row gets the time at which the next gate times out. A call that ends a provider meanwhile may see neither the old
// row nor the new one (store/dirty.h), so the task is looked at once more after the commit.
bool wait_for_next(Store &store, Dirty *dirty, store::WaitingRow row, TimestampTz now) {
    if (remove(store[TableId::waiting], row.tid, store.snapshot, false) != store::Taken::ok)
        return false;
    row.due = next_timeout(dirty, row.id, now);
    row.expiring = row.due.has_value();
    insert(store, row);
    if (row.due)
        shmem::note_time(shmem::Timer::due, *row.due);
    shmem::note_recheck(row.id);
    return true;
}

} // namespace

bool expire_gates(Store &store, const store::WaitingRow &row, TimestampTz now) {
    bool changed = false;
    Dirty *dirty = begin_dirty(store);
    const Sight sight = consider(store, dirty, row.id, nullptr, now, &changed);
    const bool done = changed || (sight != Sight::absent && wait_for_next(store, dirty, row, now));
    end(dirty);
    if (done)
        leave_checks(store, row.id); // a gate may have opened without an answer
    return done;
}

namespace {

// A task that waits for gates; or one that has ended, and has more dependants than the call that ended it has looked
// at.
Sight recheck_task(Store &store, Dirty *dirty, const store::SpecRow &spec, TimestampTz now) {
    bool changed = false;
    Status status;
    const Sight ended = see_outcome(dirty, spec.id, &status);
    if (ended == Sight::present)
        note_ended(store, {spec.id, 0});
    if (ended != Sight::absent)
        return ended;
    const Sight sight = consider(store, dirty, spec.id, nullptr, now, &changed);
    return spec.is_check && !changed && tend_check(store, dirty, spec, now, &changed) == Sight::in_doubt
               ? Sight::in_doubt
               : sight;
}

Sight recheck_provider(Store &store, Dirty *dirty, int64 id, TimestampTz now) {
    bool changed = false;
    Sight sight = Sight::absent;
    for (const GateProviders &each : std::span(providers).first(kinds)) {
        if (each.consider != nullptr && each.has(dirty, id))
            sight = each.consider(store, dirty, {0, id}, now, &changed);
        if (each.has_ended != nullptr && each.has_ended(dirty, id))
            note_ended(store, {id, 0});
    }
    return sight;
}

} // namespace

bool recheck(Store &store, int64 id, TimestampTz now) {
    Dirty *dirty = begin_dirty(store);
    store::SpecRow spec;
    Sight sight = see_spec(dirty, id, &spec);
    if (sight == Sight::present)
        sight = recheck_task(store, dirty, spec, now);
    else if (sight == Sight::absent)
        sight = recheck_provider(store, dirty, id, now);
    end(dirty);
    return sight != Sight::in_doubt;
}

namespace {

constinit int64 looked_until = 0; // how far the walk has come: the id of a task, 0 at its end

void look_at_waiting(Store &store, DutyTurn &turn) {
    bool changed = false;
    Dirty *dirty = begin_dirty(store);
    walk_portion(turn, &looked_until, scan_waiting(store, looked_until), [&](const store::Scan &scan) {
        const store::WaitingRow row = waiting_row(scan);
        if (waits_for_gates(row))
            consider(store, dirty, row.id, nullptr, turn.now, &changed);
        return row.id;
    });
    end(dirty);
    settle_gates(store, turn.now);
}

} // namespace

void register_gate_duty() {
    register_duty({.activity = "looking for open gates",
                   .work = look_at_waiting,
                   .share = 2000, // it is all that a monitor does while many tasks wait and nothing happens
                   .is_second_way = true,
                   .restart = [] { looked_until = 0; }});
    register_duty({.activity = "opening gates", .work = settle_backlog, .share = 0, .has_more = [] {
                       return backlog.ended.count > 0;
                   }});
}

bool has_live_dependants(Store &store, int64 id) {
    if (store::is_empty(store[TableId::gate]))
        return false;
    bool found = false;
    Dirty *dirty = begin_dirty(store);
    GateRow gate;
    walk_dependants(dirty, id, 0, PG_INT64_MAX);
    for (Sight sight; !found && (sight = next_dependant(dirty, &gate)) != Sight::absent;) {
        Status status;
        found = sight == Sight::in_doubt || see_outcome(dirty, gate.task, &status) != Sight::present;
    }
    end(dirty);
    return found;
}

int32 remove_gates(Store &store, const store::SpecRow &spec, Gates which) {
    if (!spec.gates)
        return 0;
    int32 removed = 0;
    store::Scan gates = scan_gates(store, spec.id);
    Dirty *dirty = begin_dirty(store);
    while (next(gates)) {
        const GateRow gate = gate_row(gates);
        if (which == Gates::of_waits && (gate.kind == GateKind::plan || gate.kind == GateKind::pool))
            continue;
        if (remove(store[TableId::gate], gate.tid, store.snapshot, true) != store::Taken::ok)
            elog(ERROR, "a gate of task " INT64_FORMAT " was changed while the task was removed", spec.id);
        if (!is_of_task(gate.kind) && providers_of(gate.kind).leave != nullptr)
            providers_of(gate.kind).leave(store, dirty, gate.provider, which);
        removed++;
    }
    end(dirty);
    end(gates);
    return removed;
}

store::Toll toll_of(const store::Ending &ending) {
    return {ending.status == Status::aborted, ending.status == Status::cancelled &&
                                                  !ends_with_error(ending.errors, k_dependency_failed) &&
                                                  !ends_with_error(ending.errors, k_dependency_timeout)};
}

void leave_plan(Store &store, const store::SpecRow &spec) {
    if (!spec.plan)
        return;
    const auto outcome = find_outcome(store, spec.id);
    const store::Ending ending =
        outcome ? store::Ending{outcome->status, outcome->carry.attempt == 0 ? outcome->carry.errors : nullptr}
                : store::Ending{Status::cancelled, nullptr};
    const store::Toll toll = toll_of(ending);
    if (toll.aborted || toll.cancelled)
        store::plans::charge(*spec.plan, toll);
    note_ended(store, {spec.id, *spec.plan}); // it may have been the last live task
}

} // namespace scylla
