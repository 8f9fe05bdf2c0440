// The monitor's work on triggers: signals arrive, sets are joined, actions are
// carried out.
#include "schedule/run.h"
#include "model/join.h"
#include "pg/error.h"
#include "pg/growing.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "plan/conditions.h"
#include "plan/signal_match.h"
#include "plan/signal_names.h"
#include "store/index_plans.h"
#include "store/trigger/arrivals.h"
#include "store/trigger/failures.h"
#include "store/trigger/triggers.h"
#include "trigger/triggers.h"

namespace scylla::trigger {

using store::arrivals::JoinKey;
using store::triggers::Interest;
using HeldTrigger = store::triggers::Held;

namespace {

constexpr int64 k_signals = 200;               // maximum taken by a portion
constexpr int64 k_arrivals = 1000;             // at triggers in a portion: names have equal shares
constexpr int64 k_least_arrivals = 10;         // of such a share
constexpr int64 k_sets = 100;                  // maximum carried out by a portion
constinit int32 last_line = PG_INT32_MIN;      // of the signals that were taken last
constinit int64 last_trigger = 0;              // that had its turn last
constinit int64 last_looked_at = 0;            // for owners whose turn it is
constexpr int64 k_first_retry = USECS_PER_SEC; // doubled after each failure
constexpr int64 k_last_retry = 10 * 60 * USECS_PER_SEC;

// ---- arrivals ------------------------------------------------------------------------------------------------------

// The values by which a signal joins. Null: one is missing, so the signal joins
// nothing.
Jsonb *join_key(Jsonb *params, ArrayType *joined_by) {
    Datum *names = nullptr;
    int count = 0;
    deconstruct_array(joined_by, TEXTOID, -1, false, TYPALIGN_INT, &names, nullptr, &count);
    json::Builder list = json::build_array();
    for (int i = 0; i < count; i++) {
        const std::string_view name = view(DatumGetTextPP(names[i]));
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&params->root, name.data(), static_cast<int>(name.size()), &value) == nullptr)
            return nullptr;
        list.element(value);
    }
    return list.finish();
}

int64 digest_of(Jsonb *key) {
    return DatumGetInt64(DirectFunctionCall2(jsonb_hash_extended, JsonbPGetDatum(key), Int64GetDatum(0)));
}

void arrive(const Interest &interest, const SentSignal &signal, int64 seq) {
    if (!matches(read_signal_match(interest.match), read_signal_params(signal.params)))
        return;
    Jsonb *key = join_key(signal.params, interest.joined_by);
    if (key == nullptr)
        return;
    const Oid owner = get_role_oid(interest.owner, true);
    if (!OidIsValid(owner) || !may(owner, signal.name, SignalPrivilege::wait)) {
        store::triggers::note_refused(interest.trigger,
                                      psprintf("role \"%s\" does not have the privilege \"wait\" on signal \"%s\"",
                                               interest.owner, text_to_cstring(signal.name)));
        return;
    }
    store::arrivals::add(
        {.trigger = interest.trigger, .digest = digest_of(key), .seq = seq, .input = interest.input, .join_key = key});
}

// Lets triggers see a signal, about `most` of them. Returns how many; if there are more, signal->after says how far it
// got.
int64 show(store::arrivals::Taken *signal, int64 most) {
    const auto sent = find_sent(signal->seq);
    if (!sent)
        return 0; // purged
    const auto interests =
        store::triggers::interested({.name = sent->name, .signal = signal->seq, .after = signal->after, .most = most});
    for (const Interest &interest : interests)
        arrive(interest, *sent, signal->seq);
    const auto count = static_cast<int64>(interests.size());
    if (count >= most)
        signal->after = interests.back().trigger;
    return count;
}

// How many triggers may still see signals of a name in this portion.
struct Share {
    int32 line;
    int64 left;
};

Share *share_of(Growing<Share> &shares, int32 line) {
    for (Share &share : shares.all())
        if (share.line == line)
            return &share;
    return nullptr;
}

