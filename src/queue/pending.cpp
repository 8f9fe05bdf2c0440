#include "queue/pending.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "task/depth.h"
#include "shmem/gaps.h"
#include "shmem/key_notes.h"
#include "shmem/pending.h"
#include "store/upsert.h"
#include "task/events.h"
#include "task/open.h"

namespace scylla {

using store::Repair;
using store::Store;
using store::TableId;
using store::Use;
using store::Whose;

namespace {

constexpr int64 k_patience = USECS_PER_SEC; // for verbs that may have read the settings before they were recorded
constexpr int64 k_soon = 10'000;            // microseconds until the next look

// A row may be changed once by a command.
void look_again(Store &store) {
    CommandCounterIncrement();
    refresh(store);
}

// ---- preparing rows ------------------------------------------------------------------------------------------------

// Whether all rows of the queue, or all of this transaction, are fit for its settings now.
bool prepare_rows(Store &store, const store::QueueRow &queue, Whose whose, Portion *portion) {
    Repair permits{queue.id, whose, portion->limit, 0, false};
    if (has_limits(queue)) {
        give_permits(store, permits);
        // The queue may have had a limit before: what was known of its permits then is not true any more.
        shmem::forget_gaps({MyDatabaseId, compat::file_number(store[TableId::lease].rel), queue.id});
    }
    Repair keys{queue.id, whose, portion->limit, 0, false};
    if (goes_by_keys(queue)) {
        give_keys(store, keys, [](Store &of, const store::ReadyRow &row) {
            // To the heads it is as if it had come back: some scan may have seen the old version go.
            shmem::note_ready(compat::file_number(of[TableId::ready].rel), row.queue, row.priority, row.id, false);
        });
        shmem::note_all_keys_ready();
    }
    portion->done += permits.done + keys.done;
    portion->more = portion->more || permits.left || keys.left;
    return !permits.left && !keys.left;
}

// What this transaction has taken, and what runs, is counted from now on.
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

// What has to end before the settings of a queue, as one version of its row has them, can take effect.
struct Watch {
    int32 queue; // 0: free
    TransactionId version;
    ItemPointerData tid;
    TimestampTz since;
    std::size_t verbs;
    std::array<VirtualTransactionId, 64> verb; // that held task_spec; more than that many: k_patience must do
    std::size_t writers;
    std::array<TransactionId, 256> writer;
};
constinit std::array<Watch, 16> watches{};

void begin_watch(Store &store, Watch &watch, const store::QueueRow &queue) {
    watch = {queue.id, queue.version, queue.tid, GetCurrentTimestamp(), 0, {}, 0, {}};
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, RelationGetRelid(store[TableId::spec].rel));
    int count = 0;
    const VirtualTransactionId *verbs = GetLockConflicts(&tag, ShareRowExclusiveLock, &count);
    watch.verbs = std::min(static_cast<std::size_t>(count), watch.verb.size());
    std::copy_n(verbs, watch.verbs, watch.verb.begin());
    const auto writers = writers_of(store, queue.id);
    watch.writers = writers.size();
    std::copy_n(writers.begin(), std::min(writers.size(), watch.writer.size()), watch.writer.begin());
}

// The watch over this version of the queue; null: there are too many, so another round has to do it.
Watch *watch_over(Store &store, const store::QueueRow &queue) {
    Watch *free = nullptr;
    for (Watch &watch : watches) {
        if (watch.queue == queue.id) {
            ItemPointerData tid = queue.tid;
            const bool same = watch.version == queue.version && ItemPointerEquals(&watch.tid, &tid);
            if (!same || watch.writers > watch.writer.size())
                begin_watch(store, watch, queue);
            return &watch;
        }
        if (watch.queue == 0)
            free = &watch;
    }
    if (free != nullptr)
        begin_watch(store, *free, queue);
    return free;
}

// Whether nobody writes any more who may not know of the settings.
bool is_over(Watch &watch) {
    while (watch.verbs > 0 && VirtualXactLock(watch.verb[watch.verbs - 1], false))
        watch.verbs--;
    if (watch.verbs > 0 && GetCurrentTimestamp() - watch.since < k_patience)
        return false;
    if (watch.writers > watch.writer.size())
        return false;
    while (watch.writers > 0 && !TransactionIdIsInProgress(watch.writer[watch.writers - 1]))
        watch.writers--;
    return watch.writers == 0;
}

// Whether the transaction that recorded the settings has given up its locks: then everybody has been told of them.
bool is_told(const store::QueueRow &queue) {
    if (TransactionIdIsNormal(queue.version) && TransactionIdIsCurrentTransactionId(queue.version))
        return store::is_own_queue(queue.id);
    return !TransactionIdIsNormal(queue.version) || ConditionalXactLockTableWait(queue.version);
}

// False: it has to wait.
bool settle_queue(Store &store, const store::QueueRow &queue, Portion *portion) {
    if (!is_told(queue))
        return false;
    Watch *watch = watch_over(store, queue);
    if (watch == nullptr || !is_over(*watch))
        return false;
    refresh(store); // it sees what those have committed who were waited for
    if (!prepare_rows(store, queue, Whose::all, portion))
        return false;
    if (end_pending(store, queue) != store::Taken::ok)
        return false;
    put_in_effect(store, queue);
    watch->queue = 0;
    return true;
}

// The queues with pending settings.
std::span<store::QueueRow> pending_queues(Store &store) {
    constexpr std::size_t k_most = 64; // the others are for the next round
    const auto rows = allocate<store::QueueRow>(k_most);
    std::size_t count = 0;
    store::Scan scan = scan_queues(store);
    while (count < k_most && next(scan))
        if (store::is_pending(scan))
            rows[count++] = queue_row(scan);
    end(scan);
    return rows.first(count);
}

// A queue that is gone, or whose settings are in effect, is watched no longer.
void end_watches(std::span<const store::QueueRow> pending) {
    for (Watch &watch : watches)
        if (std::none_of(pending.begin(), pending.end(),
                         [&](const store::QueueRow &queue) { return queue.id == watch.queue; }))
            watch.queue = 0;
}

} // namespace

