#include "verbs/ready_scan.h"

#include "pg/memory.h"
#include "settings.h"
#include "shmem/pending.h"

namespace scylla {

using store::Store;
using store::TableId;

struct ReadyScan {
    Store *store;
    MemoryContext context; // in which it began
    shmem::HeadKey key;
    shmem::HeadView view;
    shmem::HeadFindings findings;

    int priority;      // the one being scanned; without heads: -1, all in one scan
    int returned;      // the next of view.returned to be looked at
    int64 start;       // where the range of this priority begins
    bool in_range;     // the range scan is open
    store::Scan range;

    // The row given last.
    int64 id;
    int from_returned; // its index in view.returned, or -1
    bool passed;
};

namespace {

constexpr int64 k_step_interval = USECS_PER_SEC;
constexpr int64 k_step_time = 1000;      // microseconds that one step of the derivation may take
constexpr int64 k_quick_window = 200;    // a window that took less is followed by a larger one
constexpr int64 k_max_window = int64{1} << 40;

bool marked(const shmem::HeadView &view, int priority) {
    const auto p = static_cast<std::size_t>(priority);
    return (view.nonempty[p / 64] >> (p % 64) & 1) != 0;
}

bool is_returned(const shmem::HeadView &view, int priority, int64 id) {
    for (int i = 0; i < view.returned_count; i++) {
        const shmem::Returned &entry = view.returned[static_cast<std::size_t>(i)];
        if (entry.priority == priority && entry.id == id)
            return true;
    }
    return false;
}

// One window of the derivation: rows from step.from on that are below the frontier and not among the returned are told. Rows
// of a priority that is marked as empty are told wherever they are. Returns the next place.
shmem::Step derive_window(Store &store, const shmem::HeadKey &key, const shmem::HeadView &view, shmem::Step step) {
    const int64 frontier = view.frontier[static_cast<std::size_t>(step.priority)];
    const int64 to = Min(step.from + step.window, frontier);
    const auto tell_unknown = [&](int64 from, int64 before, bool one) {
        store::Scan scan = scan_ready_range(store, key.queue, step.priority, from, before);
        while (next(scan)) {
            const int64 id = store::ready_id(scan);
            if (!is_returned(view, step.priority, id))
                shmem::tell(key, step.priority, id, id);
            if (one)
                break;
        }
        end(scan);
    };
    if (step.from < to)
        tell_unknown(step.from, to, false);
    if (to < frontier)
        return {step.priority, to, step.window};
    if (!marked(view, step.priority))
        tell_unknown(frontier, PG_INT64_MAX, true);
    return {static_cast<int16>(step.priority - 1), 0, step.window};
}

// If the last step is long enough ago: as many windows as fit into the time of a step.
void derive(Store &store, const shmem::HeadKey &key, TimestampTz now) {
    auto step = shmem::claim_step(key, now, k_step_interval);
    if (!step)
        return;
    shmem::HeadView view;
    look(key, &view);
    refresh(store);
    TimestampTz began = GetCurrentTimestamp();
    const TimestampTz until = began + k_step_time;
    while (step->priority >= 0 && began < until) {
        const int16 priority = step->priority;
        *step = derive_window(store, key, view, *step);
        const TimestampTz ended = GetCurrentTimestamp();
        if (step->priority == priority)
            step->window = ended - began < k_quick_window ? Min(step->window * 2, k_max_window)
                                                          : Max(step->window / 2, int64{1} << 10);
        began = ended;
    }
    advance(key, *step);
}

// Goes to the next priority that may have ready tasks. False: there is none.
bool next_priority(ReadyScan *scan) {
    while (--scan->priority >= 0) {
        const auto own = shmem::own_lowest(scan->key.file, scan->key.queue, static_cast<int16>(scan->priority));
        if (!marked(scan->view, scan->priority) && own.made == 0)
            continue;
        const auto p = static_cast<std::size_t>(scan->priority);
        scan->start = scan->view.frontier[p];
        if (own.made != 0)
            scan->start = Min(scan->start, own.made);
        scan->findings.own[p] = own.made != 0 || own.taken != 0;
        return true;
    }
    return false;
}

// The next of the returned ids of the present priority that is there; those that are not are noted as gone.
bool next_returned(ReadyScan *scan, store::ReadyRow *row) {
    while (scan->returned < scan->view.returned_count) {
        const auto i = static_cast<std::size_t>(scan->returned);
        const shmem::Returned &entry = scan->view.returned[i];
        if (entry.priority < scan->priority)
            return false;
        scan->returned++;
        if (entry.priority > scan->priority)
            continue; // its priority was not marked: a telling that is only half seen cannot be, but a hint is a hint
        if (const auto found = find_ready(*scan->store, scan->key.queue, entry.priority, entry.id)) {
            *row = *found;
            scan->from_returned = static_cast<int>(i);
            return true;
        }
        scan->findings.gone[i] = !scan->findings.own[static_cast<std::size_t>(scan->priority)];
    }
    return false;
}

// The next row of the range of the present priority.
bool next_in_range(ReadyScan *scan, store::ReadyRow *row) {
    if (!scan->in_range) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        scan->range = scan->priority < 0 ? scan_ready(*scan->store, scan->key.queue)
                                         : scan_ready_range(*scan->store, scan->key.queue,
                                                            static_cast<int16>(scan->priority), scan->start, PG_INT64_MAX);
        MemoryContextSwitchTo(caller);
        scan->in_range = true;
    }
    while (next(scan->range)) {
        *row = ready_row(scan->range);
        if (is_returned(scan->view, row->priority, row->id))
            continue; // seen already
        scan->from_returned = -1;
        return true;
    }
    end(scan->range);
    scan->in_range = false;
    return false;
}

// What the row given last means for the frontier.
void settle_last(ReadyScan *scan) {
    if (scan->id == 0 || scan->priority < 0)
        return;
    const auto p = static_cast<std::size_t>(scan->priority);
    if (scan->from_returned >= 0)
        scan->findings.gone[static_cast<std::size_t>(scan->from_returned)] = scan->passed;
    else if (!scan->passed && scan->findings.first_left[p] == 0)
        scan->findings.first_left[p] = scan->id;
    scan->id = 0;
}

bool give(ReadyScan *scan, const store::ReadyRow &row) {
    scan->id = row.id;
    scan->passed = false;
    return true;
}

} // namespace

