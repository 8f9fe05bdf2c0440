// What transactions have done: noted in the memory of the backend, by savepoint, and added to the counters when they
// commit.
#include "shmem/databases.h"
#include "shmem/stat_entries.h"
#include "shmem/waiters.h"

namespace scylla::shmem {

namespace {

constexpr int k_search_depth = 64; // notes that are compared; beyond that a queue may have several

void add(QueueStats &sum, const QueueStats &more) noexcept {
    for (std::size_t i = 0; i < k_places; i++)
        sum.place[i] += more.place[i];
    for (std::size_t i = 0; i < k_counts; i++)
        sum.count[i] += more.count[i];
    for (std::size_t i = 0; i < k_times; i++)
        sum.time[i].add(more.time[i]);
}

// What the present transaction has done, by savepoint: a rolled-back one takes its notes along. All of it is in the
// transaction's memory.
struct Note {
    Note *next;
    StatId id;
    QueueStats done;
    std::array<int64, k_bounded> arrived; // tasks that came
    HeldRoom held;
    bool notify_ready; // NOTIFY is to tell if this commits
    bool notify_taken; // and if this rolls back
};
struct Level {
    Level *outer;
    int nesting;
    Note *first;
};
constinit Level *level = nullptr;
constinit int holding = 0; // notes that hold room; a queue may have several

Note *find_note(const Level &where, const StatId &id) noexcept {
    int depth = 0;
    for (Note *note = where.first; note != nullptr && depth < k_search_depth; note = note->next, depth++)
        if (note->id == id)
            return note;
    return nullptr;
}

Note &note_of(const StatId &id) {
    const int nesting = GetCurrentTransactionNestLevel();
    if (level == nullptr || level->nesting < nesting) {
        auto *made = static_cast<Level *>(MemoryContextAlloc(TopTransactionContext, sizeof(Level)));
        *made = {level, nesting, nullptr};
        level = made;
    }
    Note *note = find_note(*level, id);
    if (note == nullptr) {
        note = static_cast<Note *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Note)));
        note->id = id;
        note->next = level->first;
        level->first = note;
    }
    return *note;
}

// There may be something to lease now. Once it can be seen.
void announce(const StatId &id, TimestampTz now) noexcept {
    bool first = false;
    change_entry(id, now, [&first](StatEntry &entry) {
        first = !entry.told;
        entry.untold = entry.untold || first;
        entry.told = true;
    });
    if (!first)
        return;
    pg_atomic_write_u32(&stats->untold, 1);
    wake_monitor(id.database);
    note_due(id.database, 0);
}

// What was taken by a transaction, or a part of it, that rolls back can be leased again.
void announce_taken(const Level &where) noexcept {
    for (const Note *note = where.first; note != nullptr; note = note->next)
        if (note->notify_taken)
            announce(note->id, GetCurrentTimestamp());
}

// What has taken room for tasks that will not come gives it back.
void give_back_room(const Level &where) noexcept {
    for (const Note *note = where.first; note != nullptr; note = note->next) {
        if (!note->held.any())
            continue;
        const int64 running = note->held.tasks[static_cast<std::size_t>(Bounded::running)];
        LWLockAcquire(stats->lock, LW_SHARED);
        StatEntry *entry = find_entry(note->id); // it is there as long as it has something in flight
        SpinLockAcquire(&entry->mutex);
        for (std::size_t b = 0; b < k_bounded; b++)
            entry->depth[b].in_flight -= note->held.tasks[b];
        SpinLockRelease(&entry->mutex);
        LWLockRelease(stats->lock);
        holding--;
        if (running > 0)
            signal(note->id.database, note->id.queue, running); // again (pending.h): there was no room until now
    }
}

// A prepared transaction: how it ends is not told. That all that has come stays is the safe side; a count finds out.
void keep_prepared(const Level &where) noexcept {
    for (const Note *note = where.first; note != nullptr; note = note->next) {
        LWLockAcquire(stats->lock, LW_SHARED);
        if (StatEntry *entry = find_entry(note->id)) {
            SpinLockAcquire(&entry->mutex);
            for (std::size_t b = 0; b < k_bounded; b++) {
                entry->depth[b].in_flight -= note->held.tasks[b];
                entry->depth[b].prepared += note->arrived[b];
                entry->depth[b].doubts++;
                entry->depth[b].doubtful = true;
            }
            SpinLockRelease(&entry->mutex);
        }
        LWLockRelease(stats->lock);
    }
}

