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
#include "store/index_plans.h"
#include "store/spi.h"
#include "task/gates.h"

namespace scylla {

using store::Sight;
using store::SignalConditionRow;
using store::Store;
using store::TableId;

namespace {

constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr request_statement = nullptr;
constinit SPIPlanPtr signal_statement = nullptr;
constinit SPIPlanPtr newest_statement = nullptr;
constinit SPIPlanPtr newest_equal_statement = nullptr;
constinit SPIPlanPtr trigger_statement = nullptr;

constinit StepConditions step_conditions{};

// A signal as it was sent.
struct Signal {
    int64 id;
    text *name;
    TimestampTz sent;
    Jsonb *params;
    Jsonb *payload; // may be null
};

// ---- the history ---------------------------------------------------------------------------------------------------

// The row of SPI's result: id, sent, params, payload; in the present memory context.
Signal read_signal(HeapTuple row, TupleDesc type, const text *name) {
    bool null = false;
    Signal signal{};
    signal.id = DatumGetInt64(SPI_getbinval(row, type, 1, &null));
    signal.name = const_cast<text *>(name);
    signal.sent = DatumGetTimestampTz(SPI_getbinval(row, type, 2, &null));
    signal.params = DatumGetJsonbPCopy(SPI_getbinval(row, type, 3, &null));
    const Datum payload = SPI_getbinval(row, type, 4, &null);
    signal.payload = null ? nullptr : DatumGetJsonbPCopy(payload);
    return signal;
}

SPIPlanPtr prepare_newest(SPIPlanPtr *plan, const char *sql) {
    if (*plan == nullptr) {
        std::array<Oid, 3> types{TEXTOID, TIMESTAMPTZOID, JSONBOID};
        SPIPlanPtr prepared = SPI_prepare(sql, static_cast<int>(types.size()), types.data());
        if (prepared == nullptr)
            elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
        SPI_keepplan(prepared);
        *plan = prepared;
    }
    return *plan;
}

// The signals that may match, the newest first. With parameters to be equal, they are found by the index on parameters.
// The planner has no other choice: a scan by name would read all signals of that name, and a plan that was made while
// there were few stays until the table has been analyzed.
SPIPlanPtr newest_plan(bool with_equal) {
    if (with_equal)
        return prepare_newest(&newest_equal_statement,
                              "with found as materialized (select id, sent, params, payload from scylla.signal_sent "
                              "where params operator(pg_catalog.@>) $3 "
                              "and (name operator(pg_catalog.||) '') operator(pg_catalog.=) $1 "
                              "and sent operator(pg_catalog.>=) $2) "
                              "select id, sent, params, payload from found order by id desc");
    return prepare_newest(&newest_statement, "select id, sent, params, payload from scylla.signal_sent "
                                             "where name operator(pg_catalog.=) $1 and sent operator(pg_catalog.>=) $2 "
                                             "and $3 is not null order by name desc, id desc");
}

// The newest committed signal that matches.
std::optional<Signal> find_newest(const text *name, Jsonb *match, std::optional<TimestampTz> since) {
    constexpr long k_fetch = 50;
    const SignalMatch wanted = read_signal_match(match);
    std::array<Datum, 3> values{PointerGetDatum(name), TimestampTzGetDatum(since.value_or(DT_NOBEGIN)),
                                PointerGetDatum(equal_part(match))};
    MemoryContext caller = CurrentMemoryContext;
    std::optional<Signal> newest;
    store::AsOwner as_owner;
    as_owner.begin();
    PushActiveSnapshot(GetLatestSnapshot());
    const int settings_level = NewGUCNestLevel();
    store::plan_without("enable_seqscan");
    Portal cursor = SPI_cursor_open(nullptr, newest_plan(!wanted.equal.empty()), values.data(), nullptr, true);
    do {
        SPI_cursor_fetch(cursor, true, k_fetch);
        for (uint64 i = 0; i < SPI_processed && !newest; i++) {
            CHECK_FOR_INTERRUPTS();
            bool null = false;
            Jsonb *params = DatumGetJsonbP(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 3, &null));
            if (!matches(wanted, read_signal_params(params)))
                continue;
            MemoryContext spi = MemoryContextSwitchTo(caller);
            newest = read_signal(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, name);
            MemoryContextSwitchTo(spi);
        }
        SPI_freetuptable(SPI_tuptable);
    } while (!newest && SPI_processed > 0);
    SPI_cursor_close(cursor);
    AtEOXact_GUC(true, settings_level);
    PopActiveSnapshot();
    as_owner.end();
    return newest;
}

// The value of a gate: {"name", "seq", "params", "payload", "sent"}. Steps do not use the payload.
Jsonb *value_of(const Signal &signal, bool with_payload = true) {
    const Datum sent = TimestampTzGetDatum(signal.sent);
    char *time = static_cast<char *>(palloc(MAXDATELEN + 1));
    JsonEncodeDateTime(time, sent, TIMESTAMPTZOID, nullptr);
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push(&state, "name", json::of_text(view(signal.name)));
    json::push(&state, "seq", json::of_whole(signal.id));
    json::push(&state, "sent", json::of_text(time));
    json::push(&state, "params", json::of_json(signal.params));
    if (with_payload)
        json::push(&state, "payload", json::of_json(signal.payload));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
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
    NameData sender{};
    namestrcpy(&sender, GetUserNameFromId(GetUserId(), false));
    std::array<Oid, 5> types{TEXTOID, NAMEOID, TEXTOID, JSONBOID, JSONBOID};
    std::array<Datum, 5> values{PointerGetDatum(request.name), NameGetDatum(&sender),
                                PointerGetDatum(request.request_id), PointerGetDatum(request.params),
                                PointerGetDatum(request.payload)};
    const char nulls[] = {' ', ' ', request.request_id == nullptr ? 'n' : ' ', ' ',
                          request.payload == nullptr ? 'n' : ' '};
    std::optional<Signal> signal;
    bool null = false;
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&insert_statement,
               "insert into scylla.signal_sent (name, sender, request_id, params, payload) values ($1, $2, $3, $4, $5) "
               "on conflict (name, request_id) where request_id is not null do nothing returning id, sent",
               types, values, nulls, SPI_OK_INSERT_RETURNING);
    if (SPI_processed > 0)
        signal =
            Signal{.id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null)),
                   .name = request.name,
                   .sent = DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &null)),
                   .params = request.params,
                   .payload = request.payload};
    else {
        store::run(&request_statement,
                   "select id from scylla.signal_sent where name operator(pg_catalog.=) $1 "
                   "and request_id operator(pg_catalog.=) $3",
                   types, values, nulls, SPI_OK_SELECT);
        *used = SPI_processed > 0 ? DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null))
                                  : 0;
    }
    as_owner.end();
    return signal;
}

