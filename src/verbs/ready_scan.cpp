#include "verbs/ready_scan.h"

#include "model/aging.h"
#include "pg/memory.h"
#include "settings.h"
#include "shmem/pending.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

// Goes through the tasks of one priority, oldest first: the returned ones, then the range from the frontier on.
struct Cursor {
    int16 priority;
    int returned;  // the next of view.returned to be looked at
    int64 start;   // where the range begins
    bool in_range; // the range scan is open
    store::Scan range;

    // With aging every priority shows its first task, and the best is given.
    bool has_task;
    int64 id;
    int from_returned;
    double effective;
};

constexpr int k_nothing = -1;

// The row given last, and what became of it.
struct Last {
    bool given;
    int16 priority;
    int64 id;
    int from_returned; // its index in view.returned, or k_nothing
    bool passed;
};

} // namespace

struct ReadyScan {
    Store *store;
    MemoryContext context; // in which it began
    double aging;
    TimestampTz now;
    shmem::HeadKey key;
    shmem::HeadView view;
    shmem::HeadFindings findings;
    bool by_priority;      // false: without heads and without aging, one scan shows everything in order
    int next_priority;     // those above have had their turn
    int count;             // of cursors: with aging one per priority, else the one of the present priority
    Cursor *cursor;
    Last last;
};

namespace {

constexpr int64 k_step_interval = USECS_PER_SEC;     // between two steps of the derivation of a head
constexpr int64 k_empty_step_interval = 10 * 1000; // where a scan has found nothing
constexpr int64 k_step_entries = 4096;            // index entries that one step may look at: about a millisecond

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

// A step of the derivation as it goes on.
struct Derivation {
    Store *store;
    shmem::HeadKey key;
    shmem::HeadView view;
    shmem::Step at;
    int64 entries; // that may still be looked at
    bool told;     // the head has learnt something
};

// Tells the head the rows with ids from at.from to below `before` that it does not know; `one`: the first is enough. True: the
// range is done.
bool derive_range(Derivation &step, int64 before, bool one) {
    bool done = false;
    store::Scan scan = scan_ready_keys(*step.store, step.key.queue, step.at.priority, step.at.from, before);
    while (!done && step.entries-- > 0) {
        int64 id = 0;
        const store::Found found = next_ready_key(scan, &id);
        if (found == store::Found::row && !is_returned(step.view, step.at.priority, id)) {
            shmem::tell(step.key, step.at.priority, id, id);
            step.told = true;
        }
        done = found == store::Found::end || (one && found == store::Found::row);
        if (!done)
            step.at.from = id + 1;
    }
    end(scan);
    return done;
}

// What is below the frontier of the priority and, where it is marked as empty, above.
bool derive_priority(Derivation &step) {
    const int64 frontier = step.view.frontier[static_cast<std::size_t>(step.at.priority)];
    if (step.at.from < frontier && !derive_range(step, frontier, false))
        return false;
    step.at.from = Max(step.at.from, frontier);
    return marked(step.view, step.at.priority) || derive_range(step, PG_INT64_MAX, true);
}

// If the last step is long enough ago, the next one. True: it told the head something.
bool derive(Store &store, const shmem::HeadKey &key, TimestampTz now, int64 interval) {
    const auto at = shmem::claim_step(key, now, interval);
    if (!at)
        return false;
    auto *step = static_cast<Derivation *>(palloc0(sizeof(Derivation)));
    step->store = &store;
    step->key = key;
    step->at = *at;
    step->entries = k_step_entries;
    look(key, &step->view);
    refresh(store);
    while (step->at.priority >= 0 && derive_priority(*step))
        step->at = {static_cast<int16>(step->at.priority - 1), 0};
    advance(key, step->at);
    const bool told = step->told;
    pfree(step);
    return told;
}

// A cursor for the next priority that may have ready tasks. False: there is none.
bool begin_cursor(ReadyScan *scan, Cursor *cursor) {
    while (--scan->next_priority >= 0) {
        const auto priority = static_cast<int16>(scan->next_priority);
        const auto own = shmem::own_lowest(scan->key.file, scan->key.queue, priority);
        if (!marked(scan->view, priority) && own.made == 0)
            continue;
        const auto p = static_cast<std::size_t>(priority);
        *cursor = Cursor{};
        cursor->priority = priority;
        cursor->start = scan->view.frontier[p];
        if (own.made != 0)
            cursor->start = Min(cursor->start, own.made);
        scan->findings.own[p] = own.made != 0 || own.taken != 0;
        return true;
    }
    return false;
}

// The next of the returned ids that is there; those that are not are noted as gone.
bool next_returned(ReadyScan *scan, Cursor *cursor, store::ReadyRow *row) {
    while (cursor->returned < scan->view.returned_count) {
        const auto i = static_cast<std::size_t>(cursor->returned);
        const shmem::Returned &entry = scan->view.returned[i];
        if (entry.priority < cursor->priority)
            return false;
        cursor->returned++;
        // Those at or above the start come with the range, in their order.
        if (entry.priority > cursor->priority || entry.id >= cursor->start)
            continue;
        if (const auto found = find_ready(*scan->store, scan->key.queue, entry.priority, entry.id)) {
            *row = *found;
            cursor->from_returned = static_cast<int>(i);
            return true;
        }
        scan->findings.gone[i] = !scan->findings.own[static_cast<std::size_t>(cursor->priority)];
    }
    return false;
}

void begin_range(ReadyScan *scan, Cursor *cursor) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    cursor->range = scan->by_priority ? scan_ready_range(*scan->store, scan->key.queue, cursor->priority, cursor->start,
                                                         PG_INT64_MAX)
                                      : scan_ready(*scan->store, scan->key.queue);
    MemoryContextSwitchTo(caller);
    cursor->in_range = true;
}

