#include "shmem/pending.h"

#include "pg/growing.h"
#include "pg/text.h"
#include "shmem/databases.h"
#include "shmem/key_notes.h"
#include "shmem/waiters.h"
#include "shmem/workers.h"

namespace scylla::shmem {

namespace {

// What the transaction has done to the ready tasks of one queue and priority.
struct Note {
    Oid file;
    int32 queue;
    int16 priority;
    int64 made_new; // tasks with new ids, from new_low to new_high
    int64 new_low;
    int64 new_high;
    int64 made_old;                          // tasks that came back
    model::Stretches<k_own_stretches> *back; // their ids; null: none
    int64 taken;
    SubTransactionId taken_in; // the latest (sub)transaction that took one
    Progress progress;
    uint64 rolled_back; // Pending::rolled_back at the time of `progress`
    int64 room;         // so many waiters are to look again
};

struct NoteId {
    Oid file;
    int32 queue;
    int32 priority;
};
struct NoteAt {
    NoteId id;
    std::size_t at;
};

constexpr std::size_t k_few_notes = 64;
constinit std::array<Note, k_few_notes> few_notes{};

// A queue that the transaction has made, and in which of its subtransactions.
struct NewQueue {
    Awaited unknown; // what its waiters wait for
    int32 queue;
    SubTransactionId made_in;
};

struct Pending {
    bool any;
    bool extension;
    bool databases;
    bool any_queue;
    bool many_queues; // more than there is room for
    std::size_t new_queues;
    std::array<NewQueue, 64> new_queue;
    bool plan_finished;
    bool agenda;
    bool recheck_all; // more than there is room for
    std::size_t rechecks;
    std::array<int64, k_rechecks> recheck;
    Growing<int64> taken_away; // running tasks
    bool placed;
    bool all_pools; // more than there is room for
    std::size_t pools;
    std::array<int64, k_changed_pools> pool;
    bool taken_in_sub;  // a subtransaction has taken tasks
    uint64 rolled_back; // subtransactions
    // few_notes, or more of them in the memory of the transaction, which the callback still finds there. `index` is
    // null as long as they are few.
    std::size_t count;
    std::size_t room;
    Note *note;
    HTAB *index;
    std::array<bool, k_timers> any_time;
    std::array<TimestampTz, k_timers> time; // counts if any_time says so
};
constinit Pending pending{};

void enter(std::size_t at) {
    const Note &note = pending.note[at];
    const NoteId id{note.file, note.queue, note.priority};
    bool found = false;
    static_cast<NoteAt *>(hash_search(pending.index, &id, HASH_ENTER, &found))->at = at;
}

void make_more_room() {
    MemoryContext context = TopTransactionContext;
    const std::size_t room = 4 * pending.count;
    auto *notes = static_cast<Note *>(MemoryContextAllocHuge(context, room * sizeof(Note)));
    std::copy_n(pending.note, pending.count, notes);
    if (pending.index == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(NoteId);
        control.entrysize = sizeof(NoteAt);
        control.hcxt = context;
        HTAB *index =
            hash_create("scylla notes", static_cast<long>(room), &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
        pending.index = index;
        for (std::size_t i = 0; i < pending.count; i++)
            enter(i);
    }
    pending.note = notes;
    pending.room = room;
}

Note *find_note(Oid file, int32 queue, int16 priority) {
    if (pending.index != nullptr) {
        const NoteId id{file, queue, priority};
        const auto *found = static_cast<NoteAt *>(hash_search(pending.index, &id, HASH_FIND, nullptr));
        return found != nullptr ? &pending.note[found->at] : nullptr;
    }
    for (std::size_t i = pending.count; i-- > 0;)
        if (Note &note = pending.note[i]; note.queue == queue && note.priority == priority && note.file == file)
            return &note;
    return nullptr;
}

Note *find_or_make_note(Oid file, int32 queue, int16 priority) {
    pending.any = true;
    if (Note *note = find_note(file, queue, priority))
        return note;
    if (pending.count == 0) {
        pending.note = few_notes.data();
        pending.room = few_notes.size();
    }
    if (pending.count == pending.room)
        make_more_room();
    pending.note[pending.count] = Note{};
    Note *note = &pending.note[pending.count];
    note->file = file;
    note->queue = queue;
    note->priority = priority;
    if (pending.index != nullptr)
        enter(pending.count);
    pending.count++;
    return note;
}

std::span<Note> notes() noexcept { return {pending.note, pending.count}; }

void tell_monitor() noexcept {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    if (slot == nullptr)
        return;
    bool earlier = false;
    for (std::size_t t = 0; t < k_timers; t++)
        if (pending.any_time[t] && lower(*slot, static_cast<Timer>(t), pending.time[t]))
            earlier = true;
    if (earlier)
        wake(pg_atomic_read_u32(&slot->proc));
}

void tell_rechecks() noexcept {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    if (slot == nullptr)
        return;
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    for (std::size_t r = 0; r < pending.rechecks; r++) {
        if (slot->rechecks == k_rechecks)
            slot->recheck_all = true;
        else
            slot->recheck[slot->rechecks++] = pending.recheck[r];
    }
    slot->recheck_all = slot->recheck_all || pending.recheck_all;
    LWLockRelease(shared->lock);
    wake(pg_atomic_read_u32(&slot->proc));
}

void add_pool(std::array<int64, k_changed_pools> &to, std::size_t *count, bool *all, int64 pool) noexcept {
    if (*all || std::find(to.begin(), to.begin() + *count, pool) != to.begin() + *count)
        return;
    if (pool == 0 || *count == to.size())
        *all = true;
    else
        to[(*count)++] = pool;
}

void tell_pools() noexcept {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    if (slot == nullptr)
        return;
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    for (std::size_t p = 0; p < pending.pools; p++)
        add_pool(slot->pool, &slot->pools, &slot->all_pools, pending.pool[p]);
    slot->all_pools = slot->all_pools || pending.all_pools;
    LWLockRelease(shared->lock);
    lower(*slot, Timer::placement, 0);
    wake(pg_atomic_read_u32(&slot->proc));
}

// For the launcher: after the monitor has been told, which may be about to exit.
void tell_database() noexcept {
    TimestampTz when =
        pending.rechecks > 0 || pending.recheck_all || pending.pools > 0 || pending.all_pools ? 0 : k_never;
    for (std::size_t t = 0; t < k_timers; t++)
        if (pending.any_time[t])
            when = Min(when, pending.time[t]);
    if (when != k_never)
        note_due(MyDatabaseId, when);
}

// Wakes the engine, or the monitor that has one started.
void tell_engine() noexcept {
    if (has_engine(MyDatabaseId))
        signal(MyDatabaseId, k_agenda, 1);
    else
        ask_for_engine(MyDatabaseId);
}

} // namespace

void announce_extension() noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (shared->announced_count < k_max_marked)
        shared->announced[shared->announced_count++] = MyDatabaseId;
    else
        shared->announced_all = true;
    LWLockRelease(shared->lock);
    wake_launcher();
}

namespace {

void give_back_databases() noexcept {
    pg_atomic_write_u32(&shared->rescan, 1); // before the launcher can see that they are free: they may be gone
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    int kept = 0;
    for (int i = 0; i < shared->blocked_count; i++)
        if (shared->blocked[i].pid != MyProcPid)
            shared->blocked[kept++] = shared->blocked[i];
    shared->blocked_count = kept;
    LWLockRelease(shared->lock);
    wake_launcher();
}

// What a subtransaction took before it was rolled back is there again.
Progress progress_of(const Note &note) noexcept {
    return note.rolled_back == pending.rolled_back ? note.progress : Progress{};
}

// Who waits for a new queue by its name is among its waiters from here on, so that its tasks wake as many as they are.
void tell_queues() noexcept {
    for (const NewQueue &made : std::span(pending.new_queue).first(pending.new_queues))
        name_queue(MyDatabaseId, made.unknown, made.queue);
    if (pending.many_queues)
        signal_unknown(MyDatabaseId);
    signal(MyDatabaseId, k_any_new_queue, PG_INT64_MAX);
}

// The heads and gaps first: a waiter that is woken reads them.
void tell_tasks(bool committed) noexcept {
    if (committed)
        tell_key_notes();
    for (const Note &note : notes()) {
        const HeadId id{MyDatabaseId, note.file, note.queue};
        if (committed && note.taken > 0)
            pass(id, note.priority, progress_of(note));
        if (committed && note.made_new > 0)
            tell(id, note.priority, note.new_low, note.new_high);
        if (committed && note.back != nullptr)
            for (const model::Stretch &stretch : std::span(note.back->at).first(note.back->count))
                tell(id, note.priority, stretch.low, stretch.high);
    }
    if (committed && pending.any_queue)
        tell_queues();
    // What a transaction that rolls back has taken can be leased again.
    for (const Note &note : notes())
        if (const int64 count = committed ? Max(note.made_new + note.made_old, note.room) : note.taken; count > 0)
            signal(MyDatabaseId, note.queue, count);
    if (committed && pending.plan_finished)
        signal(MyDatabaseId, k_plans, PG_INT64_MAX);
}

// Must not fail: the transaction is committed. It allocates nothing and reads no catalog.
extern "C" void at_end_of_transaction(XactEvent event, void *) {
    if (event == XACT_EVENT_ABORT)
        leave(std::nullopt); // an error while waiting
    if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
        return;
    if (!pending.any)
        return;
    if (event != XACT_EVENT_PREPARE)
        tell_tasks(event == XACT_EVENT_COMMIT);
    // A prepared transaction will tell nothing at its end: the monitor keeps what is in doubt until it is decided.
    if (event != XACT_EVENT_ABORT && (pending.rechecks > 0 || pending.recheck_all))
        tell_rechecks();
    if ((event == XACT_EVENT_COMMIT || pending.placed) && (pending.pools > 0 || pending.all_pools))
        tell_pools();
    if (event == XACT_EVENT_COMMIT) {
        if (pending.extension)
            announce_extension();
        if (pending.agenda)
            tell_engine();
        if (pending.taken_away.size() > 0)
            interrupt_calls(MyDatabaseId, pending.taken_away.all());
        tell_monitor();
    }
    if (event != XACT_EVENT_ABORT)
        tell_database();
    if (pending.databases)
        give_back_databases();
    drop_key_notes();
    pending.any = false;
    pending.extension = false;
    pending.databases = false;
    pending.any_queue = false;
    pending.many_queues = false;
    pending.new_queues = 0;
    pending.plan_finished = false;
    pending.agenda = false;
    pending.recheck_all = false;
    pending.rechecks = 0;
    pending.taken_away.clear();
    pending.placed = false;
    pending.all_pools = false;
    pending.pools = 0;
    pending.taken_in_sub = false;
    pending.count = 0;
    pending.index = nullptr;
    pending.any_time = {};
}

// A queue that a subtransaction has created belongs to its parent, or does not exist.
void hand_over_queues(SubTransactionId mine, SubTransactionId parent, bool committed) noexcept {
    std::size_t kept = 0;
    for (NewQueue &made : std::span(pending.new_queue).first(pending.new_queues)) {
        if (made.made_in == mine && !committed)
            continue;
        if (made.made_in == mine)
            made.made_in = parent;
        pending.new_queue[kept++] = made;
    }
    pending.new_queues = kept;
}

// What a subtransaction that rolls back has taken can be leased again. How much of what a note counts it took itself is
// not known: some are woken in vain.
extern "C" void at_end_of_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *) {
    if (event == SUBXACT_EVENT_ABORT_SUB)
        pending.rolled_back++;
    if (event == SUBXACT_EVENT_ABORT_SUB || event == SUBXACT_EVENT_COMMIT_SUB)
        hand_over_queues(mine, parent, event == SUBXACT_EVENT_COMMIT_SUB);
    if (!pending.taken_in_sub || (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB))
        return;
    for (Note &note : notes()) {
        if (note.taken_in != mine)
            continue;
        note.taken_in = parent;
        if (event == SUBXACT_EVENT_ABORT_SUB)
            signal(MyDatabaseId, note.queue, note.taken);
    }
}

} // namespace