std::optional<Signal> find_signal(int64 id) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(id)};
    MemoryContext caller = CurrentMemoryContext;
    std::optional<Signal> signal;
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&signal_statement,
               "select id, sent, params, payload, name from scylla.signal_sent where id operator(pg_catalog.=) $1",
               types, values, nullptr, SPI_OK_SELECT);
    if (SPI_processed > 0) {
        bool null = false;
        MemoryContext spi = MemoryContextSwitchTo(caller);
        text *name = DatumGetTextPCopy(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 5, &null));
        signal = read_signal(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, name);
        MemoryContextSwitchTo(spi);
    }
    as_owner.end();
    return signal;
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
    const auto signal = find_signal(wait.seq);
    if (!signal || !equal(signal->name, wait.name))
        error::no_such_sent_signal(wait.name, wait.seq);
    const int64 id = store::next_task_id();
    end_condition(store, id, {.failed = false, .value = value_of(*signal)}, now);
    return id;
}

// Triggers see the signal when it is committed: one row for any number of triggers. Whether there is a trigger is read
// with the latest snapshot, not with that of the transaction.
void note_for_triggers(const Signal &signal) {
    std::array<Oid, 2> types{INT8OID, TEXTOID};
    std::array<Datum, 2> values{Int64GetDatum(signal.id), PointerGetDatum(signal.name)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::prepare(&trigger_statement,
                   "insert into scylla.signal_unseen select $1 where exists "
                   "(select from scylla.signal_trigger_input where name operator(pg_catalog.=) $2)",
                   types);
    Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
    const int code =
        SPI_execute_snapshot(trigger_statement, values.data(), nullptr, latest, InvalidSnapshot, false, false, 0);
    if (code != SPI_OK_INSERT)
        elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(code));
    const bool has_triggers = SPI_processed > 0;
    UnregisterSnapshot(latest);
    as_owner.end();
    if (has_triggers)
        shmem::note_time(shmem::Timer::trigger, signal.sent);
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
    note_for_triggers(*signal);
    return signal->id;
}

std::optional<SentSignal> find_sent(int64 seq) {
    const auto signal = find_signal(seq);
    if (!signal)
        return std::nullopt;
    return SentSignal{signal->name, signal->params, value_of(*signal)};
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

bool has_signal(int64 id) { return find_signal(id).has_value(); }

Sight announce_again(Store &store, store::Dirty *dirty, int64 id, TimestampTz now, bool *changed) {
    const auto signal = find_signal(id);
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
