#include "task/checks.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "shmem/pending.h"
#include "store/memo_rows.h"
#include "task/change.h"
#include "task/gates.h"
#include "task/history.h"
#include "task/release.h"
#include "task/rights.h"
#include "task/submit.h"

extern "C" {
#include "common/cryptohash.h"
#include "common/sha2.h"
}

namespace scylla {

using model::Status;
using store::CheckRow;
using store::Dirty;
using store::GateRow;
using store::Sight;
using store::SpecRow;
using store::Store;
using store::TableId;
using store::Taken;

namespace {

// ---- what is asked -------------------------------------------------------------------------------------------------

void add(pg_cryptohash_ctx *hash, const void *bytes, std::size_t size) {
    if (pg_cryptohash_update(hash, static_cast<const uint8 *>(bytes), size) < 0)
        elog(ERROR, "could not compute a digest: %s", pg_cryptohash_error(hash));
}

// With its size before it, so that no two sequences of parts are the same bytes.
void add_part(pg_cryptohash_ctx *hash, char kind, const void *bytes, std::size_t size) {
    add(hash, &kind, sizeof(kind));
    add(hash, &size, sizeof(size));
    add(hash, bytes, size);
}

// Equal numbers may show different numbers of decimals: 1 and 1.0.
void add_number(pg_cryptohash_ctx *hash, Numeric number) {
    constexpr std::size_t k_scale = 3 * sizeof(int16); // where numeric_send() has it: the fourth number
    bytea *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send, NumericGetDatum(number)));
    const char *bytes = VARDATA_ANY(sent);
    const std::size_t size = VARSIZE_ANY_EXHDR(sent);
    add_part(hash, '#', bytes, k_scale);
    add_part(hash, '.', bytes + k_scale + sizeof(int16), size - k_scale - sizeof(int16));
    pfree(sent);
}

void add_scalar(pg_cryptohash_ctx *hash, const JsonbValue &value) {
    switch (value.type) {
    case jbvString:
        return add_part(hash, 's', value.val.string.val, static_cast<std::size_t>(value.val.string.len));
    case jbvNumeric:
        return add_number(hash, value.val.numeric);
    case jbvBool:
        return add_part(hash, value.val.boolean ? 't' : 'f', nullptr, 0);
    case jbvNull:
        return add_part(hash, 'n', nullptr, 0);
    default:
        elog(ERROR, "unexpected kind %d of a value in jsonb", static_cast<int>(value.type));
    }
}

