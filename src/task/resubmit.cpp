#include "task/resubmit.h"

#include "model/bounds.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "store/task/copies.h"
#include "store/memo_rows.h"
#include "task/change.h"
#include "task/history.h"
#include "task/names.h"
#include "task/rights.h"
#include "task/submit.h"

namespace scylla {

using model::Status;
using store::SpecRow;
using store::Store;
using store::TableId;

namespace {

// The tasks that a call copies, by their ids.
struct Originals {
    std::span<const SpecRow> rows;
    std::span<const Submission> copies; // as far as they are made
};

const SpecRow *find(std::span<const SpecRow> rows, int64 id) {
    const auto *found = std::lower_bound(rows.data(), rows.data() + rows.size(), id,
                                         [](const SpecRow &row, int64 wanted) { return row.id < wanted; });
    return found != rows.data() + rows.size() && found->id == id ? found : nullptr;
}

// The task that a copy depends on where its original depended on this one.
text *provider_name(Store &store, const SpecRow &dependant, int64 provider) {
    const auto spec = find_spec(store, store::copies::newest(provider).value_or(provider), store::With::no_spec);
    if (!spec)
        error::no_such_provider(nullptr, dependant.rn);
    if (!rights::may_act(store, spec->queue, model::Privilege::depend))
        error::no_such_provider(spec->rn, nullptr);
    return spec->rn;
}

// The copy waits for a check that asks what that of its original has asked.
void ask_again(Store &store, const SpecRow &original, const store::GateRow &gate, WaitFor *wait) {
    const auto check = find_spec(store, gate.provider, store::With::spec);
    if (!check || !queue_of(store, check->queue).row)
        error::no_such_provider(nullptr, original.rn);
    wait->what = WaitFor::What::check;
    wait->name = queue_of(store, check->queue).row->name;
    wait->question = check->spec;
    wait->every = gate.every;
}

// What the copy of a task waits for. Conditions stay as long as a gate names them, so they are there.
std::span<const WaitFor> waits_of(Store &store, const SpecRow &original, const Originals &all) {
    const auto waits = allocate<WaitFor>(static_cast<std::size_t>(original.gates.value_or(0)));
    std::size_t count = 0;
    if (waits.empty())
        return waits;
    const auto outcome = find_outcome(store, original.id);
    const auto deferred = outcome ? last_deferral(outcome->carry.history) : std::nullopt;
    store::Scan scan = scan_gates(store, original.id);
    while (next(scan)) {
        const store::GateRow gate = gate_row(scan);
        if (gate.kind == store::GateKind::plan || gate.kind == store::GateKind::pool)
            continue; // the copy belongs to another plan, and has gates of its own for what it needs
        WaitFor &wait = waits[count++];
        wait = {.what = WaitFor::What::task, .name = original.rn, .on_failure = gate.on_failure};
        if (gate.limit) {
            wait.timeout = gate.limit->deadline - deferred.value_or(original.created);
            wait.on_timeout = gate.limit->on_timeout;
        }
        const SpecRow *other = find(all.rows, gate.provider);
        if (gate.kind == store::GateKind::check)
            ask_again(store, original, gate, &wait);
        else if (gate.kind == store::GateKind::condition) {
            wait.what = WaitFor::What::known;
            wait.known = gate.provider;
        } else
            wait.name = other != nullptr ? all.copies[static_cast<std::size_t>(other - all.rows.data())].rn
                                         : provider_name(store, original, gate.provider);
    }
    end(scan);
    return waits.first(count);
}

text *queue_name(Store &store, int32 queue) {
    const auto &row = queue_of(store, queue).row;
    if (!row)
        elog(ERROR, "queue %d of a task that was found is gone", queue);
    return row->name;
}

// Holds those that are still there, so that none of them is purged, and marks them. Those that are left to be copied.
struct Claimed {
    std::span<const SpecRow> rows;
    std::span<const int64> marked; // those that had no copy
};
Claimed claim(Store &store, std::span<const SpecRow> originals, bool again) {
    const auto ids = allocate<int64>(originals.size());
    std::size_t held = 0;
    for (const SpecRow &row : originals)
        if (hold(store[TableId::spec], row.tid, store.snapshot) == store::Taken::ok)
            ids[held++] = row.id;
    const auto marked = store::copies::mark(ids.first(held));
    const auto wanted = again ? ids.first(held) : marked;
    const auto claimed = allocate<SpecRow>(originals.size());
    std::size_t count = 0;
    for (const SpecRow &row : originals)
        if (std::binary_search(wanted.begin(), wanted.end(), row.id))
            claimed[count++] = row;
    return {claimed.first(count), marked};
}

// A copy begins with what its original waited for last (waits_of()), and so with the state that goes with it.
void copy_state(Store &store, int64 original, const SpecRow &copy) {
    const auto memo = copy.gates ? store::find_memo(store, original) : std::nullopt;
    if (memo && memo->state != nullptr && !store::find_memo(store, copy.id))
        put(store, store::MemoRow{.id = copy.id, .state = memo->state}, std::nullopt);
}

void name_copies(Store &store, std::span<const Copy> copies, std::span<const int64> marked) {
    refresh(store);
    Growing<store::copies::Copy> named;
    for (const Copy &copy : copies)
        if (const auto spec = find_spec(store, copy.new_rn, store::With::no_spec)) {
            if (copy.is_new)
                copy_state(store, copy.original, *spec);
            if (std::binary_search(marked.begin(), marked.end(), copy.original))
                named.add({.original = copy.original, .copy = spec->id});
        }
    store::copies::name(named.all());
    CommandCounterIncrement();
    refresh(store);
}

} // namespace

std::span<const Copy> copy_tasks(Store &store, std::span<const SpecRow> originals, const CopyAs &as) {
    const auto [claimed, marked] = claim(store, originals, as.again);
    const auto tasks = allocate<Submission>(claimed.size());
    const TimestampTz now = GetCurrentTimestamp();
    for (std::size_t i = 0; i < tasks.size(); i++) {
        const SpecRow &row = claimed[i];
        tasks[i] = {.queue = queue_name(store, row.queue),
                    .spec = row.spec,
                    .priority = row.priority,
                    .rn = as.rn != nullptr ? as.rn : make_up_name(now),
                    .max_attempts = row.max_attempts,
                    .plan = as.plan,
                    .retry = row.retry,
                    .dedup_key = row.dedup_key,
                    .key = row.key,
                    .needs = row.needs,
                    .runtime = row.runtime,
                    .run_timeout = row.run_timeout};
    }
    for (std::size_t i = 0; i < tasks.size(); i++)
        tasks[i].waits = waits_of(store, claimed[i], {claimed, tasks});
    const auto answers = submit_many(store, tasks, as.rn != nullptr ? IfTaken::refuse : IfTaken::find);
    const auto copies = allocate<Copy>(claimed.size());
    for (std::size_t i = 0; i < copies.size(); i++)
        copies[i] = {claimed[i].id, claimed[i].rn, answers[i].rn, answers[i].inserted};
    name_copies(store, copies, marked);
    return copies;
}

Task resubmit(Store &store, const text *rn, text *new_rn) {
    for (;; refresh(store)) {
        const SpecRow spec = require_spec(store, rn, model::Privilege::submit);
        const Task task = require_task(store, spec);
        if (!model::is_final(task.status))
            error::not_ended(rn, model::name(task.status), task.owner, task.carry.attempt);
        const CopyAs as{.rn = new_rn != nullptr ? new_rn : make_up_name(GetCurrentTimestamp())};
        if (!copy_tasks(store, {&spec, 1}, as).empty())
            return require_task(store, *find_spec(store, as.rn, store::With::spec));
        refresh(store);
        if (store::copies::is_there(spec.id)) {
            const auto copy = store::copies::newest(spec.id);
            const auto newest = copy ? find_spec(store, *copy, store::With::no_spec) : std::nullopt;
            error::already_resubmitted(rn, newest ? newest->rn : nullptr);
        }
    }
}

void find_ended(Store &store, const EndedFilter &filter, ScanDirection order, const TaskSink &sink) {
    const Datum status = store::status_datum(store, filter.status);
    store::Scan scan = scan_heads(store, TableId::outcome, order == ForwardScanDirection ? 0 : PG_INT64_MAX, order);
    const RowMemory memory = begin_row_memory();
    store::Head head;
    for (int32 found = 0; found < filter.max_tasks && next_head(scan, &head);) {
        if (head.status != status || (filter.queue && head.queue != *filter.queue) ||
            !rights::may(store, head.queue, model::Privilege::view) || !read_row(scan))
            continue;
        reset(memory);
        const store::OutcomeRow row = outcome_row(scan);
        if ((filter.after && row.finished < *filter.after) || (filter.before && row.finished >= *filter.before) ||
            (filter.code != nullptr && !ends_with_error(row.carry.errors, filter.code)) ||
            store::copies::is_there(row.id))
            continue;
        const auto spec = find_spec(store, row.id, store::With::spec);
        if (!spec)
            continue; // being restored
        found++;
        if (!sink.put(sink.to, store, task_of(*spec, row)))
            break;
    }
    end(memory);
    end(scan);
}

namespace {

constinit int64 forgotten_until = 0; // how far the walk is; 0: at the beginning

void forget_copies(Store &, DutyTurn &turn) {
    const auto portion = store::copies::forget(forgotten_until, turn.portion.limit);
    turn.portion.done += portion.gone;
    turn.portion.more = portion.seen == turn.portion.limit;
    forgotten_until = turn.portion.more ? portion.last : 0;
}

} // namespace

void register_copy_duty() {
    register_duty({.activity = "removing marks of resubmitted tasks",
                   .work = forget_copies,
                   .pause = 60 * model::k_second,
                   .is_removal = true,
                   .restart = [] { forgotten_until = 0; }});
}

} // namespace scylla
