// The monitor's work on triggers: signals arrive, sets are joined, actions are carried out.
#include "model/join.h"
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "plan/conditions.h"
#include "plan/signal_match.h"
#include "plan/signal_names.h"
#include "schedule/run.h"
#include "store/index_plans.h"
#include "store/spi_rows.h"
#include "trigger/triggers.h"

namespace scylla::trigger {

using store::Columns;
using store::Parameters;

namespace {

constinit SPIPlanPtr take_statement = nullptr;
constinit SPIPlanPtr inputs_statement = nullptr;
constinit SPIPlanPtr arrive_statement = nullptr;
constinit SPIPlanPtr refused_statement = nullptr;
constinit SPIPlanPtr fresh_statement = nullptr;
constinit SPIPlanPtr orphans_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr keys_statement = nullptr;
constinit SPIPlanPtr candidates_statement = nullptr;
constinit SPIPlanPtr consume_statement = nullptr;
constinit SPIPlanPtr seen_statement = nullptr;
constinit SPIPlanPtr condition_statement = nullptr;
constinit SPIPlanPtr note_statement = nullptr;
constinit SPIPlanPtr fail_statement = nullptr;
constinit SPIPlanPtr due_statement = nullptr;
constinit SPIPlanPtr again_statement = nullptr;
constinit SPIPlanPtr done_statement = nullptr;
constinit SPIPlanPtr next_statement = nullptr;

constexpr int64 k_signals = 200;               // maximum taken by a portion
constexpr int64 k_sets = 100;                  // maximum carried out by a portion
constexpr int64 k_first_retry = USECS_PER_SEC; // doubled after each failure
constexpr int64 k_last_retry = 10 * 60 * USECS_PER_SEC;

// ---- arrivals ------------------------------------------------------------------------------------------------------

struct Interest {
    int64 trigger;
    int32 input;
    Jsonb *match;
    ArrayType *joined_by;
    const char *owner;
};

Interest read_interest(uint64 row) {
    Columns columns(row);
    return {.trigger = columns.next_int64(),
            .input = columns.next_int32(),
            .match = columns.next_jsonb(),
            .joined_by = columns.next_array(),
            .owner = columns.next_string()};
}

// The values by which a signal joins. Null: one is missing, so the signal joins nothing.
Jsonb *join_key(Jsonb *params, ArrayType *joined_by) {
    Datum *names = nullptr;
    int count = 0;
    deconstruct_array(joined_by, TEXTOID, -1, false, TYPALIGN_INT, &names, nullptr, &count);
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_ARRAY, nullptr);
    for (int i = 0; i < count; i++) {
        const std::string_view name = view(DatumGetTextPP(names[i]));
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&params->root, name.data(), static_cast<int>(name.size()), &value) == nullptr)
            return nullptr;
        pushJsonbValue(&state, WJB_ELEM, &value);
    }
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, nullptr));
}

int64 digest_of(Jsonb *key) {
    return DatumGetInt64(DirectFunctionCall2(jsonb_hash_extended, JsonbPGetDatum(key), Int64GetDatum(0)));
}

// The owner of the trigger may not see the signal (any more). Not noted if another transaction is changing the trigger.
void note_refused(const Interest &interest, const text *signal) {
    Parameters parameters;
    const char *error = psprintf("role \"%s\" does not have the privilege \"wait\" on signal \"%s\"", interest.owner,
                                 text_to_cstring(signal));
    parameters.add(interest.trigger).add(cstring_to_text(error));
    store::change(&refused_statement,
                  "update scylla.signal_trigger set last_error = $2, failed = pg_catalog.clock_timestamp() "
                  "where id operator(pg_catalog.=) any (array(select id from scylla.signal_trigger "
                  "where id operator(pg_catalog.=) $1 for no key update skip locked))",
                  parameters, SPI_OK_UPDATE);
}

