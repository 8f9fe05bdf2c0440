#include "plan/numbers.h"

#include "store/check_rows.h"
#include "store/condition_rows.h"
#include "store/plan/callbacks.h"
#include "store/pool_rows.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

struct QueuedTask {
    int64 id;
    int32 queue;

    auto operator<=>(const QueuedTask &) const = default;
};

struct Tally {
    HTAB *queues;                 // of WaitNumbers
    Growing<QueuedTask> deferred; // a task that waits for several things may be there several times
};

Tally begin_tally() {
    HASHCTL control{};
    control.keysize = sizeof(int32);
    control.entrysize = sizeof(WaitNumbers);
    control.hcxt = CurrentMemoryContext;
    return {hash_create("scylla waiting tasks by queue", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT), {}};
}

WaitNumbers &numbers_of(const Tally &tally, int32 queue) {
    bool found = false;
    auto *numbers = static_cast<WaitNumbers *>(hash_search(tally.queues, &queue, HASH_ENTER, &found));
    if (!found)
        *numbers = {.queue = queue};
    return *numbers;
}

// ---- conditions that have not ended --------------------------------------------------------------------------------

std::span<const int64> signal_conditions(Store &store) {
    Growing<int64> ids;
    store::Scan scan = scan_all(store, TableId::signal_condition);
    while (next(scan))
        if (const auto id = id_for_gates(scan))
            ids.add(*id);
    end(scan);
    return ids.all();
}

std::span<const int64> live_checks(Store &store) {
    Growing<int64> ids;
    store::Scan scan = scan_checks_after(store, 0);
    while (next(scan))
        ids.add(check_id(scan));
    end(scan);
    return ids.all();
}

// ---- counting ------------------------------------------------------------------------------------------------------

// The tasks that have a gate on one of the conditions. A gate whose time is over holds up nobody.
Growing<int64> tasks_behind(Store &store, std::span<const int64> conditions) {
    Growing<int64> tasks;
    if (conditions.empty())
        return tasks;
    const TimestampTz now = GetCurrentTimestamp();
    store::Scan gates = scan_dependants(store, 0);
    for (const int64 condition : conditions) {
        restart_dependants(gates, condition);
        while (next(gates)) {
            const store::GateHead gate = gate_head(gates);
            if (!gate.deadline || *gate.deadline > now)
                tasks.add(gate.task);
        }
    }
    end(gates);
    sort_once(tasks);
    return tasks;
}

void count_waiters(Store &store, Tally *tally, std::span<const int64> conditions, int64 WaitNumbers::*number) {
    WaitNumbers *last = nullptr;
    for (const store::GateWaiter &waiter : find_gate_waiters(store, tasks_behind(store, conditions).all())) {
        if (last == nullptr || last->queue != waiter.queue)
            last = &numbers_of(*tally, waiter.queue);
        (last->*number)++;
        if (waiter.attempt > 0)
            tally->deferred.add({waiter.id, waiter.queue});
    }
}

void count_once(const Tally &tally, Growing<QueuedTask> tasks, int64 WaitNumbers::*number) {
    sort_once(tasks);
    for (const QueuedTask &task : tasks.all())
        (numbers_of(tally, task.queue).*number)++;
}

// A task may be in the lines of several pools.
void count_lines(Store &store, const Tally &tally) {
    Growing<QueuedTask> tasks;
    store::Scan scan = scan_all(store, TableId::line);
    while (next(scan)) {
        const store::LineHead line = line_head(scan);
        tasks.add({line.task, line.queue});
    }
    end(scan);
    count_once(tally, tasks, &WaitNumbers::pools);
}

void count_asked(Store &store, const Tally &tally, std::span<const int64> checks) {
    const RowMemory memory = begin_row_memory();
    for (const int64 check : checks) {
        if (const auto spec = find_next_spec(store, check, store::With::no_spec))
            numbers_of(tally, spec->queue).asked++;
        reset(memory);
    }
    end(memory);
}

std::span<const WaitNumbers> by_queue(const Tally &tally) {
    Growing<WaitNumbers> numbers;
    HASH_SEQ_STATUS status;
    hash_seq_init(&status, tally.queues);
    while (const auto *of = static_cast<const WaitNumbers *>(hash_seq_search(&status)))
        numbers.add(*of);
    std::sort(numbers.at, numbers.at + numbers.count,
              [](const WaitNumbers &a, const WaitNumbers &b) { return a.queue < b.queue; });
    return numbers.all();
}

} // namespace

std::span<const WaitNumbers> read_wait_numbers(Store &store) {
    Tally tally = begin_tally();
    const std::span<const int64> checks = live_checks(store);
    count_waiters(store, &tally, signal_conditions(store), &WaitNumbers::signals);
    count_waiters(store, &tally, store::callbacks::open(), &WaitNumbers::callbacks);
    count_waiters(store, &tally, checks, &WaitNumbers::checks);
    count_once(tally, tally.deferred, &WaitNumbers::deferred);
    count_lines(store, tally);
    count_asked(store, tally, checks);
    return by_queue(tally);
}

} // namespace scylla