void note_ready(Oid file, int32 queue, int16 priority, int64 id, bool is_new) {
    if (shared == nullptr)
        return;
    Note *note = find_or_make_note(file, queue, priority);
    note->progress.below = Min(note->progress.below, id);
    if (is_new) {
        note->new_low = note->made_new == 0 ? id : Min(note->new_low, id);
        note->new_high = Max(note->new_high, id);
        note->made_new++;
        return;
    }
    if (note->back == nullptr) {
        note->back = static_cast<model::Stretches<k_own_stretches> *>(
            MemoryContextAlloc(TopTransactionContext, sizeof(model::Stretches<k_own_stretches>)));
        note->back->count = 0;
    }
    add(*note->back, {id, id, {model::k_no_id, model::k_no_id}, priority});
    if (note->back->count > k_own_stretches)
        join_next(*note->back, narrowest(*note->back));
    note->made_old++;
}

void note_taken(Oid file, int32 queue, int16 priority) {
    if (shared == nullptr)
        return;
    Note *note = find_or_make_note(file, queue, priority);
    note->taken++;
    note->taken_in = GetCurrentSubTransactionId();
    if (note->taken_in != TopSubTransactionId)
        pending.taken_in_sub = true;
}

void note_queue(const text *name, int32 queue) {
    if (shared == nullptr)
        return;
    pending.any = true;
    pending.any_queue = true;
    if (pending.new_queues < pending.new_queue.size())
        pending.new_queue[pending.new_queues++] = {unknown_queue(view(name)), queue, GetCurrentSubTransactionId()};
    else
        pending.many_queues = true;
}

