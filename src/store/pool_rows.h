// Rows of the line of pools, and of what tasks hold of them. Pools themselves are a control table: see pool/pools.cpp.
#pragma once

#include "store/dirty.h"

namespace scylla::store {

struct LineRow {
    int64 pool;
    int64 task_class; // not PG_INT64_MIN
    int64 task;
    TimestampTz created; // of the task
    int32 queue;
    int16 priority;
    Jsonb *needs;
    std::optional<int64> runtime;
    ItemPointerData tid;
};

struct ReservationRow {
    int64 task;
    int64 pool;
    TimestampTz since;
    int32 version;                   // of the pool then
    std::optional<TimestampTz> ends; // expected
    text *chosen;                    // the name of the pool if the task has one pool; else null
    Jsonb *amounts;
    ItemPointerData tid;
};

LineRow line_row(const Scan &scan);
// The columns that tell whose task it is, without the rest of the row.
struct LineHead {
    int64 task;
    int32 queue;
};
LineHead line_head(const Scan &scan);
ReservationRow reservation_row(const Scan &scan);

// The line of a pool by classes, behind one of them (PG_INT64_MIN: from the first on); and within each by tasks.
Scan scan_line(Store &store, int64 pool, int64 after_class);
void restart_line(Scan &scan, int64 pool, int64 after_class);
// The tasks of a class behind one of them.
Scan scan_class(Store &store, int64 pool, int64 task_class, int64 after);
void restart_class(Scan &scan, int64 pool, int64 task_class, int64 after);
// The lines of the pools with larger ids, from the first pool that has one on.
Scan scan_lines(Store &store, int64 after_pool);
void restart_lines(Scan &scan, int64 after_pool);
// Those of a task.
Scan scan_lines_of(Store &store, int64 task);
Scan scan_reservations_of(Store &store, int64 task);

void insert(Store &store, const LineRow &row);
void insert(Store &store, const ReservationRow &row);

// Whether the task is in the line of a pool.
Sight see_line(Dirty *dirty, int64 task);
// Whether the task holds something of a pool.
Sight see_reservation(Dirty *dirty, int64 task);
// All reservations in a pool, including those that transactions in progress are adding or removing. These rows are
// written once, so none is missed. absent: no more.
void walk_reservations(Dirty *dirty, int64 pool);
Sight next_reservation(Dirty *dirty, ReservationRow *row);

} // namespace scylla::store
