#include "queue/ready_scan.h"

#include "model/aging.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "shmem/pending.h"

#include <bit>

namespace scylla {

using store::Store;
using store::TableId;

namespace {

constexpr int64 k_step_interval = USECS_PER_SEC; // between two steps of the derivation of a head
constexpr int64 k_empty_step_interval = 10'000;  // where a scan has found nothing
constexpr int64 k_step_entries = 4096;           // index entries that one step may look at: about a millisecond
constexpr int64 k_probe_entries = 128;           // what it costs to look for the next priority, in entries
// An index scan reads the rest of the page that it reaches, and all but the first few entries are seldom wanted. So a
// range is read in windows of ids, each wider than the one before.
constexpr int64 k_first_window = 16;
constexpr int64 k_wider = 64;
constexpr int64 k_widest = k_first_window * k_wider * k_wider;
constexpr int64 k_far =
    100; // so many dead entries behind a row that cannot be passed make a piece, so that no scan walks over them twice

// A range of ids of one priority to read.
struct Range {
    int64 low;
    int64 high;
    std::size_t at; // the index in HeadView::returned, k_frontier, or k_own
};

constexpr std::size_t k_own = shmem::k_frontier + 1; // it contains own tasks: nothing is concluded

// Reads the tasks of one priority, oldest first: the stretches, then the range above the frontier.
struct Cursor {
    int16 priority;
    bool concludes; // false if the transaction has own tasks: those that it has taken only look as if they were gone
    std::span<const Range> ranges;
    std::size_t opened; // ranges; the scan is in the last of them
    bool in_range;
    int64 range_high;
    int64 window; // of the range: how many ids wide
    int64 window_high;
    bool has_scan; // one for all ranges and windows
    store::Scan scan;
    int64 gone; // rows of the scan that were gone

    // The rows of the present range that were left or taken, since the last piece; 0: none.
    int64 kept_low;
    int64 kept_high;
    int64 walked; // at the last of them: entries that led to nothing

    int64 last;       // the id of the row given last; 0: none
    int64 first_left; // by all ranges; 0: none