// jsonb has its keys in an order of its own, so equal values come in the same order.
void add_json(pg_cryptohash_ctx *hash, Jsonb *json) {
    JsonbIterator *iterator = JsonbIteratorInit(&json->root);
    JsonbValue value;
    for (JsonbIteratorToken token; (token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE;) {
        CHECK_FOR_INTERRUPTS();
        if (token == WJB_KEY)
            add_part(hash, 'k', value.val.string.val, static_cast<std::size_t>(value.val.string.len));
        else if (token == WJB_VALUE || token == WJB_ELEM)
            add_scalar(hash, value);
        else
            add_part(hash, static_cast<char>('0' + token),
                     token == WJB_BEGIN_ARRAY && value.val.array.rawScalar ? "!" : nullptr,
                     token == WJB_BEGIN_ARRAY && value.val.array.rawScalar ? 1 : 0);
    }
}

bytea *digest_of(int32 queue, Jsonb *spec) {
    auto *digest = static_cast<bytea *>(palloc(VARHDRSZ + PG_SHA256_DIGEST_LENGTH));
    SET_VARSIZE(digest, VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
    pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
    if (hash == nullptr || pg_cryptohash_init(hash) < 0)
        elog(ERROR, "could not begin to compute a digest");
    add(hash, &queue, sizeof(queue));
    add_json(hash, spec);
    if (pg_cryptohash_final(hash, reinterpret_cast<uint8 *>(VARDATA(digest)), PG_SHA256_DIGEST_LENGTH) < 0)
        elog(ERROR, "could not compute a digest: %s", pg_cryptohash_error(hash));
    pg_cryptohash_free(hash);
    return digest;
}

// ---- joining -------------------------------------------------------------------------------------------------------

// A live check that asks this, held so that it is not taken for unused.
std::optional<int64> join(Store &store, Dirty *dirty, const bytea *digest, int64 waiter) {
    CheckRow row;
    walk_checks(dirty, digest);
    for (Sight sight; (sight = next_check(dirty, &row)) != Sight::absent;) {
        if (sight != Sight::present || row.id == waiter ||
            (!is_own_check(dirty) && try_hold(store[TableId::check], row.tid, store.snapshot) != Taken::ok))
            continue;
        Status status;
        SpecRow check;
        if (see_outcome(dirty, row.id, &status) == Sight::absent && see_spec(dirty, row.id, &check) == Sight::present)
            return row.id;
    }
    return std::nullopt;
}

} // namespace

void require_check_queue(Store &store, text *queue) {
    rights::require(store, queue_to_submit(store, queue), model::Privilege::depend);
}

int64 check_for(Store &store, Dirty *dirty, const SpecRow &waiter, const WaitFor &wait) {
    const auto queue = find_queue(store, wait.name);
    if (!queue)
        error::no_such_queue(wait.name);
    bytea *digest = digest_of(queue->id, wait.question);
    if (const auto joined = join(store, dirty, digest, waiter.id))
        return *joined;
    Submission question{.queue = wait.name, .spec = wait.question, .priority = waiter.priority, .rn = nullptr};
    question.is_check = true;
    const Task check = submit(store, question, IfTaken::refuse);
    if (!model::is_final(check.status)) // it has ended at once if the queue has no room
        insert(store, CheckRow{.id = check.spec.id, .digest = digest, .tid = {}});
    return check.spec.id;
}

void hasten_check(Store &store, Dirty *dirty, const SpecRow &waiter, const WaitFor &wait, int64 check,
                  TimestampTz now) {
    SpecRow spec;
    if (see_spec(dirty, check, &spec) == Sight::present && spec.priority < waiter.priority)
        return shmem::note_recheck(check);
    if (!wait.every)
        return;
    store::WaitingRow waiting;
    const Sight sight = see_waiting(dirty, check, &waiting);
    if (sight == Sight::in_doubt || find_lease(store, check) ||
        (sight == Sight::present && waiting.due && *waiting.due > now + *wait.every))
        shmem::note_recheck(check);
}

namespace {

// ---- its waiters ---------------------------------------------------------------------------------------------------

// k_all: so many of its waiters, the newest first, determine how often a check is asked. k_newest: so many are looked
// at when new ones have come.
constexpr int64 k_all = 10'000;
constexpr int64 k_newest = 100;

// Whether the task of the gate still waits for it.
bool is_live(Dirty *dirty, const GateRow &gate, TimestampTz now) {
    if (gate.limit && gate.limit->deadline <= now)
        return false;
    store::WaitingRow waiting;
    const Sight sight = see_waiting(dirty, gate.task, &waiting);
    return sight == Sight::in_doubt || (sight == Sight::present && waits_for_gates(waiting));
}

// Whether a task waits for the check, or another transaction is making one wait. The task that was found last is tried
// first, then the others.
bool is_used(Store &store, Dirty *dirty, int64 check, TimestampTz now) {
    const GateRow *before = recall_closed(store, check);
    if (before != nullptr)
        if (const auto gate = find_again(dirty, *before); gate && is_live(dirty, *gate, now))
            return true;
    const int64 after = before != nullptr ? before->task : 0;
    const std::array<std::pair<int64, int64>, 2> ranges{{{after, PG_INT64_MAX}, {0, after + 1}}};
    for (const auto &[from, to] : ranges) {
        GateRow gate;
        walk_dependants(dirty, check, from, to);
        for (Sight sight; (sight = next_dependant(dirty, &gate)) != Sight::absent;) {
            CHECK_FOR_INTERRUPTS();
            if (sight == Sight::in_doubt || is_live(dirty, gate, now)) {
                remember_closed(store, check, gate);
                return true;
            }
        }
    }
    return false;
}

// What the newest waiters want.
struct Wish {
    std::optional<int64> every;
    int16 priority;
};
enum class Ask : bool { every, all };

Wish wish_of(Dirty *dirty, int64 check, int64 most, Ask ask, TimestampTz now) {
    Wish wish{{}, 0};
    GateRow gate;
    SpecRow waiter;
    const RowMemory memory = begin_row_memory();
    walk_newest_dependants(dirty, check);
    for (int64 seen = 0; seen < most && next_newest_dependant(dirty, &gate) != Sight::absent; seen++, reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        const bool sooner = gate.every && (!wish.every || *gate.every < *wish.every);
        if ((!sooner && ask == Ask::every) || !is_live(dirty, gate, now))
            continue;
        if (sooner)
            wish.every = gate.every;
        if (ask == Ask::all && see_spec(dirty, gate.task, &waiter) == Sight::present)
            wish.priority = Max(wish.priority, waiter.priority);
    }
    end(memory);
    return wish;
}

// ---- what becomes of it --------------------------------------------------------------------------------------------

// Cancels a check that nothing waits for. A worker that runs it notices as with cancel().
Sight end_unused(Store &store, Dirty *dirty, const SpecRow &check, TimestampTz now, bool *changed) {
    const auto row = find_check(store, check.id);
    if (remove_check(store, check.id, store::Waiting::no) == Taken::busy)
        return Sight::in_doubt; // another transaction is joining it
    const auto put_back = [&] {
        if (row)
            insert(store, *row);
    };
    if (is_used(store, dirty, check.id, now)) {
        put_back();
        return Sight::present;
    }
    const auto task = find_task(store, check);
    if (!task || model::is_final(task->status) || take_live(store, *task, Wait::no) != Taken::ok) {
        put_back();
        return Sight::in_doubt;
    }
    store::Carry carry = task->carry;
    carry.errors = add_error(carry.errors, make_error("check-unused", "nobody waits for the answer any longer"));
    SpecRow removed = check;
    removed.is_check = false; // its row is gone
    make_final(store, removed,
               {.status = Status::cancelled,
                .progress = task->progress,
                .owner = task->owner,
                .leased = task->leased,
                .carry = carry},
               now);
    *changed = true;
    return Sight::present;
}

// A check that has answered "not yet" is asked earlier. The row keeps the time of the answer.
Sight ask_sooner(Store &store, int64 check, int64 every, TimestampTz now, bool *changed) {
    auto row = find_waiting(store, check);
    const auto memo = row && row->due && !row->expiring ? store::find_memo(store, check) : std::nullopt;
    if (!memo || memo->answered != row->updated)
        return Sight::present; // it does not wait on account of its answer
    const TimestampTz due = Max(now, row->updated + every);
    if (due >= *row->due)
        return Sight::present;
    if (remove(store[TableId::waiting], row->tid, store.snapshot, false) != Taken::ok)
        return Sight::in_doubt;
    row->due = due;
    insert(store, *row);
    shmem::note_time(shmem::Timer::due, due);
    *changed = true;
    return Sight::present;
}

} // namespace

std::optional<int64> check_interval(Store &store, int64 check, TimestampTz now) {
    Dirty *dirty = begin_dirty(store);
    const Wish wish = wish_of(dirty, check, k_all, Ask::every, now);
    end(dirty);
    return wish.every;
}

void leave_checks(Store &store, int64 waiter) {
    if (store::is_empty(store[TableId::check]))
        return;
    Dirty *dirty = begin_dirty(store);
    GateRow gate;
    Status status;
    walk_gates(dirty, waiter, -1, PG_INT32_MAX);
    while (next_gate(dirty, &gate) != Sight::absent)
        if (gate.kind == store::GateKind::check && see_outcome(dirty, gate.provider, &status) == Sight::absent)
            shmem::note_recheck(gate.provider);
    end(dirty);
}

Sight tend_check(Store &store, Dirty *dirty, const SpecRow &check, TimestampTz now, bool *changed) {
    if (!is_used(store, dirty, check.id, now))
        return end_unused(store, dirty, check, now, changed);
    const Wish wish = wish_of(dirty, check.id, k_newest, Ask::all, now);
    if (wish.priority > check.priority)
        return raise_priority(store, check.id, wish.priority, changed) ? Sight::present : Sight::in_doubt;
    return wish.every ? ask_sooner(store, check.id, *wish.every, now, changed) : Sight::present;
}

namespace {

constinit int64 looked_until = 0; // how far the walk is: the id of a check, 0 at its end

void look_at_checks(Store &store, DutyTurn &turn) {
    bool changed = false;
    Dirty *dirty = begin_dirty(store);
    walk_portion(turn, &looked_until, scan_checks_after(store, looked_until), [&](const store::Scan &scan) {
        const int64 id = check_row(scan).id;
        const auto spec = find_spec(store, id, store::With::no_spec); // there is none while it is being restored
        Status status;
        const Sight ended = see_outcome(dirty, id, &status);
        if (spec && ended == Sight::present) // a transaction was joining it when it ended
            (void)remove_check(store, id, store::Waiting::no);
        else if (spec && ended == Sight::absent &&
                 tend_check(store, dirty, *spec, turn.now, &changed) == Sight::in_doubt)
            shmem::note_recheck(id);
        return id;
    });
    end(dirty);
    settle_gates(store, turn.now);
}

} // namespace

void register_check_duty() {
    register_duty({.activity = "looking at checks",
                   .work = look_at_checks,
                   .pause = 60 * model::k_second,
                   .share = 50,
                   .is_second_way = true,
                   .restart = [] { looked_until = 0; }});
}

} // namespace scylla
