// One typed row per table, and how to find, insert and remove it. The columns are those of sql/tables.sql.
//
// Values by reference (names, jsonb) are plain copies in the current memory context.
#pragma once

#include "model/gaps.h"
#include "model/privilege.h"
#include "model/status.h"
#include "pg/growing.h"
#include "store/queue_settings.h"
#include "store/table.h"

namespace scylla::store {

// What submits and leases need of a queue.
struct QueueRow {
    int32 id;
    text *name;
    Interval *default_timeout; // null: the setting
    float8 aging;              // priority points per second of waiting
    std::optional<int32> max_attempts;
    bool paused;
    std::optional<int32> max_running;
    bool events; // records changes of status
    bool notify; // sends NOTIFY when there are tasks to lease
    std::optional<int32> max_running_per_key;
    std::optional<int32> max_depth;
    OnFull on_full;
    bool is_shared;                                                    // keys take turns, by their weights
    Jsonb *rate;                                                       // null: none
    Jsonb *rate_per_key;                                               // likewise
    const char *owner;                                                 // a role
    std::array<ArrayType *, model::k_privilege_names.size()> grantees; // roles (text[]) by model::Privilege; null: none
    ItemPointerData tid;   // its position when it was read: only for a Store that reads_queues
    text *handler;         // the function that the server calls for each task, with its schema; null: none
    Interval *run_timeout; // how long a run may take; null: any time
    // Settings that are not in effect yet. In this row such a bound is k_no_bound, which nothing reaches, so that calls
    // write what the bound will need. Keys do not take turns or have a rate yet.
    SettingSet pending;
    bool keeps_keys;       // its ready tasks are found by their keys once what is pending is in effect
    TransactionId version; // the transaction that has written the row
    TransactionId dropper; // the transaction in progress that is removing it; invalid: none
};

inline constexpr int32 k_no_bound = PG_INT32_MAX;
inline constexpr bool in_effect(const std::optional<int32> &bound) { return bound && *bound != k_no_bound; }

// Whether its running tasks are bounded: then its leases have permits.
inline bool has_limits(const QueueRow &queue) { return queue.max_running || queue.max_running_per_key; }
// Whether its ready tasks are also found by their keys.
inline bool goes_by_keys(const QueueRow &queue) {
    return queue.max_running_per_key || queue.is_shared || queue.rate_per_key != nullptr || queue.keeps_keys;
}

// The queue that was read last: a call reads the same queue again and again.
struct LastQueue {
    int32 id;                                    // 0: none yet
    std::optional<QueueRow> row;                 // nothing: there is no such queue
    std::optional<model::Privileges> privileges; // of the current user, once they were needed (task/rights.h)
};

// A scan for single rows, kept for the next lookup by the same index, because a btree scan is expensive to set up.
struct Lookup {
    bool open;
    Scan scan;
};

// A task that has ended, or a plan that was opened, whose dependants have to be looked at (task/gates.h).
struct Ended {
    int64 id;
    int64 plan;            // the plan of the task; 0: none
    int64 after = 0;       // the last of its dependants that has been looked at
    TimestampTz began = 0; // when the run began that completed it; 0: it was not completed
};

// What a verb has done in a queue, and with which settings. Another transaction may have changed these before the verb
// wrote its rows: that is checked when the verb closes the store (queue/pending.h).
enum class Use : std::uint8_t { made_ready, leased, submitted };
struct QueueUse {
    int32 queue;
    const text *name;
    std::array<bool, 3> use; // by Use
    bool had_permits;
    bool had_max_running;
    bool had_max_depth;
    bool had_keys;
};

// The pools that a verb has found for needs. drop_pool() may have missed the rows with these needs.
struct PoolUse {
    int64 id;
    const text *name;
};

// The tables that a verb has open, and its snapshot. Tables are opened when first used.
struct Store {
    LOCKMODE mode;         // RowExclusiveLock for verbs that write, AccessShareLock for those that look
    MemoryContext context; // of what lives as long as the store
    Snapshot snapshot;
    std::array<Table, k_tables> tables;
    std::array<std::array<Lookup, 2>, k_tables> lookups; // with this snapshot
    Lookup specs;                                        // of find_next_spec()
    int64 spec_shown;                                    // the id of the row that it shows; 0: none
    uint64 changes;                                      // table_changes() before the snapshot
    bool reads_queues; // each time from their table, whether this process knows them or not: for who changes them, or
                       // waits
    LastQueue last_queue;
    int64 last_plan; // whose name was read last; 0: none
    text *last_plan_name;
    std::array<Oid, model::k_status_names.size()> status; // values of scylla.task_status, as far as known
    std::array<TupleTableSlot *, k_tables> slots;         // of slot_of(); null: not made yet
    Growing<Ended> ended;
    Growing<QueueUse, 4> uses;
    Growing<PoolUse, 4> pool_uses;
    uint64 changes_at_opening;