// Takes signals that not all triggers have seen, and shows them to triggers, as many as the share of their name allows.
// Returns how many it has taken.
int64 take_signals(int64 limit) {
    using store::arrivals::Taken;
    const auto taken = store::arrivals::take(limit, last_line);
    // The next portion begins after the last name that has had its turn, if there
    // was no room for more of them.
    const auto *last =
        std::max_element(taken.data(), taken.data() + taken.size(), [](const Taken &one, const Taken &other) {
            return std::pair(one.line <= last_line, one.line) < std::pair(other.line <= last_line, other.line);
        });
    last_line = static_cast<int64>(taken.size()) < limit ? PG_INT32_MIN : last->line;
    Growing<Taken> signals;
    signals.add_all(taken);
    std::sort(signals.at, signals.at + signals.count,
              [](const Taken &one, const Taken &other) { return one.seq < other.seq; });
    Growing<Share> shares;
    for (const Taken &signal : signals.all())
        if (share_of(shares, signal.line) == nullptr)
            shares.add({signal.line, 0});
    for (Share &share : shares.all())
        share.left = Max(k_arrivals / static_cast<int64>(shares.count), k_least_arrivals);
    std::size_t left = 0;
    const RowMemory memory = begin_row_memory();
    for (Taken signal : signals.all()) {
        CHECK_FOR_INTERRUPTS();
        Share *share = share_of(shares, signal.line);
        if (share->left > 0)
            share->left -= show(&signal, share->left);
        if (share->left <= 0) // also the one that has used it up: there may be more triggers for it
            signals[left++] = signal;
        reset(memory);
    }
    end(memory);
    if (left > 0)
        store::arrivals::put_back(signals.all().first(left));
    return static_cast<int64>(signals.count);
}

// ---- actions -------------------------------------------------------------------------------------------------------

// The results of its sets in a turn.
struct Tally {
    int64 fired;
    int64 skipped;
    int64 missed;
    const char *error; // the last; null: none
};

// The caller has locked its row.
void note(const HeldTrigger &trigger, const Tally &tally) {
    if (tally.fired == 0 && tally.skipped == 0 && tally.missed == 0 && tally.error == nullptr)
        return;
    store::triggers::note({.id = trigger.id,
                           .fired = tally.fired,
                           .skipped = tally.skipped,
                           .missed = tally.missed,
                           .error = tally.error == nullptr ? store::TextArgument() : store::TextArgument(tally.error)});
}

// The signals of a set as the context of the condition, and as the wait_for of
// the tasks.
struct SetOfSignals {
    Jsonb *values;
    Jsonb *wait_for;
    int64 latest;
    TimestampTz sent; // the last of them
};

SetOfSignals read_set(std::span<const int64> seqs) {
    json::Builder values = json::build_array();
    StringInfoData waits;
    initStringInfo(&waits);
    int64 latest = 0;
    TimestampTz sent = DT_NOBEGIN;
    for (const int64 seq : seqs) {
        const auto signal = find_sent(seq);
        if (!signal)
            error::signal_purged(seq);
        values.element(json::of_json(signal->value));
        appendStringInfoString(&waits, latest == 0 ? "[{\"signal\": " : ", {\"signal\": ");
        escape_json(&waits, text_to_cstring(signal->name));
        appendStringInfo(&waits, ", \"seq\": " INT64_FORMAT "}", seq);
        latest = Max(latest, seq);
        sent = Max(sent, signal->sent);
    }
    appendStringInfoChar(&waits, ']');
    return {values.finish(), DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(waits.data))), latest, sent};
}

bool make_as(Oid role, const Maker &maker, const Firing &firing) {
    return act_as(role, [&] { return maker.make(firing); });
}

bool is_late(const SetOfSignals &set, const Interval *grace) {
    return grace != nullptr &&
           DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(set.sent),
                                                   IntervalPGetDatum(grace))) < GetCurrentTimestamp();
}