void arrive(const Interest &interest, const SentSignal &signal, int64 seq) {
    if (!matches(read_signal_match(interest.match), read_signal_params(signal.params)))
        return;
    Jsonb *key = join_key(signal.params, interest.joined_by);
    if (key == nullptr)
        return;
    const Oid owner = get_role_oid(interest.owner, true);
    if (!OidIsValid(owner) || !may(owner, signal.name, SignalPrivilege::wait)) {
        note_refused(interest, signal.name);
        return;
    }
    Parameters parameters;
    parameters.add(interest.trigger)
        .add(digest_of(key))
        .add(seq)
        .add(INT4OID, Int32GetDatum(interest.input))
        .add(JSONBOID, JsonbPGetDatum(key));
    store::change(&arrive_statement,
                  "insert into scylla.signal_arrival (trigger, digest, seq, input, fresh, join_key) "
                  "values ($1, $2, $3, $4, true, $5) on conflict do nothing",
                  parameters, SPI_OK_INSERT);
}

// Takes signals that no trigger has seen, except those that another session is taking. Returns their number. Takes none
// if a related table is empty: this may be a restore that has not restored it yet.
int64 take_signals(int64 limit) {
    Parameters parameters;
    parameters.add(limit);
    const auto seqs = store::select<int64>(
        &take_statement,
        "delete from scylla.signal_unseen where seq operator(pg_catalog.=) any (array(select seq "
        "from scylla.signal_unseen where exists (select from scylla.signal_sent) "
        "and exists (select from scylla.signal_trigger) and exists (select from scylla.signal_trigger_input) "
        "order by seq limit $1 for update skip locked)) returning seq",
        parameters, SPI_OK_DELETE_RETURNING, [](uint64 row) { return Columns(row).next_int64(); });
    const RowMemory memory = begin_row_memory();
    for (const int64 seq : seqs) {
        CHECK_FOR_INTERRUPTS();
        const auto signal = find_sent(seq);
        if (!signal)
            continue; // purged
        Parameters of_signal;
        of_signal.add(signal->name).add(seq);
        for (const Interest &interest :
             store::select<Interest>(&inputs_statement,
                                     "select i.trigger, i.ord, i.match, i.joined_by, t.owner::pg_catalog.text "
                                     "from scylla.signal_trigger_input i join scylla.signal_trigger t on t.id "
                                     "operator(pg_catalog.=) i.trigger "
                                     "where i.name operator(pg_catalog.=) $1 and t.id operator(pg_catalog.<) $2",
                                     of_signal, SPI_OK_SELECT, read_interest))
            arrive(interest, *signal, seq);
        reset(memory);
    }
    end(memory);
    return static_cast<int64>(seqs.size());
}

// ---- actions -------------------------------------------------------------------------------------------------------

struct HeldTrigger {
    int64 id;
    const char *owner;
    text *name;
    Jsonb *action;
    Datum condition; // a jsonpath; 0: none
    int32 inputs;
};

// The results of its sets in a turn.
struct Tally {
    int64 fired;
    int64 skipped;
    const char *error; // the last; null: none
};

// Locks a trigger. Nothing: another session has locked it, or it is paused or gone.
std::optional<HeldTrigger> hold(int64 id) {
    Parameters parameters;
    parameters.add(id);
    const auto held = store::select<HeldTrigger>(
        &hold_statement,
        "select id, owner::pg_catalog.text, name, action, condition, inputs from scylla.signal_trigger "
        "where id operator(pg_catalog.=) $1 and not paused for no key update skip locked",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            return HeldTrigger{.id = columns.next_int64(),
                               .owner = columns.next_string(),
                               .name = columns.next_text(),
                               .action = columns.next_jsonb(),
                               .condition = columns.next_varlena(),
                               .inputs = columns.next_int32()};
        });
    return held.empty() ? std::nullopt : std::optional(held[0]);
}

// The caller has locked its row.
void note(const HeldTrigger &trigger, const Tally &tally) {
    if (tally.fired == 0 && tally.skipped == 0 && tally.error == nullptr)
        return;
    const text *error = tally.error == nullptr ? nullptr : cstring_to_text(tally.error);
    Parameters parameters;
    parameters.add(trigger.id).add(tally.fired).add(tally.skipped).add(error);
    store::change(
        &note_statement,
        "update scylla.signal_trigger set fired = fired operator(pg_catalog.+) $2, "
        "skipped = skipped operator(pg_catalog.+) $3, "
        "last_fired = case when $2 operator(pg_catalog.>) 0 then pg_catalog.clock_timestamp() else last_fired end, "
        "last_error = coalesce($4, last_error), "
        "failed = case when $4 is not null then pg_catalog.clock_timestamp() else failed end "
        "where id operator(pg_catalog.=) $1",
        parameters, SPI_OK_UPDATE);
}