    Table &operator[](TableId id);
};

Store open(LOCKMODE mode);
Store open(LOCKMODE mode, TableId first); // opens this table before the snapshot is taken
// Takes a fresh snapshot, and processes invalidations: sees everything committed by now, and everything that this
// transaction did.
void refresh(Store &store);
// Makes the changes visible to later commands of this transaction, and closes the tables.
void close(Store &store);

// A slot for a row of the table, shared by all callers that need it briefly.
TupleTableSlot *slot_of(Store &store, TableId table);

void note_ended(Store &store, const Ended &ended);
// queue: the row that the caller used. It must live as long as the store.
void note_use(Store &store, const QueueRow &queue, Use use);
void note_pool_use(Store &store, int64 pool, const text *name);
// Called by close() if settings of queues or pools that the verb has used have changed since the store was opened. One
// for queues, one for pools.
using SettingsHook = void (*)(Store &store);
extern SettingsHook settings_changed_hook;
extern SettingsHook pools_changed_hook;

// What a task keeps from run to run. History and errors are null as long as they are empty.
struct Carry {
    int32 attempt;
    int32 failures;
    Jsonb *history;
    Jsonb *errors;
};

struct SpecRow {
    int64 id;
    TimestampTz created;
    int32 queue;
    int16 priority;
    text *rn;
    Jsonb *spec; // null if it was not requested
    std::optional<TimestampTz> not_before;
    std::optional<int32> max_attempts;
    std::optional<int32> gates; // how many; nothing: none
    std::optional<int64> plan;
    Jsonb *retry;                     // null: the queue's
    text *dedup_key;                  // may be null
    text *key;                        // may be null
    Jsonb *needs;                     // of pools; null: nothing
    std::optional<int64> runtime;     // expected, in microseconds
    bool is_check;                    // tasks wait together for its answer (task/checks.h)
    std::optional<int64> run_timeout; // how long a run may take, in microseconds; nothing: as the queue says
    ItemPointerData tid = {};
    std::optional<TimestampTz> key_until = {}; // of a new one: how long its deduplication key is taken at least
};

struct ReadyRow {
    int64 id;
    TimestampTz updated;
    int32 queue;
    int16 priority;
    Carry carry;
    text *key; // may be null
    ItemPointerData tid = {};
    bool untouched; // no transaction was taking it when it was read
};

struct LeaseRow {
    int64 id;
    TimestampTz deadline;
    TimestampTz leased;
    TimestampTz updated;
    int64 timeout;
    int32 queue;
    float4 progress = 0;
    text *owner;
    Carry carry;  // usually without the assignment of this lease, which is in `leased`, `owner` and `attempt`
    text *permit; // null: its queue had no limit; else its key, or an empty text
    std::optional<int64> run_timeout; // as in SpecRow
    ItemPointerData tid = {};
};

struct WaitingRow {
    int64 id;
    std::optional<TimestampTz> due; // expiring: when the first of its gates times out
    TimestampTz updated;
    int32 queue;
    Carry carry;
    bool expiring = false;
    ItemPointerData tid = {};
};

// Otherwise its gates are open, and it waits for its time.
inline bool waits_for_gates(const WaitingRow &row) { return !row.due || row.expiring; }

struct OutcomeRow {
    int64 id;
    TimestampTz finished;
    std::optional<TimestampTz> leased;
    int32 queue;
    float4 progress;
    model::Status status;
    text *owner; // may be null
    Carry carry;
    Jsonb *result;  // may be null
    Jsonb *metrics; // may be null
    ItemPointerData tid = {};
};

// A reason why a task may not start yet: its provider, another task for example, is not done. Pools give no values.
enum class GateKind : char { task = 't', plan = 'p', condition = 'c', pool = 'r', check = 'k' };
enum class OnFailure : char { cascade = 'c', skip = 's', ignore = 'i' };
enum class OnTimeout : char { abort = 'a', skip = 's', ignore = 'i' };

// The deadline of a gate whose provider has not ended by then, and what that does to its task.
struct GateLimit {
    TimestampTz deadline;
    OnTimeout on_timeout;
};

inline constexpr int32 k_first_pool = 1'000'000'000; // ord of the first gate on a pool

struct GateRow {
    int64 task;
    int64 provider;
    int32 ord; // place in depends_on, from 1; 0: the plan; pools come last
    GateKind kind;
    OnFailure on_failure;
    std::optional<GateLimit> limit = {};
    std::optional<int64> every = {}; // of a check: how often it is to be asked, in microseconds
    ItemPointerData tid = {};
};

// The maker of a plan, which is called for its completed tasks (task/makers.h).
enum class PlanMaker : char { caller = 0, job = 'j', workflow = 'w' };

struct PlanRow {
    int64 id;
    TimestampTz created;
    std::optional<TimestampTz> opened;
    std::optional<TimestampTz> finished;
    bool cancelled;
    bool failed;
    const char *owner; // a role
    text *name;
    PlanMaker maker = PlanMaker::caller;
};

// The name of a plan; null if it does not exist.
text *plan_name(Store &store, int64 id);
// The queue of a task.
LastQueue &queue_of(Store &store, int32 id);

struct EventRow {
    int64 position; // see sql/tables.sql
    int64 id;
    TimestampTz time;
    int32 queue;
    int32 attempt;
    int32 failures;
    model::Status status;
    text *queue_name;
    text *rn;
    text *worker; // may be null
    ItemPointerData tid;
};

// The status as a value of scylla.task_status, and back.
Datum status_datum(Store &store, model::Status status);
model::Status status_of(Datum status);

enum class With : std::uint8_t { spec, no_spec };

std::optional<QueueRow> find_queue(Store &store, const text *name); // also becomes the last queue
std::optional<QueueSettings> find_settings(Store &store, int32 queue);
std::optional<SpecRow> find_spec(Store &store, const text *rn, With with);
std::optional<SpecRow> find_spec(Store &store, int64 id, With with);
// For ids in order, as in a batch: from one to the next it is a step in the index and no descent.
std::optional<SpecRow> find_next_spec(Store &store, int64 id, With with);
std::optional<ReadyRow> find_ready(Store &store, int32 queue, int16 priority, int64 id);
std::optional<LeaseRow> find_lease(Store &store, int64 id);
// Whether the ready task can be taken, as far as is known without trying.
Taken standing(Store &store, const ReadyRow &row);
std::optional<WaitingRow> find_waiting(Store &store, int64 id);
std::optional<OutcomeRow> find_outcome(Store &store, int64 id);
std::optional<PlanRow> find_plan(Store &store, const text *name);
std::optional<PlanRow> find_plan(Store &store, int64 id);

// For scans: the row in the slot.
QueueRow queue_row(const Scan &scan);
bool is_pending(const Scan &scan); // some setting of the queue is
QueueSettings queue_settings(const Scan &scan);
SpecRow spec_row(const Scan &scan, With with);
ReadyRow ready_row(const Scan &scan);
LeaseRow lease_row(const Scan &scan);
WaitingRow waiting_row(const Scan &scan);
EventRow event_row(const Scan &scan);
OutcomeRow outcome_row(const Scan &scan);
GateRow gate_row(const Scan &scan);
PlanRow plan_row(const Scan &scan);

// Scans, in the orders that verbs need.
Scan scan_queues(Store &store);
Scan scan_ready(Store &store, int32 queue); // in the order of leasing
// The same from a priority down. Another queue or priority can follow in the same scan.
Scan scan_ready_from(Store &store, int32 queue, int16 priority);
void restart_ready_from(Scan &scan, int32 queue, int16 priority);
// One priority, ids from `low` to `high`. Another range can follow in the same scan.
Scan scan_ready_range(Store &store, int32 queue, int16 priority, int64 low, int64 high);
void restart_ready_range(Scan &scan, int32 queue, int16 priority, int64 low, int64 high);
// By the index only, for next_ready_entry(): one priority from id `from` on, or all from `priority` down.
Scan scan_ready_index(Store &store, int32 queue, int16 priority);
void restart_ready_index(Scan &scan, int32 queue, int16 priority);
void restart_ready_index(Scan &scan, int32 queue, int16 priority, int64 from);
Scan scan_by_id(Store &store, TableId table, ScanDirection direction); // lease or waiting
Scan scan_before(Store &store, TableId table, int64 before);           // of those, ids below that, descending
Scan scan_leases(Store &store);                                        // in no order
Scan scan_by_due(Store &store);                                        // waiting, the earliest first
Scan scan_waiting(Store &store, int64 after);                          // ids larger than `after`, ascending
Scan scan_plans(Store &store, int64 after);                            // the same
// Specifications or outcomes, by the index only, for next_head(): ids below `from` descending, or larger ones
// ascending.
Scan scan_heads(Store &store, TableId table, int64 from, ScanDirection direction);
Scan scan_gates(Store &store, int64 task);          // of one task, by ord
Scan scan_dependants(Store &store, int64 provider); // gates of one provider, by task
void restart_dependants(Scan &scan, int64 provider);

// In their order: those of one position with an id larger than `after`; those of positions from `from` on.
Scan scan_events_at(Store &store, int64 position, int64 after);
Scan scan_events(Store &store, int64 from);

// What a long scan needs of each row.
struct ReadyEntry {
    int16 priority;
    int64 id;
};
Found next_ready_entry(Scan &scan, ReadyEntry *entry);

// The ready tasks of a queue in the order of keys, and of each key in the order of leasing: by the index only, for
// next_keyed(). Begins with the first key; restart_keyed_…() continue behind a key, or within one.
struct KeyedPlace {
    text *key;
    int16 priority;
    int64 id;
};
Scan scan_keyed(Store &store, int32 queue);
void restart_keyed_after(Scan &scan, int32 queue, const text *key);
// From a key on; below a priority of a key; or in a priority, behind an id.
void restart_keyed_from(Scan &scan, int32 queue, const text *key);
void restart_keyed_below(Scan &scan, int32 queue, const text *key, int16 priority);
void restart_keyed_behind(Scan &scan, int32 queue, const KeyedPlace &place);
Found next_keyed(Scan &scan, KeyedPlace *place); // without the key if the entry is dead
// The key of the present entry; whether it is this one.
text *copy_key(const Scan &scan);
bool has_key(const Scan &scan, const text *key);
// The columns that tell who waits for a provider, and until when at most, without the rest of the row.
struct GateHead {
    int64 task;
    std::optional<TimestampTz> deadline;
};
GateHead gate_head(const Scan &scan);
// The tasks with these ids, in order and each once, that wait for their gates.
struct GateWaiter {
    int64 id;
    int32 queue;
    int32 attempt;
};
std::span<const GateWaiter> find_gate_waiters(Store &store, std::span<const int64> ids);
// The columns that decide whether a lease ends, without the rest of the row.
struct LeaseTimes {
    TimestampTz deadline;
    TimestampTz leased;
    int32 queue;
};
LeaseTimes lease_times(const Scan &scan);
struct OutcomeHead {
    int64 id;
    TimestampTz finished;
    int32 queue;
    Datum status; // of scylla.task_status
    ItemPointerData tid;
};
OutcomeHead outcome_head(const Scan &scan);

// What the index tells of a specification or an outcome. There may be no row any more, or not yet: read_row() finds it.
struct Head {
    int64 id;
    int32 queue;
    Datum status; // of scylla.task_status; of a specification 0
};
bool next_head(Scan &scan, Head *head); // false: there are no more

// How a task ended.
model::Status outcome_status(Store &store, const Scan &scan);
struct Ending {
    model::Status status;
    Jsonb *errors; // of a task that was aborted, or cancelled before its first lease; else null
};
Ending outcome_ending(Store &store, const Scan &scan);

void insert(Store &store, const SpecRow &row);         // 23505 if the rn is taken
void insert_made_up(Store &store, const SpecRow &row); // with a generated name, which cannot be taken
// Replaces what may change of a task that waits or is ready: priority and not_before, and perhaps the spec. This
// transaction has taken the row of its state. A reader that sees the new row of the state also sees this.
void update_spec(Store &store, const SpecRow &row, With with);
// Writes how many gates a task has. The caller has taken the row of its state.
void set_gates(Store &store, const SpecRow &row, std::optional<int32> gates);
void insert(Store &store, const ReadyRow &row);
void insert(Store &store, const LeaseRow &row);
void insert(Store &store, const WaitingRow &row);
void insert(Store &store, const OutcomeRow &row);
void insert(Store &store, const GateRow &row);
void insert(Store &store, const EventRow &row);

// Writes deadline, updated and progress of a lease that was found just before. ok or gone.
Taken update_lease(Store &store, const LeaseRow &row);

// How many leases with permits the queue has, committed or of transactions in progress. The caller must keep others
// from adding any.
int64 count_permits(Store &store, int32 queue);
// The same for leases with this permit whose ids are in one of the ranges.
struct PermitCount {
    std::span<const int64> ids; // sorted
    int64 dead;                 // index entries that led to none
};
PermitCount find_permits(Store &store, int32 queue, const text *permit, std::span<const model::IdRange> ranges);
// The rows of queues that are prepared for a setting: all that the snapshot sees, or only those that this transaction
// has written. Rows that another transaction is changing are left. At most `limit` rows are changed.
enum class Whose : bool { all, own };
struct QueueRepair {
    int32 queue;
    bool left; // there are rows that were not changed, though they need it
};
struct Repair {
    std::span<QueueRepair> queues; // sorted
    Whose whose;
    int64 limit;
    int64 done;
};
// Gives permits to the leases of the queues that have none. Reads all leases.
void give_permits(Store &store, Repair &repair);
// Gives keys to the ready tasks of the queues that have none: the empty text. `tell` gets each.
void give_keys(Store &store, Repair &repair, void (*tell)(Store &store, const ReadyRow &row));
// The transactions in progress, except this one, that have written live tasks of the queues. Reads all live tasks.
struct Writer {
    int32 queue;
    TransactionId xid;

