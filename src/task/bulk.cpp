#include "task/bulk.h"

#include "pg/memory.h"
#include "pg/text.h"
#include "shmem/pending.h"
#include "task/gates.h"
#include "task/history.h"
#include "task/release.h"
#include "task/rights.h"

namespace scylla {

using model::Status;
using store::Store;

namespace {

struct Collected {
    Bulk *bulk;
    MemoryContext context;
};

bool collect(void *to, Store &, const Task &task, const Cursor &cursor) {
    auto *into = static_cast<Collected *>(to);
    const MemoryContext caller = MemoryContextSwitchTo(into->context);
    into->bulk->tasks.add({.id = task.spec.id,
                           .rn = DatumGetTextPCopy(PointerGetDatum(task.spec.rn)),
                           .cursor = cursor,
                           .status = task.status,
                           .problem = nullptr});
    MemoryContextSwitchTo(caller);
    return true;
}

int compare(const text *a, const text *b) { return view(a).compare(view(b)); }

// By name, as in all batches: so two of them cannot deadlock.
extern "C" int compare_bulk_tasks(const void *a, const void *b) {
    return compare((*static_cast<BulkTask *const *>(a))->rn, (*static_cast<BulkTask *const *>(b))->rn);
}

std::span<BulkTask *> sorted(const Bulk &bulk) {
    const auto order = allocate<BulkTask *>(bulk.tasks.count);
    for (std::size_t i = 0; i < order.size(); i++)
        order[i] = &bulk.tasks[i];
    // NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is sorted
    qsort(order.data(), order.size(), sizeof(BulkTask *), compare_bulk_tasks);
    return order;
}

bool cancel_now(Store &store, const Task &task, TimestampTz now) {
    if (take_live(store, task, Wait::no) != store::Taken::ok)
        return false;
    const Final end{.status = Status::cancelled,
                    .progress = task.progress,
                    .owner = task.owner,
                    .leased = task.leased,
                    .carry = task.carry};
    make_final(store, task.spec, end, now);
    return true;
}

bool yield_now(Store &store, const Task &task, TimestampTz now) {
    const auto lease = find_lease(store, task.spec.id);
    if (!lease || take_live(store, task, Wait::no) != store::Taken::ok)
        return false;
    shmem::count(stat_id(task.spec.queue), shmem::Count::yielded);
    make_ready(store, task.spec, carry_on(*lease, Ending::yield, now), now);
    return true;
}

// What cannot be done with it as it is; null: nothing.
const char *obstacle(BulkVerb verb, const Task &task) {
    if (verb == BulkVerb::cancel)
        return model::is_final(task.status) ? "It has ended." : nullptr;
    return task.status == Status::running ? nullptr : "It is not running any more.";
}

void carry_out(Store &store, BulkVerb verb, BulkTask &item) {
    const auto spec = find_spec(store, item.id, store::With::spec);
    const auto task = spec ? find_task(store, *spec) : std::nullopt;
    if (!task) {
        item.problem = "It has been removed.";
        return;
    }
    item.status = task->status;
    const TimestampTz now = GetCurrentTimestamp();
    const bool cancels = verb == BulkVerb::cancel;
    if (!rights::may(store, spec->queue, cancels ? model::Privilege::submit : model::Privilege::work))
        item.problem = cancels ? "This needs the privilege \"submit\" on its queue."
                               : "This needs the privilege \"work\" on its queue.";
    else if (const char *why = obstacle(verb, *task))
        item.problem = why;
    else if (cancels ? cancel_now(store, *task, now) : yield_now(store, *task, now))
        item.status = cancels ? Status::cancelled : Status::ready;
    else
        item.problem = "Somebody else is changing it.";
}

} // namespace

Bulk find_bulk(Store &store, const TaskFilter &filter, const std::optional<Cursor> &after, const FindLimits &limits) {
    Bulk bulk{};
    Collected into{&bulk, CurrentMemoryContext};
    bulk.next = find_tasks(store, filter, after, limits, {collect, &into});
    return bulk;
}

void carry_out(Store &store, BulkVerb verb, Bulk &bulk) {
    const auto order = sorted(bulk);
    const RowMemory memory = begin_row_memory();
    // All of them before what depends on them is looked at: they are cancelled, and not aborted for a cancelled
    // provider.
    for (BulkTask *item : order) {
        CHECK_FOR_INTERRUPTS();
        carry_out(store, verb, *item);
        reset(memory);
    }
    end(memory);
    settle_gates(store, GetCurrentTimestamp());
}

} // namespace scylla