// False: the set is skipped.
bool carry_out_set(Oid role, const HeldTrigger &trigger, const SetOfSignals &set, std::span<const int64> seqs) {
    if (trigger.condition != 0 && !store::triggers::is_true(trigger.condition, set.values))
        return false;
    if (const Maker *maker = find_maker(trigger.action))
        return make_as(role, *maker,
                       {.trigger = trigger.name, .action = trigger.action, .signals = set.values, .seqs = seqs});
    carry_out(role, {.trigger = trigger.name, .tasks = trigger.action, .seq = set.latest, .wait_for = set.wait_for});
    return true;
}

// Carries the action out for a set, or skips the set. Returns the error, after
// a rollback of the action; null: none.
const char *act(const HeldTrigger &trigger, std::span<const int64> seqs, Tally *tally) {
    int64 *counts = &tally->skipped;
    const int settings_level = schedule::limit_waiting(schedule::Patience::short_);
    const ErrorData *error = attempt([&] {
        const Oid role = get_role_oid(trigger.owner, true);
        if (!OidIsValid(role))
            error::no_trigger_role(trigger.owner);
        const SetOfSignals set = read_set(seqs);
        if (is_late(set, trigger.grace))
            counts = &tally->missed;
        else if (carry_out_set(role, trigger, set, seqs))
            counts = &tally->fired;
    });
    AtEOXact_GUC(true, settings_level);
    if (error != nullptr)
        return tally->error = psprintf("%s: %s", unpack_sql_state(error->sqlerrcode), error->message);
    ++*counts;
    return nullptr;
}

// ---- joining -------------------------------------------------------------------------------------------------------

std::optional<model::JoinedSet> find_set(const HeldTrigger &trigger, const JoinKey &key) {
    Growing<model::JoinCandidate> candidates;
    for (const auto &each : store::arrivals::candidates(trigger.id, key, trigger.inputs))
        candidates.add({static_cast<std::size_t>(each.input - 1), each.seq});
    return model::join(candidates.all(), static_cast<std::size_t>(trigger.inputs));
}

// ends: how much of the portion may be done then.
void join_key_of(const HeldTrigger &trigger, const JoinKey &key, int64 ends, DutyTurn &turn, Tally *tally) {
    while (turn.portion.done < ends) {
        CHECK_FOR_INTERRUPTS();
        const auto set = find_set(trigger, key);
        if (!set) {
            store::arrivals::mark_seen(trigger.id, key);
            return;
        }
        const auto seqs = std::span(*set).first(static_cast<std::size_t>(trigger.inputs));
        store::arrivals::consume(trigger.id, seqs);
        if (const char *error = act(trigger, seqs, tally))
            store::failures::add(
                {.trigger = trigger.id, .seqs = seqs, .error = error, .retry_at = turn.now + k_first_retry});
        turn.portion.done++;
    }
    turn.portion.more = true;
}

void join_sets(const HeldTrigger &trigger, int64 share, DutyTurn &turn) {
    const int64 most = Min(share, k_signals);
    const int64 ends = share > PG_INT64_MAX - turn.portion.done ? PG_INT64_MAX : turn.portion.done + share;
    const auto keys = store::arrivals::fresh_keys(trigger.id, most);
    Tally tally{};
    for (const JoinKey &key : keys)
        join_key_of(trigger, key, ends, turn, &tally);
    note(trigger, tally);
    turn.portion.more = turn.portion.more || static_cast<int64>(keys.size()) == most;
}

void join(const store::arrivals::FreshTrigger &each, int64 share, DutyTurn &turn) {
    if (!each.is_there)
        store::arrivals::remove_orphans(each.id);
    else if (const auto trigger = store::triggers::hold(each.id))
        join_sets(*trigger, share, turn);
    else
        turn.portion.more = true; // another session has locked it
}