bool next_in_range(ReadyScan *scan, Cursor *cursor, store::ReadyRow *row) {
    if (!cursor->in_range)
        begin_range(scan, cursor);
    if (next(cursor->range)) {
        *row = ready_row(cursor->range);
        cursor->from_returned = k_nothing;
        return true;
    }
    end(cursor->range);
    cursor->in_range = false;
    return false;
}

// The next row of a cursor. False: the cursor has come to its end.
bool next_of(ReadyScan *scan, Cursor *cursor, store::ReadyRow *row) {
    if (!cursor->in_range && next_returned(scan, cursor, row))
        return true;
    if (next_in_range(scan, cursor, row))
        return true;
    scan->findings.exhausted[static_cast<std::size_t>(cursor->priority)] = true;
    return false;
}

// What the row given last means for the frontier.
void settle_last(ReadyScan *scan) {
    const Last &last = scan->last;
    if (!last.given)
        return;
    const auto p = static_cast<std::size_t>(last.priority);
    if (last.from_returned != k_nothing)
        scan->findings.gone[static_cast<std::size_t>(last.from_returned)] = last.passed;
    else if (!last.passed && scan->findings.first_left[p] == 0)
        scan->findings.first_left[p] = last.id;
    scan->last.given = false;
}

// Rows in the order of priority and id.
bool next_plain(ReadyScan *scan, store::ReadyRow *row) {
    Cursor *cursor = &scan->cursor[0];
    for (;;) {
        if (scan->count == 0) {
            if (!scan->by_priority || !begin_cursor(scan, cursor))
                return false;
            scan->count = 1;
        }
        if (next_of(scan, cursor, row)) {
            scan->last = {true, row->priority, row->id, cursor->from_returned, false};
            return true;
        }
        scan->count = 0;
    }
}