    // With aging every priority shows its first task, and the best is returned.
    bool has_task;
    int64 id;
    double effective;
};

// The row returned last, and what became of it.
struct Last {
    Cursor *cursor; // null: none
    int64 id;
    RowFate fate;
};

} // namespace

struct ReadyScan {
    Store *store;
    MemoryContext context; // in which it began
    double aging;
    TimestampTz now;
    shmem::HeadId head;
    bool by_priority;  // false: without heads and without aging, one scan shows everything in order
    int next_priority; // those above have been read
    int count;         // of cursors: with aging one per priority, else the one of the present priority
    Cursor *cursor;
    Last last;
    shmem::HeadFindings findings;
    shmem::HeadView view;
};

namespace {

bool marked(const shmem::HeadView &view, int priority) {
    const auto p = static_cast<std::size_t>(priority);
    return (view.nonempty[p / 64] >> (p % 64) & 1) != 0;
}

// If the last step of the derivation is long enough ago, the next one. True: it told the head something.
//
// It looks for rows that the head does not know: below the frontiers, and anywhere in a priority that is marked as
// empty, where one row is enough. It goes from priority to priority in the order of the index.
bool derive(Store &store, const shmem::HeadId &id, TimestampTz now, int64 interval) {
    const auto claimed = shmem::claim_step(id, now, interval);
    if (!claimed)
        return false;
    shmem::Step at = *claimed;
    auto *view = static_cast<shmem::HeadView *>(palloc(sizeof(shmem::HeadView)));
    look(id, view);
    refresh(store);
    bool told = false;
    bool to_next = at.from == 0; // the scan looks for the next priority
    store::Scan scan = scan_ready_index(store, id.queue, at.priority);
    if (!to_next)
        restart_ready_index(scan, id.queue, at.priority, at.from);
    for (int64 entries = k_step_entries - k_probe_entries; entries > 0; entries--) {
        store::ReadyEntry entry{};
        const store::Found found = next_ready_entry(scan, &entry);
        bool done = found == store::Found::end; // with this priority
        if (!done) {
            at = {entry.priority, entry.id + 1};
            const bool above = entry.id >= view->frontier[static_cast<std::size_t>(entry.priority)];
            const bool known =
                (above && marked(*view, entry.priority)) || covers(view->returned, entry.priority, entry.id);
            if (found == store::Found::row && !known) {
                shmem::tell(id, entry.priority, entry.id, entry.id);
                told = true;
            }
            done = above && (found == store::Found::row || marked(*view, entry.priority));
        }
        if (!done)
            continue;
        at = {static_cast<int16>(found == store::Found::end && to_next ? -1 : at.priority - 1), 0};
        if (at.priority < 0)
            break;
        restart_ready_index(scan, id.queue, at.priority);
        to_next = true;
        entries -= k_probe_entries;
    }
    end(scan);
    advance(id, at);
    pfree(view);
    return told;
}

// The id below which there is nothing for this transaction, as its own scans have seen.
int64 progress_of(const ReadyScan *scan, int16 priority, const shmem::Own &own) {
    const shmem::Progress &progress = own.progress;
    if (progress.below == 0 || progress.epoch != scan->view.epoch || scan->view.generation - progress.generation > 1)
        return 0;
    return Min(progress.below, shmem::told_limit(progress.told, scan->view.told[static_cast<std::size_t>(priority)]));
}

// The ranges of a priority where the transaction has own tasks: one after the other as for others, but they may have
// become one with those of its own tasks.
std::size_t own_ranges(const ReadyScan *scan, int16 priority, const shmem::Own &own, Range *ranges) {
    model::Stretches<shmem::k_returned + shmem::k_own_stretches + 2> set;
    set.count = 0;
    const shmem::HeadView &view = scan->view;
    for (const model::Stretch &stretch : std::span(view.returned.at).first(view.returned.count))
        if (stretch.priority == priority)
            add(set, stretch);
    if (own.back != nullptr)
        for (const model::Stretch &stretch : std::span(own.back->at).first(own.back->count))
            add(set, stretch);
    if (own.new_low != 0)
        add(set, {own.new_low, own.new_high, {model::k_no_id, model::k_no_id}, priority});
    const auto p = static_cast<std::size_t>(priority);
    if (marked(view, priority))
        add(set, {view.frontier[p], PG_INT64_MAX, {view.fresh[p], view.fresh[p]}, priority});
    const int64 done = progress_of(scan, priority, own);
    std::size_t count = 0;
    for (const model::Stretch &stretch : std::span(set.at).first(set.count)) {
        const int64 low = Max(stretch.low, Min(done, Min(stretch.fresh[0], stretch.fresh[1])));
        if (low <= stretch.high)
            ranges[count++] = {low, stretch.high, k_own};
    }
    return count;
}

std::size_t ranges_for_all(const ReadyScan *scan, int16 priority, Range *ranges) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < scan->view.returned.count; i++)
        if (const model::Stretch &stretch = scan->view.returned.at[i]; stretch.priority == priority)
            ranges[count++] = {stretch.low, stretch.high, i};
    ranges[count++] = {scan->view.frontier[static_cast<std::size_t>(priority)], PG_INT64_MAX, shmem::k_frontier};
    return count;
}

// The next priority to look at, below the one before; negative: there is none. A transaction that has own tasks has to
// look at all.
int next_priority(const ReadyScan *scan) {
    int priority = scan->next_priority - 1;
    if (shmem::has_own_tasks())
        return priority;
    for (; priority >= 0; priority -= priority % 64 + 1) {
        const auto p = static_cast<std::size_t>(priority);
        if (const uint64 marked_or_below = scan->view.nonempty[p / 64] << (63 - p % 64); marked_or_below != 0)
            return priority - std::countl_zero(marked_or_below);
    }
    return priority;
}