void drop_level() {
    announce_taken(*level);
    give_back_room(*level);
    for (Note *note = level->first; note != nullptr;) {
        Note *next = note->next;
        pfree(note);
        note = next;
    }
    Level *outer = level->outer;
    pfree(level);
    level = outer;
}

// A savepoint is released: its notes become those of the transaction around it.
void merge_level() {
    Level *outer = level->outer;
    if (outer == nullptr || outer->nesting < level->nesting - 1) {
        level->nesting--;
        return;
    }
    Note *kept = nullptr;
    for (Note *note = level->first; note != nullptr;) {
        Note *next = note->next;
        if (Note *same = find_note(*outer, note->id)) {
            add(same->done, note->done);
            holding -= note->held.any() ? 1 : 0;
            for (std::size_t b = 0; b < k_bounded; b++) {
                same->arrived[b] += note->arrived[b];
                change(same->held, static_cast<Bounded>(b), note->held.tasks[b]);
            }
            same->notify_ready = same->notify_ready || note->notify_ready;
            same->notify_taken = same->notify_taken || note->notify_taken;
            pfree(note);
        } else {
            note->next = kept;
            kept = note;
        }
        note = next;
    }
    while (kept != nullptr) {
        Note *next = kept->next;
        kept->next = outer->first;
        outer->first = kept;
        kept = next;
    }
    pfree(level);
    level = outer;
}

void show_committing(TransactionId xid) noexcept {
    // A full barrier: before the commit can be seen, and after the notes are added.
    pg_atomic_exchange_u32(&stats->committing(compat::my_proc_number()).xid, xid);
}

// Must not fail: the transaction is committed.
void add_notes() noexcept {
    const TimestampTz now = GetCurrentTransactionStopTimestamp();
    for (const Level *at = level; at != nullptr; at = at->outer)
        for (const Note *note = at->first; note != nullptr; note = note->next) {
            const auto running = static_cast<std::size_t>(Bounded::running);
            const int64 fewer = note->held.tasks[running] - number_of(Bounded::running, note->done.place);
            bool has_bound = false;
            change_entry(note->id, now, [&](StatEntry &entry) {
                add(entry.stats, note->done);
                for (std::size_t b = 0; b < k_bounded; b++)
                    entry.depth[b].in_flight -= note->held.tasks[b];
                has_bound = depth_of(entry, Bounded::running).known;
            });
            if (fewer > 0 && has_bound)
                signal(note->id.database, note->id.queue, fewer);
            if (note->notify_ready)
                announce(note->id, now);
        }
}

// The memory of the notes goes with the transaction.
void forget_all() noexcept {
    level = nullptr;
    holding = 0;
}

extern "C" void settle_notes(XactEvent event, void *) {
    if (level == nullptr)
        return;
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
        show_committing(GetTopTransactionIdIfAny());
        break;
    case XACT_EVENT_COMMIT:
        add_notes();
        show_committing(InvalidTransactionId);
        forget_all();
        break;
    case XACT_EVENT_ABORT:
        for (const Level *at = level; at != nullptr; at = at->outer)
            announce_taken(*at);
        for (const Level *at = level; at != nullptr; at = at->outer)
            give_back_room(*at);
        show_committing(InvalidTransactionId);
        forget_all();
        break;
    case XACT_EVENT_PREPARE:
        for (const Level *at = level; at != nullptr; at = at->outer)
            keep_prepared(*at);
        forget_all();
        break;
    case XACT_EVENT_PRE_PREPARE:
    case XACT_EVENT_PARALLEL_PRE_COMMIT:
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_PARALLEL_ABORT:
        break;
    }
}

extern "C" void settle_savepoint(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (level == nullptr || level->nesting < GetCurrentTransactionNestLevel())
        return;
    if (event == SUBXACT_EVENT_COMMIT_SUB)
        merge_level();
    else if (event == SUBXACT_EVENT_ABORT_SUB)
        drop_level();
}

} // namespace

void count(const StatId &id, Count what) {
    if (stats != nullptr)
        note_of(id).done.count[static_cast<std::size_t>(what)]++;
}

void count_time(const StatId &id, Time what, int64 micros) {
    if (stats != nullptr)
        note_of(id).done.time[static_cast<std::size_t>(what)].add(micros);
}