void note_room(int32 queue, int64 count) {
    if (shared == nullptr)
        return;
    // Of a queue, not of one of its priorities.
    Note *note = find_or_make_note(InvalidOid, queue, 0);
    note->room = count < PG_INT64_MAX - note->room ? note->room + count : PG_INT64_MAX;
}

void note_time(Timer timer, TimestampTz when) {
    if (shared == nullptr)
        return;
    const auto t = static_cast<std::size_t>(timer);
    if (!pending.any_time[t] || when < pending.time[t])
        pending.time[t] = when;
    pending.any_time[t] = true;
    pending.any = true;
}

void note_recheck(int64 id) {
    if (shared == nullptr)
        return;
    pending.any = true;
    if (pending.rechecks > 0 && pending.recheck[pending.rechecks - 1] == id)
        return;
    if (pending.rechecks < pending.recheck.size())
        pending.recheck[pending.rechecks++] = id;
    else
        pending.recheck_all = true;
}

bool has_monitor() noexcept { return monitor_slot(MyDatabaseId) != nullptr || is_served(); }

bool is_monitored() noexcept {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    return slot != nullptr && pg_atomic_read_u32(&slot->present) != 0;
}

bool is_monitor_in_order() noexcept {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    return slot != nullptr ? pg_atomic_read_u32(&slot->proc) != 0 : is_served() && next_due() > GetCurrentTimestamp();
}