// A cursor for the next priority that may have ready tasks. False: there is none.
bool begin_cursor(ReadyScan *scan, Cursor *cursor) {
    while ((scan->next_priority = next_priority(scan)) >= 0) {
        const auto priority = static_cast<int16>(scan->next_priority);
        const auto own =
            scan->view.valid ? shmem::own_tasks(scan->head.file, scan->head.queue, priority) : std::nullopt;
        const bool made = own && (own->new_low != 0 || own->back != nullptr);
        if (!marked(scan->view, priority) && !made)
            continue;
        const std::size_t most = scan->view.returned.count + 1 + (made ? shmem::k_own_stretches + 1 : 0);
        auto *ranges = static_cast<Range *>(MemoryContextAlloc(scan->context, most * sizeof(Range)));
        *cursor = Cursor{};
        cursor->priority = priority;
        cursor->concludes = scan->view.valid && !own;
        cursor->ranges = {ranges,
                          own ? own_ranges(scan, priority, *own, ranges) : ranges_for_all(scan, priority, ranges)};
        return true;
    }
    return false;
}

// The window from `low` on.
void open_window(ReadyScan *scan, Cursor *cursor, int64 low) {
    const bool rest = cursor->window > k_widest || cursor->range_high - low < cursor->window;
    cursor->window_high = rest ? cursor->range_high : low + cursor->window - 1;
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    if (cursor->has_scan)
        restart_ready_range(cursor->scan, scan->head.queue, cursor->priority, low, cursor->window_high);
    else
        cursor->scan = scan_ready_range(*scan->store, scan->head.queue, cursor->priority, low, cursor->window_high);
    MemoryContextSwitchTo(caller);
    cursor->has_scan = true;
}

void open_range(ReadyScan *scan, Cursor *cursor) {
    const Range &range = cursor->ranges[cursor->opened++];
    cursor->range_high = range.high;
    cursor->window = range.low > 0 ? k_first_window : PG_INT64_MAX; // a new head knows no position
    open_window(scan, cursor, range.low);
    cursor->in_range = true;
    cursor->kept_low = 0;
}

// The next row of the range, window after window.
bool next_in_range(ReadyScan *scan, Cursor *cursor) {
    while (!next(cursor->scan)) {
        if (cursor->window_high == cursor->range_high)
            return false;
        cursor->window *= k_wider;
        open_window(scan, cursor, cursor->window_high + 1);
    }
    return true;
}

int64 walked(const Cursor *cursor) { return cursor->scan.dead + cursor->gone; }

// If it is far behind the rows that were left or taken, they become a piece of their own.
void leave_behind(ReadyScan *scan, Cursor *cursor) {
    shmem::HeadFindings &findings = scan->findings;
    if (!cursor->concludes || cursor->kept_low == 0 || walked(cursor) - cursor->walked <= k_far ||
        findings.pieces == findings.piece.size())
        return;
    findings.piece[findings.pieces++] = {
        cursor->ranges[cursor->opened - 1].at,
        {cursor->kept_low, cursor->kept_high, {model::k_no_id, model::k_no_id}, cursor->priority}};
    cursor->kept_low = 0;
}

// Records in the range what became of a row.
void settle_row(ReadyScan *scan, Cursor *cursor, int64 id, RowFate fate) {
    cursor->last = id;
    if (fate == RowFate::gone) {
        cursor->gone++;
        return;
    }
    if (fate == RowFate::left && cursor->first_left == 0)
        cursor->first_left = id;
    leave_behind(scan, cursor);
    if (cursor->kept_low == 0)
        cursor->kept_low = id;
    cursor->kept_high = id;
    cursor->walked = walked(cursor);
}

void close_range(ReadyScan *scan, Cursor *cursor, bool to_the_end) {
    cursor->in_range = false;
    if (!cursor->concludes)
        return;
    const Range &range = cursor->ranges[cursor->opened - 1];
    int64 reached = Max(range.low, cursor->last);
    if (to_the_end) {
        leave_behind(scan, cursor);
        reached = range.high == PG_INT64_MAX ? range.high : range.high + 1;
    }
    if (cursor->kept_low != 0)
        reached = cursor->kept_low;
    scan->findings.passed[scan->findings.count++] = {cursor->priority, range.at, reached};
}