void count_arrival(const StatId &id, Place place) {
    if (stats == nullptr)
        return;
    Note &note = note_of(id);
    note.done.place[static_cast<std::size_t>(place)]++;
    for (std::size_t b = 0; b < k_bounded; b++)
        note.arrived[b] += is_in(static_cast<Bounded>(b), place) ? 1 : 0;
}

void count_departure(const StatId &id, Place place) {
    if (stats != nullptr)
        note_of(id).done.place[static_cast<std::size_t>(place)]--;
}

void note_notify_ready(const StatId &id) {
    if (stats != nullptr)
        note_of(id).notify_ready = true;
}

void note_notify_taken(const StatId &id) {
    if (stats != nullptr)
        note_of(id).notify_taken = true;
}

bool found_empty(const StatId &id) noexcept {
    if (stats == nullptr)
        return false;
    bool told = false;
    LWLockAcquire(stats->lock, LW_SHARED);
    if (StatEntry *entry = find_entry(id)) {
        SpinLockAcquire(&entry->mutex);
        told = entry->told;
        entry->told = false;
        entry->untold = false;
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return told;
}

bool is_any_untold() noexcept { return pg_atomic_read_u32(&stats->untold) != 0; }

std::size_t take_untold(const StatId &monitor, bool again, std::span<int32> queues) noexcept {
    if (pg_atomic_exchange_u32(&stats->untold, 0) == 0 && !again)
        return 0;
    std::size_t count = 0;
    bool more = false;
    LWLockAcquire(stats->lock, LW_SHARED);
    for (int i = 0; i < stats->count; i++) {
        StatEntry &entry = stats->entry(i);
        SpinLockAcquire(&entry.mutex);
        const bool wanted = entry.untold || (again && entry.told);
        const bool ours = is_of(entry, monitor.database, monitor.extension);
        if (wanted && ours && count < queues.size()) {
            queues[count++] = entry.id.queue;
            entry.untold = false;
        } else {
            entry.untold = entry.untold || (wanted && ours); // for the next call
            more = more || entry.untold;
        }
        SpinLockRelease(&entry.mutex);
    }
    LWLockRelease(stats->lock);
    if (more)
        pg_atomic_write_u32(&stats->untold, 1);
    return count;
}

bool has_own_stats() noexcept { return level != nullptr; }

HeldRoom &held_room(const StatId &id) { return note_of(id).held; }

void change(HeldRoom &held, Bounded which, int64 by) noexcept {
    holding -= held.any() ? 1 : 0;
    held.tasks[static_cast<std::size_t>(which)] += by;
    holding += held.any() ? 1 : 0;
}

bool may_hold_another() noexcept {
    constexpr int k_part = 8; // of the entries
    constexpr int k_few = 4;
    return holding < Max(stats->size / k_part, k_few);
}

namespace {

template <typename Use> void for_each_note(const StatId &id, Use use) noexcept {
    for (const Level *at = level; at != nullptr; at = at->outer)
        for (Note *note = at->first; note != nullptr; note = note->next)
            if (note->id == id)
                use(*note);
}

} // namespace

int64 noted_depth(const StatId &id, Bounded which) noexcept {
    int64 depth = 0;
    for_each_note(id, [&](const Note &note) { depth += number_of(which, note.done.place); });
    return depth;
}

int64 noted_excess(const StatId &id, Bounded which) noexcept {
    int64 excess = 0;
    for_each_note(id, [&](const Note &note) {
        excess += number_of(which, note.done.place) - note.held.tasks[static_cast<std::size_t>(which)];
    });
    return excess;
}

namespace {

int64 without_room(const Note &note, Bounded which) noexcept {
    const auto b = static_cast<std::size_t>(which);
    return Max(note.arrived[b] - note.held.tasks[b], 0);
}

} // namespace

int64 noted_without_room(const StatId &id, Bounded which) noexcept {
    int64 tasks = 0;
    for_each_note(id, [&](const Note &note) { tasks += without_room(note, which); });
    return tasks;
}

void take_noted_room(StatEntry &entry, Bounded which) noexcept {
    for_each_note(entry.id, [&](Note &note) {
        const int64 more = without_room(note, which);
        depth_of(entry, which).in_flight += more;
        change(note.held, which, more);
    });
}

void install_stat_callbacks() {
    RegisterXactCallback(settle_notes, nullptr);
    RegisterSubXactCallback(settle_savepoint, nullptr);
}

} // namespace scylla::shmem