// There are more triggers than a portion has sets. Owners of few of those that had their turn have one too, so that
// very many triggers of one role do not delay those of another.
void join_of_others(std::span<const store::arrivals::FreshTrigger> joined, DutyTurn &turn) {
    constexpr int64 k_looked_at = 10 * k_sets;
    Growing<const char *> owners;
    for (const store::arrivals::FreshTrigger &each : joined)
        owners.add(each.owner);
    const auto is_its_turn = [&](const char *owner) {
        return owner != nullptr && std::count_if(owners.at, owners.at + owners.count, [&](const char *had) {
                                       return had != nullptr && strcmp(had, owner) == 0;
                                   }) < k_sets / 10;
    };
    const auto ahead = store::arrivals::fresh_triggers(k_looked_at, last_looked_at);
    int64 left = k_sets / 2;
    for (const store::arrivals::FreshTrigger &each : ahead) {
        if (left == 0)
            break;
        last_looked_at = each.id;
        if (!is_its_turn(each.owner))
            continue;
        owners.add(each.owner);
        join(each, 1, turn);
        left--;
    }
}

// Each trigger has its share of the portion.
void join_fresh(DutyTurn &turn) {
    const auto fresh = store::arrivals::fresh_triggers(k_sets, last_trigger);
    const int64 share = fresh.empty() ? 0 : Max(turn.portion.limit / static_cast<int64>(fresh.size()), int64{1});
    for (const store::arrivals::FreshTrigger &each : fresh) {
        last_trigger = each.id;
        join(each, share, turn);
    }
    if (static_cast<int64>(fresh.size()) == k_sets) {
        turn.portion.more = true;
        join_of_others(fresh, turn);
    }
}

// ---- retries -------------------------------------------------------------------------------------------------------

using store::failures::Failure;

std::span<const int64> seqs_of(const Failure &failure) {
    return {reinterpret_cast<const int64 *>(ARR_DATA_PTR(failure.seqs)),
            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(failure.seqs), ARR_DIMS(failure.seqs)))};
}

void keep_again(const Failure &failed, const char *error, TimestampTz now) {
    constexpr int k_doublings = 10;
    const int64 delay = Min(k_first_retry << Min(failed.attempts, k_doublings), k_last_retry);
    store::failures::again(failed.id, error, now + delay);
}

void try_failed(DutyTurn &turn) {
    for (const Failure &failed : store::failures::due(turn.now, k_sets)) {
        CHECK_FOR_INTERRUPTS();
        const auto trigger = store::triggers::hold(failed.trigger);
        if (!trigger)
            continue;
        Tally tally{};
        if (const char *error = act(*trigger, seqs_of(failed), &tally))
            keep_again(failed, error, turn.now);
        else
            store::failures::remove(failed.id);
        note(*trigger, tally);
        turn.portion.done++;
    }
}

void run_by_indexes(DutyTurn &turn) {
    const int64 signals = Min(turn.portion.limit, k_signals);
    int64 taken = 0;
    do {
        taken = take_signals(signals);
        join_fresh(turn);
    } while (taken > 0 && turn.portion.limit == PG_INT64_MAX);
    try_failed(turn);
    turn.portion.more = turn.portion.more || taken > 0;
    turn.portion.done += taken;
    turn.next = Min(turn.next, store::failures::next_retry().value_or(shmem::k_never));
}

// Requires that each statement sees what others have committed. An index scan
// marks dead entries, which the next one skips; a bitmap scan does not.
void run(store::Store &, DutyTurn &turn) {
    if (IsolationUsesXactSnapshot())
        return;
    const int settings_level = store::use_indexes_only();
    store::plan_without("enable_bitmapscan");
    run_by_indexes(turn);
    AtEOXact_GUC(true, settings_level);
}

} // namespace

void register_trigger_duty() {
    register_duty({.activity = "carrying out triggers", .work = run, .limit = k_sets, .timer = shmem::Timer::trigger});
}

} // namespace scylla::trigger
