#include "queue/pending.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "task/depth.h"
#include "shmem/gaps.h"
#include "shmem/key_notes.h"
#include "shmem/pending.h"
#include "store/locks.h"
#include "store/queue_changes.h"
#include "store/queue_list.h"
#include "task/events.h"
#include "task/duty.h"
#include "task/open.h"

namespace scylla {

using store::Repair;
using store::Store;
using store::TableId;
using store::Use;
using store::Whose;

namespace {

constexpr int64 k_patience = USECS_PER_SEC; // for verbs that may have read the settings before they were recorded
constexpr int64 k_soon = 10'000;            // microseconds until the next look; then twice that, and so on
constexpr int64 k_longest_delay = USECS_PER_SEC;

// A row may be changed once by a command.
void look_again(Store &store) {
    CommandCounterIncrement();
    refresh(store);
}

// ---- preparing rows ------------------------------------------------------------------------------------------------

void tell_ready(Store &store, const store::ReadyRow &row) {
    // For the heads, the task has come back: a scan may have seen the old version as dead.
    shmem::note_ready(compat::file_number(store[TableId::ready].rel), row.queue, row.priority, row.id, false);
}

using Kind = bool (*)(const store::QueueRow &queue);

// Notes in `left` which queues of a kind have rows that give() has not changed.
template <typename Give>
void repair_rows(std::span<const store::QueueRow> queues, Kind kind, Whose whose, Portion &portion,
                 std::span<bool> left, Give give) {
    const auto of = allocate<store::QueueRepair>(queues.size());
    std::size_t count = 0;
    for (const store::QueueRow &queue : queues)
        if (kind(queue))
            of[count++] = {queue.id, false};
    if (count == 0)
        return;
    Repair repair{of.first(count), whose, portion.limit - portion.done, 0};
    give(repair);
    portion.done += repair.done;
    std::size_t next = 0;
    for (std::size_t i = 0; i < queues.size() && next < count; i++)
        if (queues[i].id == of[next].queue)
            left[i] = left[i] || of[next++].left;
}

// Prepares all rows of the queues, which are sorted, or all rows of this transaction. left[i]: some of queues[i] are
// left.
std::span<const bool> prepare_rows(Store &store, std::span<const store::QueueRow> queues, Whose whose,
                                   Portion &portion) {
    const auto left = allocate<bool>(queues.size());
    std::fill(left.begin(), left.end(), false);
    repair_rows(queues, store::has_limits, whose, portion, left, [&](Repair &repair) {
        give_permits(store, repair);
        // The queue may have had a limit before: what was known of its permits then is outdated.
        for (const store::QueueRepair &queue : repair.queues)
            shmem::forget_gaps({MyDatabaseId, compat::file_number(store[TableId::lease].rel), queue.queue});
    });
    repair_rows(queues, store::goes_by_keys, whose, portion, left, [&](Repair &repair) {
        give_keys(store, repair, tell_ready);
        shmem::note_all_keys_ready();
    });
    return left;
}

// From now on running tasks count, also those that this transaction has leased.
void begin_counts(Store &store, const store::QueueRow &queue) {
    if (queue.max_depth)
        begin_depth(store, queue.id, shmem::Bounded::unleased);
    if (queue.max_running)
        begin_depth(store, queue.id, shmem::Bounded::running);
}

void put_in_effect(Store &store, const store::QueueRow &queue) {
    begin_counts(store, queue);
    shmem::note_room(queue.id, PG_INT64_MAX); // keys may take turns now, say
    notify_ready(store, queue.id);
}

// ---- waiting without a lock ----------------------------------------------------------------------------------------

// What has to end before the settings in one version of a queue's row can take effect.
struct Watch {
    int32 queue; // the key
    TransactionId version;
    ItemPointerData tid;
    TimestampTz since;
    TimestampTz at; // the next look
    int64 delay;    // after that one
    uint64 round;   // the last one of settle_queues() that has met the queue
    std::span<VirtualTransactionId> verbs;
    std::span<TransactionId> writers;
};
constinit HTAB *watches = nullptr; // as long as the process
constinit uint64 round_now = 0;

template <typename T> std::span<T> keep(std::span<const T> values) {
    auto *kept = static_cast<T *>(MemoryContextAllocHuge(TopMemoryContext, values.size() * sizeof(T) + 1));
    std::copy(values.begin(), values.end(), kept);
    return {kept, values.size()};
}

void forget(Watch &watch) {
    if (watch.verbs.data() != nullptr)
        pfree(watch.verbs.data());
    if (watch.writers.data() != nullptr)
        pfree(watch.writers.data());
    watch.verbs = {};
    watch.writers = {};
}

// The watch over this version of the queue; one that is not there yet has no version.
Watch &watch_over(const store::QueueRow &queue) {
    if (watches == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(int32);
        control.entrysize = sizeof(Watch);
        control.hcxt = TopMemoryContext;
        watches = hash_create("scylla pending settings", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    bool found = false;
    Watch &watch = *static_cast<Watch *>(hash_search(watches, &queue.id, HASH_ENTER, &found));
    ItemPointerData tid = queue.tid;
    if (found && (watch.version != queue.version || !ItemPointerEquals(&watch.tid, &tid)))
        forget(watch);
    else if (found)
        return watch;
    watch = Watch{};
    watch.queue = queue.id;
    return watch;
}

// Begins to watch these queues, which are sorted.
void begin_watches(Store &store, std::span<const store::QueueRow> queues) {
    if (queues.empty())
        return;
    const LOCKTAG tag = writers_lock_tag(store);
    int count = 0;
    const VirtualTransactionId *verbs = GetLockConflicts(&tag, ShareRowExclusiveLock, &count);
    const auto ids = allocate<int32>(queues.size());
    std::transform(queues.begin(), queues.end(), ids.begin(), [](const store::QueueRow &queue) { return queue.id; });
    const auto writers = writers_of(store, ids);
    const TimestampTz now = GetCurrentTimestamp();
    auto next = writers.begin();
    const auto own = allocate<TransactionId>(writers.size());
    for (const store::QueueRow &queue : queues) {
        std::size_t number = 0;
        for (; next != writers.end() && next->queue == queue.id; ++next)
            own[number++] = next->xid;
        Watch &watch = watch_over(queue);
        watch.verbs = keep(std::span<const VirtualTransactionId>(verbs, static_cast<std::size_t>(count)));
        watch.writers = keep(std::span<const TransactionId>(own.data(), number));
        watch.tid = queue.tid;
        watch.since = now;
        watch.delay = k_soon;
        watch.round = round_now;
        watch.version = queue.version;
    }
}

// Whether all transactions have ended that may write without knowing the settings.
bool is_over(Watch &watch) {
    std::size_t verbs = watch.verbs.size();
    while (verbs > 0 && VirtualXactLock(watch.verbs[verbs - 1], false))
        verbs--;
    watch.verbs = watch.verbs.first(verbs);
    std::size_t writers = watch.writers.size();
    while (writers > 0 && !TransactionIdIsInProgress(watch.writers[writers - 1]))
        writers--;
    watch.writers = watch.writers.first(writers);
    return writers == 0 && (verbs == 0 || GetCurrentTimestamp() - watch.since >= k_patience);
}

// Whether the transaction that recorded the settings has released its locks: then its message has been sent to all
// processes.
bool is_told(const store::QueueRow &queue) {
    if (TransactionIdIsNormal(queue.version) && TransactionIdIsCurrentTransactionId(queue.version))
        return store::is_own_queue(queue.id);
    return !TransactionIdIsNormal(queue.version) || compat::has_ended(queue.version);
}

// The queues with pending settings, in the order of their ids.
std::span<store::QueueRow> pending_queues(Store &store) {
    static constinit store::QueueList<int32> known{};
    const auto ids = list_queues(store, known, [](const store::Scan &scan) {
        return store::is_pending(scan) ? std::optional(queue_row(scan).id) : std::nullopt;
    });
    const auto rows = allocate<store::QueueRow>(ids.size());
    std::size_t found = 0;
    for (const int32 id : ids)
        if (const auto row = store::read_queue(store, id);
            row && !row->pending.empty()) // a change may be visible that is not told yet
            rows[found++] = *row;
    return rows.first(found);
}

template <typename Is> std::span<const store::QueueRow> those(std::span<const store::QueueRow> queues, Is is) {
    const auto found = allocate<store::QueueRow>(queues.size());
    const auto end = std::copy_if(queues.begin(), queues.end(), found.begin(), is);
    return found.first(static_cast<std::size_t>(end - found.begin()));
}

// Queues that are gone, or whose settings are in effect, are watched no longer.
void end_watches() {
    if (watches == nullptr)
        return;
    HASH_SEQ_STATUS at;
    hash_seq_init(&at, watches);
    while (auto *watch = static_cast<Watch *>(hash_seq_search(&at)))
        if (watch->round != round_now) {
            forget(*watch);
            (void)hash_search(watches, &watch->queue, HASH_REMOVE, nullptr);
        }
}

// Puts the settings into effect whose rows can be prepared now, in one pass.
void settle(Store &store, std::span<const store::QueueRow> queues, Portion &portion) {
    refresh(store); // to see what the transactions have committed that it waited for
    const auto left = prepare_rows(store, queues, Whose::all, portion);
    for (std::size_t i = 0; i < queues.size(); i++)
        if (!left[i] && end_pending(store, queues[i]) == store::Taken::ok) {
            put_in_effect(store, queues[i]);
            watch_over(queues[i]).round = 0;
        }
}

} // namespace

namespace {

// The duty for watched queues. A watch looks at growing intervals, unless it has been interrupted.
TimestampTz next_look(std::span<const store::QueueRow> told, TimestampTz now, bool interrupted) {
    TimestampTz next = shmem::k_never;
    for (const store::QueueRow &queue : told) {
        Watch &watch = watch_over(queue);
        if (watch.round != round_now)
            continue; // in effect
        if (watch.at <= now && !interrupted) {
            watch.at = now + watch.delay;
            watch.delay = std::min(watch.delay * 2, k_longest_delay);
            if (watch.writers.empty() && watch.since + k_patience > now)
                watch.at = std::min(watch.at, watch.since + k_patience);
        }
        next = std::min(next, watch.at);
    }
    return next;
}

} // namespace

void settle_queues(Store &store, DutyTurn &turn) {
    round_now++;
    const auto pending = pending_queues(store);
    const auto told = those(pending, is_told);
    begin_watches(store, those(told, [](const store::QueueRow &queue) { return watch_over(queue).version == 0; }));
    const TimestampTz now = GetCurrentTimestamp();
    const auto over = those(told, [now](const store::QueueRow &queue) {
        Watch &watch = watch_over(queue);
        watch.round = round_now;
        return watch.at <= now && is_over(watch);
    });
    if (!over.empty())
        settle(store, over, turn.portion);
    const TimestampTz end = GetCurrentTimestamp();
    turn.next = next_look(told, end, turn.portion.done == turn.portion.limit);
    if (told.size() < pending.size())
        turn.next = std::min(turn.next, end + k_soon);
    if (turn.next < shmem::k_never)
        turn.next = std::max(turn.next, end + (end - turn.now) * model::k_background_share);
    end_watches();
}

void settle_all_queues(Store &store) {
    const TimestampTz begin = GetCurrentTimestamp();
    for (;;) {
        DutyTurn turn{.now = GetCurrentTimestamp(), .portion = {.limit = PG_INT64_MAX}};
        look_again(store);
        settle_queues(store, turn);
        look_again(store);
        if (turn.next == shmem::k_never || GetCurrentTimestamp() - begin > k_patience + 10 * k_soon)
            return;
        CHECK_FOR_INTERRUPTS();
        pg_usleep(k_soon);
    }
}

void settle_own_queue(Store &store, int32 queue) {
    look_again(store);
    const auto row = read_queue(store, queue);
    Portion portion{.limit = PG_INT64_MAX};
    if (!row || row->pending.empty() || prepare_rows(store, {&*row, 1}, Whose::all, portion)[0] ||
        end_pending(store, *row) != store::Taken::ok)
        return;
    look_again(store);
    put_in_effect(store, *row);
}

// ---- verbs that may not have known ---------------------------------------------------------------------------------

namespace {

bool did(const store::QueueUse &use, Use what) { return use.use[static_cast<std::size_t>(what)]; }

// What the rows of a verb lack that has used other settings than these.
struct Lack {
    bool permits;
    bool running;
    bool depth;
    bool keys;
    bool binding; // of a bound that is in effect: other calls have relied on it
};

Lack lack_of(const store::QueueUse &use, const store::QueueRow &queue) {
    const bool leased = did(use, Use::leased);
    Lack lack{.permits = leased && has_limits(queue) && !use.had_permits,
              .running = leased && queue.max_running && !use.had_max_running,
              .depth = did(use, Use::submitted) && queue.max_depth && !use.had_max_depth,
              .keys = did(use, Use::made_ready) && goes_by_keys(queue) && !use.had_keys,
              .binding = false};
    lack.binding = (lack.running && store::in_effect(queue.max_running)) ||
                   (lack.permits && store::in_effect(queue.max_running_per_key)) ||
                   (lack.depth && store::in_effect(queue.max_depth));
    return lack;
}

void make_up_for(Store &store, const Lack &lack, const store::QueueRow &queue) {
    if (lack.permits || lack.keys) {
        Portion portion{.limit = PG_INT64_MAX};
        (void)prepare_rows(store, {&queue, 1}, Whose::own, portion);
    }
    if (lack.running)
        begin_depth(store, queue.id, shmem::Bounded::running);
    if (lack.depth && shmem::shared != nullptr)
        begin_depth(store, queue.id, shmem::Bounded::unleased);
    if (lack.depth && shmem::shared == nullptr)
        (void)take_room(store, queue, 1); // the lock is what counts
}

void catch_up(Store &store, const store::QueueUse &use) {
    bool made_up = false;
    for (;; look_again(store)) {
        const auto queue = read_queue(store, use.queue);
        const bool submitted = did(use, Use::submitted);
        if (!queue && submitted)
            error::no_such_queue(use.name); // it was dropped, and its drop has not seen the tasks
        if (!queue)
            return;
        if (submitted && !store::outlives_drop(*queue))
            continue;
        const Lack lack = lack_of(use, *queue);
        if (lack.binding)
            error::settings_changed(use.name);
        if (made_up || !(lack.permits || lack.running || lack.depth || lack.keys))
            return;
        make_up_for(store, lack, *queue);
        made_up = true; // and the settings are still pending, or else it was too late
    }
}

void catch_up_all(Store &store) {
    const auto uses = store.uses.all();
    store.uses = {};
    look_again(store);
    for (const store::QueueUse &use : uses)
        catch_up(store, use);
}

} // namespace

void register_pending_duty() {
    store::settings_changed_hook = catch_up_all;
    register_duty({.activity = "putting settings of queues in effect",
                   .work = settle_queues,
                   .timer = shmem::Timer::settings,
                   .share = 50});
}

} // namespace scylla