void close_cursor(ReadyScan *scan, Cursor *cursor) {
    if (cursor->has_task)
        settle_row(scan, cursor, cursor->id, RowFate::left); // it was shown, but not returned
    if (cursor->in_range)
        close_range(scan, cursor, false);
    if (cursor->has_scan)
        end(cursor->scan);
    const auto p = static_cast<std::size_t>(cursor->priority);
    if (cursor->last != 0 && scan->view.valid)
        shmem::note_progress(scan->head.file, scan->head.queue, cursor->priority,
                             {scan->view.epoch, scan->view.generation, scan->view.told[p],
                              cursor->first_left != 0 ? cursor->first_left : cursor->last + 1});
}

// The next row of a cursor. False: the cursor is at its end.
bool next_of(ReadyScan *scan, Cursor *cursor, store::ReadyRow *row) {
    for (;;) {
        if (!cursor->in_range) {
            if (cursor->opened == cursor->ranges.size())
                return false;
            open_range(scan, cursor);
        }
        if (next_in_range(scan, cursor)) {
            *row = ready_row(cursor->scan);
            return true;
        }
        close_range(scan, cursor, true);
    }
}

void settle_last(ReadyScan *scan) {
    if (scan->last.cursor != nullptr && scan->by_priority)
        settle_row(scan, scan->last.cursor, scan->last.id, scan->last.fate);
    scan->last.cursor = nullptr;
}