// The signals of a set as the context of the condition, and as the wait_for of the tasks.
struct SetOfSignals {
    Jsonb *values;
    Jsonb *wait_for;
    int64 latest;
};

SetOfSignals read_set(std::span<const int64> seqs) {
    JsonbParseState *values = nullptr;
    pushJsonbValue(&values, WJB_BEGIN_ARRAY, nullptr);
    StringInfoData waits;
    initStringInfo(&waits);
    int64 latest = 0;
    for (const int64 seq : seqs) {
        const auto signal = find_sent(seq);
        if (!signal)
            error::signal_purged(seq);
        JsonbValue value{};
        value.type = jbvBinary;
        value.val.binary.data = &signal->value->root;
        value.val.binary.len = static_cast<int>(VARSIZE(signal->value) - VARHDRSZ);
        pushJsonbValue(&values, WJB_ELEM, &value);
        appendStringInfoString(&waits, latest == 0 ? "[{\"signal\": " : ", {\"signal\": ");
        escape_json(&waits, text_to_cstring(signal->name));
        appendStringInfo(&waits, ", \"seq\": " INT64_FORMAT "}", seq);
        latest = Max(latest, seq);
    }
    appendStringInfoChar(&waits, ']');
    return {JsonbValueToJsonb(pushJsonbValue(&values, WJB_END_ARRAY, nullptr)),
            DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(waits.data))), latest};
}

bool is_true(Datum condition, Jsonb *values) {
    if (condition == 0)
        return true;
    Parameters parameters;
    parameters.add(JSONBOID, JsonbPGetDatum(values)).add(JSONPATHOID, condition);
    return store::select<bool>(&condition_statement, "select coalesce(pg_catalog.jsonb_path_match($1, $2), false)",
                               parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_bool(); })[0];
}

bool make_as(Oid role, const Maker &maker, const Firing &firing) {
    return act_as(role, [&] { return maker.make(firing); });
}

// False: the set is skipped.
bool carry_out_for(Oid role, const HeldTrigger &trigger, std::span<const int64> seqs) {
    const SetOfSignals set = read_set(seqs);
    if (!is_true(trigger.condition, set.values))
        return false;
    if (const Maker *maker = find_maker(trigger.action))
        return make_as(role, *maker,
                       {.trigger = trigger.name, .action = trigger.action, .signals = set.values, .seqs = seqs});
    carry_out(role, {.trigger = trigger.name, .tasks = trigger.action, .seq = set.latest, .wait_for = set.wait_for});
    return true;
}

// Carries the action out for a set, or skips the set. Returns the error, after a rollback of the action; null: none.
const char *act(const HeldTrigger &trigger, std::span<const int64> seqs, Tally *tally) {
    bool fires = false;
    const int settings_level = schedule::limit_waiting(schedule::Patience::short_);
    const ErrorData *error = attempt([&] {
        const Oid role = get_role_oid(trigger.owner, true);
        if (!OidIsValid(role))
            error::no_trigger_role(trigger.owner);
        fires = carry_out_for(role, trigger, seqs);
    });
    AtEOXact_GUC(true, settings_level);
    if (error != nullptr)
        return tally->error = psprintf("%s: %s", unpack_sql_state(error->sqlerrcode), error->message);
    (fires ? tally->fired : tally->skipped)++;
    return nullptr;
}

