// One typed row per table, and how to find, insert and remove it. The columns are those of sql/tables.sql.
//
// Values by reference (names, jsonb) are plain copies in the current memory context.
#pragma once

#include "model/status.h"
#include "store/table.h"

namespace scylla::store {

// A scan for single rows, kept for the next lookup by the same index: a btree scan is much to set up for one row.
struct Lookup {
    bool open;
    Scan scan;
};

// The tables that a verb has open, and the snapshot with which it looks. Tables are opened when first used.
struct Store {
    LOCKMODE mode; // RowExclusiveLock for verbs that write, AccessShareLock for those that look
    MemoryContext context; // of what lives as long as the store
    Snapshot snapshot;
    std::array<Table, k_tables> tables;
    std::array<std::array<Lookup, 2>, k_tables> lookups; // with this snapshot
    int32 last_queue;                                    // the queue whose name was asked for last; 0: none
    text *last_queue_name;
    std::array<Oid, model::k_status_names.size()> status; // values of scylla.task_status, as far as known

    Table &operator[](TableId id);
};

Store open(LOCKMODE mode);
// Takes a fresh snapshot: everything committed by now, and everything this transaction did.
void refresh(Store &store);
// Makes what was done visible to what comes next in this transaction, and closes the tables.
void close(Store &store);

// What a task carries from run to run. History and errors are null as long as they are empty.
struct Carry {
    int32 attempt;
    int32 failures;
    Jsonb *history;
    Jsonb *errors;
};

struct QueueRow {
    int32 id;
    text *name;
    Interval *default_timeout; // null: the setting
    Interval *retention;       // null: the setting
    float8 aging;              // priority points per second of waiting
};

struct SpecRow {
    int64 id;
    TimestampTz created;
    int32 queue;
    int16 priority;
    text *rn;
    Jsonb *spec; // null where it was not asked for
    std::optional<TimestampTz> not_before;
    std::optional<int32> max_attempts;
    ItemPointerData tid;
};

struct ReadyRow {
    int64 id;
    TimestampTz updated;
    int32 queue;
    int16 priority;
    Carry carry;
    ItemPointerData tid;
};

struct LeaseRow {
    int64 id;
    TimestampTz deadline;
    TimestampTz leased;
    TimestampTz updated;
    int64 timeout;
    int32 queue;
    float4 progress;
    text *owner;
    Carry carry; // without the assignment of this lease, which `leased`, `owner` and `attempt` tell
    ItemPointerData tid;
};

struct WaitingRow {
    int64 id;
    std::optional<TimestampTz> due;
    TimestampTz updated;
    int32 queue;
    Carry carry;
    ItemPointerData tid;
};

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
    ItemPointerData tid;
};

// The name of a queue; null if it does not exist.
text *queue_name(Store &store, int32 id);

// The status as a value of scylla.task_status, and back.
Datum status_datum(Store &store, model::Status status);
model::Status status_of(Datum status);

enum class With : std::uint8_t { spec, no_spec };

std::optional<QueueRow> find_queue(Store &store, const text *name);
std::optional<QueueRow> find_queue(Store &store, int32 id);
std::optional<SpecRow> find_spec(Store &store, const text *rn, With with);
std::optional<SpecRow> find_spec(Store &store, int64 id, With with);
std::optional<ReadyRow> find_ready(Store &store, int32 queue, int16 priority, int64 id);
std::optional<LeaseRow> find_lease(Store &store, int64 id);
std::optional<WaitingRow> find_waiting(Store &store, int64 id);
std::optional<OutcomeRow> find_outcome(Store &store, int64 id);

// For scans: the row in the slot.
QueueRow queue_row(const Scan &scan);
SpecRow spec_row(const Scan &scan, With with);
ReadyRow ready_row(const Scan &scan);
LeaseRow lease_row(const Scan &scan);
WaitingRow waiting_row(const Scan &scan);
OutcomeRow outcome_row(const Scan &scan);

// Scans in the orders that verbs need.
Scan scan_queues(Store &store);
Scan scan_ready(Store &store, int32 queue);                          // in the order of leasing
// One priority, ids from `from` to below `before`.
Scan scan_ready_range(Store &store, int32 queue, int16 priority, int64 from, int64 before);
// The same by keys only, for next_ready_key().
Scan scan_ready_keys(Store &store, int32 queue, int16 priority, int64 from, int64 before);
Scan scan_by_id(Store &store, TableId table, ScanDirection direction); // spec, lease, waiting or outcome
Scan scan_leases(Store &store);                                      // in no order
Scan scan_by_due(Store &store);                                      // waiting, the earliest first
Scan scan_outcomes(Store &store, int64 after);                       // ids larger than `after`, ascending

// Only what a long scan needs to know of each row.
Found next_ready_key(Scan &scan, int64 *id);
TimestampTz lease_deadline(const Scan &scan);
struct OutcomeKey {
    int64 id;
    TimestampTz finished;
    int32 queue;
    ItemPointerData tid;
};
OutcomeKey outcome_key(const Scan &scan);

[[nodiscard]] bool insert(Store &store, const SpecRow &row); // false: the rn is taken (see insert_unique)
void insert_made_up(Store &store, const SpecRow &row);       // with a name that we have made, which cannot be taken
void insert(Store &store, const ReadyRow &row);
void insert(Store &store, const LeaseRow &row);
void insert(Store &store, const WaitingRow &row);
void insert(Store &store, const OutcomeRow &row);

// Writes deadline, updated and progress of a lease that is just found. ok or gone.
Taken update_lease(Store &store, const LeaseRow &row);

// The next number of one of the sequences.
int64 next_task_id();
int64 next_worker();

} // namespace scylla::store