Failing failing_duties() noexcept {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    if (slot == nullptr)
        return {};
    return {pg_atomic_read_u64(&slot->failing), static_cast<TimestampTz>(pg_atomic_read_u64(&slot->failing_since))};
}

void note_taken_away(int64 id) {
    if (shared == nullptr)
        return; // the handler runs to its end in vain
    pending.taken_away.add(id, TopMemoryContext);
    pending.any = true;
}

void note_pool(int64 pool) {
    if (shared == nullptr)
        return;
    add_pool(pending.pool, &pending.pools, &pending.all_pools, pool);
    pending.any = true;
}

void note_placed() { pending.placed = shared != nullptr; }

void note_plan_finished() {
    if (shared == nullptr)
        return;
    pending.plan_finished = true;
    pending.any = true;
}

void note_agenda() {
    if (shared == nullptr)
        return;
    pending.agenda = true;
    pending.any = true;
}

void note_extension() {
    if (shared == nullptr)
        return;
    pending.extension = true;
    pending.any = true;
}

void note_databases() {
    if (shared == nullptr)
        return;
    pending.databases = true;
    pending.any = true;
}

bool has_own_tasks() noexcept { return pending.count > 0; }

std::optional<Own> own_tasks(Oid file, int32 queue, int16 priority) {
    const Note *note = pending.count > 0 ? find_note(file, queue, priority) : nullptr;
    if (note == nullptr)
        return std::nullopt;
    return Own{note->new_low, note->new_high, note->back, progress_of(*note)};
}

void note_progress(Oid file, int32 queue, int16 priority, const Progress &progress) noexcept {
    if (Note *note = pending.count > 0 ? find_note(file, queue, priority) : nullptr) {
        note->progress = progress;
        note->rolled_back = pending.rolled_back;
    }
}

ChangedPools take_changed_pools() {
    MonitorSlot *slot = monitor_slot(MyDatabaseId);
    if (slot == nullptr)
        return {true, true, 0, {}};
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    const bool unannounced = !slot->all_pools && slot->pools == 0;
    const ChangedPools taken{slot->all_pools || unannounced, unannounced, slot->pools, slot->pool};
    slot->all_pools = false;
    slot->pools = 0;
    LWLockRelease(shared->lock);
    return taken;
}

void install_callbacks() {
    RegisterXactCallback(at_end_of_transaction, nullptr);
    RegisterSubXactCallback(at_end_of_subtransaction, nullptr);
}

} // namespace scylla::shmem