// Lets a cursor show its next task.
void show_task(ReadyScan *scan, Cursor *cursor) {
    store::ReadyRow row;
    cursor->has_task = next_of(scan, cursor, &row);
    if (!cursor->has_task)
        return;
    const auto spec = find_spec(*scan->store, row.id, store::With::no_spec);
    cursor->id = row.id;
    cursor->effective = model::effective_priority(row.priority, spec ? scan->now - spec->created : 0, scan->aging);
}

// With aging: the best of the first tasks of all priorities. Within a priority the oldest is the best, so this is exact.
bool next_aged(ReadyScan *scan, store::ReadyRow *row) {
    if (scan->last.given)
        for (int i = 0; i < scan->count; i++)
            if (scan->cursor[i].priority == scan->last.priority)
                show_task(scan, &scan->cursor[i]);
    settle_last(scan);
    Cursor *best = nullptr;
    for (int i = 0; i < scan->count; i++) {
        Cursor *cursor = &scan->cursor[i];
        if (cursor->has_task && (best == nullptr || cursor->effective > best->effective ||
                                 (cursor->effective == best->effective && cursor->id < best->id)))
            best = cursor;
    }
    if (best == nullptr)
        return false;
    const auto found = find_ready(*scan->store, scan->key.queue, best->priority, best->id);
    if (!found)
        elog(ERROR, "ready task " INT64_FORMAT " has vanished from a snapshot", best->id);
    *row = *found;
    scan->last = {true, best->priority, best->id, best->from_returned, false};
    return true;
}

} // namespace

shmem::HeadKey head_key(Store &store, int32 queue) {
    return {MyDatabaseId, compat::file_number(store[TableId::ready].rel), queue};
}

ReadyScan *begin_ready(Store &store, int32 queue, double aging, TimestampTz now, Use use) {
    auto *scan = static_cast<ReadyScan *>(palloc0(sizeof(ReadyScan)));
    scan->store = &store;
    scan->context = CurrentMemoryContext;
    scan->aging = aging;
    scan->cursor = static_cast<Cursor *>(palloc0(sizeof(Cursor) * (aging > 0 ? shmem::k_priorities : 1)));
    scan->now = now;
    scan->key = head_key(store, queue);
    scan->next_priority = static_cast<int>(shmem::k_priorities);
    if (use == Use::heads) {
        derive(store, scan->key, now, k_step_interval);
        look(scan->key, &scan->view); // before the snapshot
        refresh(store);
        scan->view.valid = scan->view.valid && !shmem::own_unknown();
    }
    if (!scan->view.valid) {
        // As a head that knows nothing, and learns nothing.
        scan->view.nonempty = {PG_UINT64_MAX, PG_UINT64_MAX};
        scan->view.frontier = {};
        scan->view.returned_count = 0;
    }
    scan->by_priority = scan->view.valid || aging > 0;
    scan->count = scan->by_priority ? 0 : 1;
    while (aging > 0 && begin_cursor(scan, &scan->cursor[scan->count]))
        show_task(scan, &scan->cursor[scan->count++]);
    return scan;
}

bool next_ready(ReadyScan *scan, store::ReadyRow *row) {
    if (scan->aging > 0)
        return next_aged(scan, row);
    settle_last(scan);
    return next_plain(scan, row);
}

bool find_overlooked(Store &store, int32 queue) {
    return derive(store, head_key(store, queue), GetCurrentTimestamp(), k_empty_step_interval);
}

int64 count_ready(Store &store, int32 queue, int64 limit, TimestampTz now) {
    ReadyScan *scan = begin_ready(store, queue, 0, now, Use::heads);
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

void pass(ReadyScan *scan) { scan->last.passed = true; }

void end_ready(ReadyScan *scan) {
    settle_last(scan);
    for (int i = 0; i < scan->count; i++)
        if (scan->cursor[i].in_range)
            end(scan->cursor[i].range);
    report(scan->key, scan->view, scan->findings);
    pfree(scan->cursor);
    pfree(scan);
}

} // namespace scylla