Datum to_array(std::span<const int64> seqs) {
    const auto values = allocate<Datum>(seqs.size());
    for (std::size_t i = 0; i < seqs.size(); i++)
        values[i] = Int64GetDatum(seqs[i]);
    return PointerGetDatum(construct_array(values.data(), static_cast<int>(values.size()), INT8OID, sizeof(int64),
                                           FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

void keep_failed(const HeldTrigger &trigger, std::span<const int64> seqs, const char *error, TimestampTz now) {
    Parameters parameters;
    parameters.add(trigger.id)
        .add(INT8ARRAYOID, to_array(seqs))
        .add(cstring_to_text(error))
        .add(std::optional(now + k_first_retry));
    store::change(&fail_statement,
                  "insert into scylla.signal_trigger_failure (trigger, seqs, error, retry_at, attempts) "
                  "values ($1, $2, $3, $4, 1)",
                  parameters, SPI_OK_INSERT);
}

// ---- joining -------------------------------------------------------------------------------------------------------

struct JoinKey {
    int64 digest;
    Jsonb *key;
};

std::optional<model::JoinedSet> find_set(const HeldTrigger &trigger, const JoinKey &key) {
    Parameters parameters;
    parameters.add(trigger.id)
        .add(key.digest)
        .add(JSONBOID, JsonbPGetDatum(key.key))
        .add(INT4OID, Int32GetDatum(trigger.inputs));
    const auto candidates = store::select<model::JoinCandidate>(
        &candidates_statement,
        "select i.ord, a.seq from pg_catalog.generate_series(1, $4) i (ord), "
        "lateral (select seq from scylla.signal_arrival where trigger operator(pg_catalog.=) $1 "
        "and digest operator(pg_catalog.=) $2 and join_key operator(pg_catalog.=) $3 "
        "and input operator(pg_catalog.=) i.ord order by seq limit $4) a order by i.ord, a.seq",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            const auto input = static_cast<std::size_t>(columns.next_int32() - 1);
            return model::JoinCandidate{input, columns.next_int64()};
        });
    return model::join(candidates, static_cast<std::size_t>(trigger.inputs));
}

// Removes the arrivals of these signals at any input. Found by their numbers only: the trigger has many arrivals, and
// most of them are dead.
void consume(const HeldTrigger &trigger, std::span<const int64> seqs) {
    Parameters parameters;
    parameters.add(trigger.id).add(INT8ARRAYOID, to_array(seqs));
    store::change(
        &consume_statement,
        "delete from scylla.signal_arrival where (trigger operator(pg_catalog.+) 0) operator(pg_catalog.=) $1 "
        "and seq operator(pg_catalog.=) any ($2)",
        parameters, SPI_OK_DELETE);
}

// Until another signal arrives, the key need not be joined again.
void mark_seen(const HeldTrigger &trigger, const JoinKey &key) {
    Parameters parameters;
    parameters.add(trigger.id).add(key.digest).add(JSONBOID, JsonbPGetDatum(key.key));
    store::change(&seen_statement,
                  "update scylla.signal_arrival set fresh = false where trigger operator(pg_catalog.=) $1 "
                  "and digest operator(pg_catalog.=) $2 and join_key operator(pg_catalog.=) $3 and fresh",
                  parameters, SPI_OK_UPDATE);
}

void join_key_of(const HeldTrigger &trigger, const JoinKey &key, DutyTurn &turn, Tally *tally) {
    while (turn.portion.done < turn.portion.limit) {
        CHECK_FOR_INTERRUPTS();
        const auto set = find_set(trigger, key);
        if (!set) {
            mark_seen(trigger, key);
            return;
        }
        const auto seqs = std::span(*set).first(static_cast<std::size_t>(trigger.inputs));
        consume(trigger, seqs);
        if (const char *error = act(trigger, seqs, tally))
            keep_failed(trigger, seqs, error, turn.now);
        turn.portion.done++;
    }
    turn.portion.more = true;
}

void join_sets(const HeldTrigger &trigger, DutyTurn &turn) {
    Parameters parameters;
    parameters.add(trigger.id).add(k_signals);
    const auto keys = store::select<JoinKey>(
        &keys_statement,
        "select distinct digest, join_key from scylla.signal_arrival where trigger operator(pg_catalog.=) $1 "
        "and fresh limit $2",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            const int64 digest = columns.next_int64();
            return JoinKey{digest, columns.next_jsonb()};
        });
    Tally tally{};
    for (const JoinKey &key : keys)
        join_key_of(trigger, key, turn, &tally);
    note(trigger, tally);
    turn.portion.more = turn.portion.more || static_cast<int64>(keys.size()) == k_signals;
}

// Removes arrivals that were inserted while their trigger was being dropped.
void remove_orphans(int64 trigger) {
    Parameters parameters;
    parameters.add(trigger);
    store::change(&orphans_statement,
                  "delete from scylla.signal_arrival where trigger operator(pg_catalog.=) $1 "
                  "and exists (select from scylla.signal_trigger)",
                  parameters, SPI_OK_DELETE);
}

struct FreshTrigger {
    int64 id;
    bool is_there;
};

void join_fresh(DutyTurn &turn) {
    Parameters parameters;
    parameters.add(k_signals);
    const auto fresh =
        store::select<FreshTrigger>(&fresh_statement,
                                    "select distinct a.trigger, t.id is not null from scylla.signal_arrival a "
                                    "left join scylla.signal_trigger t on t.id operator(pg_catalog.=) a.trigger "
                                    "where a.fresh and t.paused is not true limit $1",
                                    parameters, SPI_OK_SELECT, [](uint64 row) {
                                        Columns columns(row);
                                        const int64 id = columns.next_int64();
                                        return FreshTrigger{id, columns.next_bool()};
                                    });
    for (const FreshTrigger &each : fresh) {
        if (!each.is_there)
            remove_orphans(each.id);
        else if (const auto trigger = hold(each.id))
            join_sets(*trigger, turn);
        else
            turn.portion.more = true; // another session has locked it
    }
}

// ---- retries -------------------------------------------------------------------------------------------------------

struct FailedSet {
    int64 id;
    int64 trigger;
    int32 attempts;
    std::span<const int64> seqs;
};

FailedSet read_failed(uint64 row) {
    Columns columns(row);
    FailedSet failed{};
    failed.id = columns.next_int64();
    failed.trigger = columns.next_int64();
    failed.attempts = columns.next_int32();
    Datum *values = nullptr;
    int count = 0;
    deconstruct_array(columns.next_array(), INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, nullptr,
                      &count);
    const auto seqs = allocate<int64>(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < seqs.size(); i++)
        seqs[i] = DatumGetInt64(values[i]);
    failed.seqs = seqs;
    return failed;
}

void keep_again(const FailedSet &failed, const char *error, TimestampTz now) {
    constexpr int k_doublings = 10;
    const int64 delay = Min(k_first_retry << Min(failed.attempts, k_doublings), k_last_retry);
    Parameters parameters;
    parameters.add(failed.id).add(cstring_to_text(error)).add(std::optional(now + delay));
    store::change(&again_statement,
                  "update scylla.signal_trigger_failure set error = $2, retry_at = $3, "
                  "attempts = attempts operator(pg_catalog.+) 1 where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_UPDATE);
}

void remove_failed(const FailedSet &failed) {
    Parameters parameters;
    parameters.add(failed.id);
    store::change(&done_statement, "delete from scylla.signal_trigger_failure where id operator(pg_catalog.=) $1",
                  parameters, SPI_OK_DELETE);
}

void try_failed(DutyTurn &turn) {
    Parameters parameters;
    parameters.add(std::optional(turn.now)).add(k_sets);
    const auto due = store::select<FailedSet>(
        &due_statement,
        "select f.id, f.trigger, f.attempts, f.seqs from scylla.signal_trigger_failure f "
        "join scylla.signal_trigger t on t.id operator(pg_catalog.=) f.trigger and not t.paused "
        "where f.retry_at operator(pg_catalog.<=) $1 order by f.retry_at limit $2 for update of f, t skip locked",
        parameters, SPI_OK_SELECT, read_failed);
    for (const FailedSet &failed : due) {
        CHECK_FOR_INTERRUPTS();
        const auto trigger = hold(failed.trigger);
        if (!trigger)
            continue;
        Tally tally{};
        if (const char *error = act(*trigger, failed.seqs, &tally))
            keep_again(failed, error, turn.now);
        else
            remove_failed(failed);
        note(*trigger, tally);
        turn.portion.done++;
    }
}

// The time of the next retry of a failed set; shmem::k_never: there is none.
TimestampTz next_retry() {
    Parameters parameters;
    return store::select<TimestampTz>(
        &next_statement,
        "select pg_catalog.min(f.retry_at) from scylla.signal_trigger_failure f "
        "join scylla.signal_trigger t on t.id operator(pg_catalog.=) f.trigger and not t.paused",
        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_time().value_or(shmem::k_never); })[0];
}

void run_by_indexes(DutyTurn &turn) {
    const int64 signals = Min(turn.portion.limit, k_signals);
    int64 taken = 0;
    do {
        taken = take_signals(signals);
        join_fresh(turn);
    } while (taken == signals && turn.portion.limit == PG_INT64_MAX);
    try_failed(turn);
    turn.portion.more = turn.portion.more || taken == signals;
    turn.portion.done += taken;
    turn.next = Min(turn.next, next_retry());
}

// Requires that each statement sees what others have committed. An index scan marks dead entries, which the next one
// skips; a bitmap scan does not.
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