// Rows in the order of priority and id.
bool next_plain(ReadyScan *scan, store::ReadyRow *row) {
    Cursor *cursor = &scan->cursor[0];
    settle_last(scan);
    for (;;) {
        if (scan->count == 0) {
            if (!scan->by_priority || !begin_cursor(scan, cursor))
                return false;
            scan->count = 1;
        }
        if (next_of(scan, cursor, row)) {
            scan->last = {cursor, row->id, RowFate::left};
            return true;
        }
        close_cursor(scan, cursor);
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

// With aging: the best of the first tasks of all priorities. Within a priority the oldest is the best, so this is
// exact.
bool next_aged(ReadyScan *scan, store::ReadyRow *row) {
    if (Cursor *cursor = scan->last.cursor) {
        settle_last(scan);
        show_task(scan, cursor);
    }
    Cursor *best = nullptr;
    for (int i = 0; i < scan->count; i++) {
        Cursor *cursor = &scan->cursor[i];
        if (cursor->has_task && (best == nullptr || cursor->effective > best->effective ||
                                 (cursor->effective == best->effective && cursor->id < best->id)))
            best = cursor;
    }
    if (best == nullptr)
        return false;
    const auto found = find_ready(*scan->store, scan->head.queue, best->priority, best->id);
    if (!found)
        elog(ERROR, "ready task " INT64_FORMAT " has vanished from a snapshot", best->id);
    *row = *found;
    best->has_task = false;
    scan->last = {best, best->id, RowFate::left};
    return true;
}

} // namespace

shmem::HeadId head_id(Store &store, int32 queue) {
    return {MyDatabaseId, compat::file_number(store[TableId::ready].rel), queue};
}

ReadyScan *begin_ready(Store &store, int32 queue, double aging, TimestampTz now, Use use) {
    auto *scan = static_cast<ReadyScan *>(palloc(sizeof(ReadyScan))); // large: only what is used is initialised
    scan->store = &store;
    scan->context = CurrentMemoryContext;
    scan->aging = aging;
    scan->now = now;
    scan->head = head_id(store, queue);
    scan->next_priority = static_cast<int>(shmem::k_priorities);
    scan->last = {nullptr, 0, RowFate::left};
    scan->findings.count = 0;
    scan->findings.pieces = 0;
    scan->view.valid = false;
    if (use == Use::heads) {
        derive(store, scan->head, now, k_step_interval);
        look(scan->head, &scan->view); // before the snapshot
        refresh(store);
    }
    if (!scan->view.valid) {
        // Like a head that knows nothing, and stores nothing.
        scan->view.nonempty = {PG_UINT64_MAX, PG_UINT64_MAX};
        scan->view.frontier = {};
        scan->view.returned.count = 0;
    }
    scan->by_priority = scan->view.valid || aging > 0;
    scan->cursor = static_cast<Cursor *>(palloc(sizeof(Cursor) * (aging > 0 ? shmem::k_priorities : 1)));
    scan->count = 0;
    if (!scan->by_priority) {
        Cursor *cursor = &scan->cursor[scan->count++];
        *cursor = Cursor{};
        cursor->scan = scan_ready(store, queue);
        cursor->has_scan = true;
        cursor->in_range = true;
    }
    while (aging > 0 && begin_cursor(scan, &scan->cursor[scan->count]))
        show_task(scan, &scan->cursor[scan->count++]);
    return scan;
}

bool next_ready(ReadyScan *scan, store::ReadyRow *row) {
    return scan->aging > 0 ? next_aged(scan, row) : next_plain(scan, row);
}

void settle(ReadyScan *scan, RowFate fate) { scan->last.fate = fate; }

bool find_overlooked(Store &store, int32 queue) {
    return derive(store, head_id(store, queue), GetCurrentTimestamp(), k_empty_step_interval);
}

namespace {

constexpr int k_next = 100; // the first of a priority may just have come back, and others have been ready for longer

std::optional<TimestampTz> since_by_head(Store &store, int32 queue, TimestampTz now) {
    ReadyScan *scan = begin_ready(store, queue, 0, now, Use::heads);
    Cursor *cursor = &scan->cursor[0];
    if (!scan->by_priority)
        close_cursor(scan, cursor);
    scan->by_priority = true;
    scan->count = 0;
    const RowMemory memory = begin_row_memory();
    std::optional<TimestampTz> earliest;
    for (; begin_cursor(scan, cursor);) {
        store::ReadyRow row;
        for (int i = 0; i < k_next && next_of(scan, cursor, &row); i++, reset(memory)) {
            settle_row(scan, cursor, row.id, RowFate::left);
            earliest = earliest ? Min(*earliest, row.updated) : row.updated;
        }
        close_cursor(scan, cursor);
    }
    end(memory);
    end_ready(scan);
    return earliest;
}

// Of the queue at which the scan begins.
std::optional<TimestampTz> since_by_index(store::Scan &scan, int32 queue) {
    std::optional<TimestampTz> earliest;
    const RowMemory memory = begin_row_memory();
    int16 priority = -1;
    for (int count = 0; next(scan); reset(memory)) {
        const store::ReadyRow row = ready_row(scan);
        earliest = earliest ? Min(*earliest, row.updated) : row.updated;
        count = row.priority == priority ? count + 1 : 1;
        priority = row.priority;
        if (count == k_next)
            restart_ready_from(scan, queue, static_cast<int16>(priority - 1));
    }
    end(memory);
    return earliest;
}

} // namespace

void find_ready_since(Store &store, std::span<ReadySince> queues, TimestampTz now, Use use) {
    const auto other = allocate<ReadySince *>(queues.size());
    std::size_t others = 0;
    for (ReadySince &each : queues)
        if (use == Use::heads && shmem::has_head(head_id(store, each.queue)))
            each.since = since_by_head(store, each.queue, now);
        else
            other[others++] = &each;
    if (others == 0)
        return;
    constexpr int16 k_highest = shmem::k_priorities - 1;
    store::Scan scan = scan_ready_from(store, other[0]->queue, k_highest); // after the last change of the snapshot
    for (ReadySince *each : other.first(others)) {
        restart_ready_from(scan, each->queue, k_highest);
        each->since = since_by_index(scan, each->queue);
    }
    end(scan);
}

void end_ready(ReadyScan *scan) {
    settle_last(scan);
    for (int i = 0; i < scan->count; i++)
        close_cursor(scan, &scan->cursor[i]);
    report(scan->head, scan->view, scan->findings);
    pfree(scan->cursor);
    pfree(scan);
}

} // namespace scylla