shmem::HeadKey head_key(Store &store, int32 queue) {
    return {MyDatabaseId, compat::file_number(store[TableId::ready].rel), queue};
}

ReadyScan *begin_ready(Store &store, int32 queue, TimestampTz now) {
    auto *scan = static_cast<ReadyScan *>(palloc0(sizeof(ReadyScan)));
    scan->store = &store;
    scan->context = CurrentMemoryContext;
    scan->key = head_key(store, queue);
    derive(store, scan->key, now);
    look(scan->key, &scan->view); // before the snapshot
    refresh(store);
    scan->priority = -1;
    scan->from_returned = -1;
    if (scan->view.valid && !shmem::own_unknown()) {
        scan->priority = static_cast<int>(shmem::k_priorities);
        if (!next_priority(scan))
            scan->priority = -2; // nothing anywhere
    } else
        scan->view.valid = false;
    return scan;
}

bool next_ready(ReadyScan *scan, store::ReadyRow *row) {
    settle_last(scan);
    if (scan->priority == -1)
        return next_in_range(scan, row);
    while (scan->priority >= 0) {
        if (!scan->in_range && next_returned(scan, row))
            return give(scan, *row);
        if (next_in_range(scan, row))
            return give(scan, *row);
        scan->findings.exhausted[static_cast<std::size_t>(scan->priority)] = true;
        if (!next_priority(scan))
            scan->priority = -2;
    }
    return false;
}

int64 count_ready(Store &store, int32 queue, int64 limit, TimestampTz now) {
    ReadyScan *scan = begin_ready(store, queue, now);
    const RowMemory memory = begin_row_memory();
    store::ReadyRow row;
    int64 count = 0;
    for (; count < limit && next_ready(scan, &row); reset(memory))
        switch (store::standing(store[TableId::ready], row.tid)) {
        case store::Taken::ok:
            count++;
            break;
        case store::Taken::busy:
            break;
        case store::Taken::gone:
            pass(scan);
            break;
        }
    end(memory);
    end_ready(scan);
    return count;
}

void pass(ReadyScan *scan) { scan->passed = true; }

void end_ready(ReadyScan *scan) {
    settle_last(scan);
    if (scan->in_range)
        end(scan->range);
    report(scan->key, scan->view, scan->findings);
    pfree(scan);
}

} // namespace scylla