    auto operator<=>(const Writer &) const = default;
};
std::span<const Writer> writers_of(Store &store, std::span<const int32> queues); // both sorted
// All tasks behind an id, in the order of their ids, also those that transactions in progress have written.
struct SpecWalk {
    SnapshotData *dirty;
    Scan scan;
};
struct WalkedSpec {
    SpecRow row; // without the spec itself
    bool in_progress;
};
SpecWalk begin_spec_walk(Store &store, int64 after);
bool next(SpecWalk &walk, WalkedSpec *spec);
void end(SpecWalk &walk);
// Whether a task belongs to the queue, also one that a transaction in progress has written.
bool has_tasks(Store &store, int32 queue);

// How many tasks of the queue are waiting or ready, up to `limit`.
int64 count_unleased(Store &store, int32 queue, int64 limit);
// The waiting and ready tasks of the queue that prepared transactions have inserted.
struct PreparedTasks {
    std::span<const int64> ids; // sorted
    bool any;                   // such transactions have inserted some, or are known to have taken some
};
PreparedTasks find_prepared(Store &store, int32 queue);
// How many tasks are waiting or ready, plus those of these that are not visible.
int64 count_unleased(Store &store, int32 queue, std::span<const int64> prepared);
// The same for leases with permits.
PreparedTasks find_prepared_permits(Store &store, int32 queue);
int64 count_permits(Store &store, int32 queue, std::span<const int64> prepared);

// Writes the settings of a queue, waiting for a concurrent change. gone: look again.
Taken update_settings(Store &store, const QueueRow &queue, const QueueSettings &settings, SettingSet pending);
// Marks pending settings as in effect, without waiting: busy if another transaction is changing the queue.
Taken end_pending(Store &store, const QueueRow &queue);
// Waits for a transaction that is removing the queue. False: refresh the store and look again.
bool outlives_drop(const QueueRow &queue);
// The row as it is now, not from the cache.
std::optional<QueueRow> read_queue(Store &store, int32 queue);
Taken remove_queue(Store &store, const QueueRow &queue); // the same

// Whether this transaction has written the row.
bool is_own_row(Store &store, TableId table, const ItemPointerData &tid);

// Scans of every row of a table: those that belong to a queue.
Scan scan_all(Store &store, TableId table);
int32 queue_of(const Scan &scan, TableId table);
// The holder of a deduplication key: a live task, or a completed one that keeps the key for a time. The row of any
// other task has no effect: the next task with the key replaces it.
struct KeyHolder {
    int64 id;
    std::optional<TimestampTz> until; // it keeps the key until then, if it is completed
    bool ended;
};
std::optional<KeyHolder> find_dedup_key(Store &store, int32 queue, const text *key);
// Whether a task that has ended still has its key.
bool keeps_dedup_key(Store &store, const SpecRow &row);
// Removes the row of a key that a task has, or had, unless another task has it by now. False: another transaction is
// changing the row (only without wait).
bool remove_dedup_key(Store &store, const SpecRow &row, bool wait);
// The same at the end of a task, without waiting. A completed task may keep the key.
void end_dedup_key(Store &store, const SpecRow &row, bool completed);
// Removes the rows of those keys of these rows that no task holds any more, in the order in which keys are inserted.
void remove_free_dedup_keys(Store &store, std::span<const SpecRow> rows);

// The type scylla.task: a row of the view.
Oid task_type();

// The next number of one of the sequences.
int64 next_task_id(); // for plans too
int64 last_task_id(); // the last one used; 0: none yet
int64 next_worker();
int64 next_event_id();

} // namespace scylla::store