void settle_queues(Store &store, TimestampTz, Portion *portion, TimestampTz *next) {
    const auto pending = pending_queues(store);
    end_watches(pending);
    for (const store::QueueRow &queue : pending)
        if (!settle_queue(store, queue, portion))
            *next = std::min(*next, GetCurrentTimestamp() + k_soon);
}

void settle_all_queues(Store &store) {
    const TimestampTz begin = GetCurrentTimestamp();
    for (;;) {
        Portion portion{PG_INT64_MAX, 0, false};
        TimestampTz next = DT_NOEND;
        look_again(store);
        settle_queues(store, begin, &portion, &next);
        look_again(store);
        if (next == DT_NOEND || GetCurrentTimestamp() - begin > k_patience + k_soon)
            return;
        CHECK_FOR_INTERRUPTS();
        pg_usleep(k_soon);
    }
}

void settle_own_queue(Store &store, int32 queue) {
    look_again(store);
    const auto row = read_queue(store, queue);
    Portion portion{PG_INT64_MAX, 0, false};
    if (!row || row->pending.empty() || !prepare_rows(store, *row, Whose::all, &portion) ||
        end_pending(store, *row) != store::Taken::ok)
        return;
    look_again(store);
    put_in_effect(store, *row);
}

// ---- verbs that may not have known ---------------------------------------------------------------------------------

namespace {

bool did(const store::QueueUse &use, Use what) { return use.use[static_cast<std::size_t>(what)]; }

// What a verb lacks that has written by other settings than these.
struct Lack {
    bool permits;
    bool running;
    bool depth;
    bool keys;
    bool binding; // of a bound that is in effect: others have gone by it
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
        Portion portion{PG_INT64_MAX, 0, false};
        (void)prepare_rows(store, queue, Whose::own, &portion);
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
            error::no_such_queue(use.name); // it was dropped, and nobody has seen the tasks
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
    const store::QueueUses uses = store.uses;
    store.uses = {};
    look_again(store);
    for (std::size_t i = 0; i < uses.count; i++)
        catch_up(store, uses.rows[i]);
}

} // namespace

void install_settings_hook() { store::settings_changed_hook = catch_up_all; }

} // namespace scylla
