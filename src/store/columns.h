// The columns of the tables that are written directly: their numbers, and what the catalog must say of them when a
// table is opened (store/catalog.cpp). In the order of sql/tables.sql, from 1 as the server counts.
//
// lease_col::deadline is the number of a column, lease_col::k_columns describes all of them, lease_col::k_count is how
// many there are.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

struct ColumnDef {
    const char *name;
    Oid type;
};
inline constexpr Oid k_our_type = InvalidOid; // scylla.task_status, whose OID differs between databases

#define SCYLLA_COLUMN_NUMBER(name, type) name,
#define SCYLLA_COLUMN_DEF(name, type) ColumnDef{#name, type},
#define SCYLLA_COLUMNS(table, columns)                                                                                 \
    namespace table##_col {                                                                                            \
        enum : int { none, columns(SCYLLA_COLUMN_NUMBER) };                                                            \
        inline constexpr std::array k_columns{columns(SCYLLA_COLUMN_DEF)};                                             \
        inline constexpr int k_count = static_cast<int>(k_columns.size());                                             \
    }

// clang-format off
#define SCYLLA_QUEUE_COLUMNS(column) \
    column(id, INT4OID) \
    column(name, TEXTOID) \
    column(created, TIMESTAMPTZOID) \
    column(default_timeout, INTERVALOID) \
    column(retention, INTERVALOID) \
    column(aging, FLOAT8OID) \
    column(max_attempts, INT4OID) \
    column(retry, JSONBOID) \
    column(retention_completed, INTERVALOID) \
    column(retention_aborted, INTERVALOID) \
    column(retention_cancelled, INTERVALOID) \
    column(paused, BOOLOID) \
    column(max_running, INT4OID) \
    column(events, BOOLOID) \
    column(notify, BOOLOID) \
    column(max_running_per_key, INT4OID) \
    column(max_depth, INT4OID) \
    column(on_full, TEXTOID) \
    column(key_weights, JSONBOID) \
    column(rate, JSONBOID) \
    column(rate_per_key, JSONBOID) \
    column(owner, NAMEOID) \
    column(submitters, TEXTARRAYOID) \
    column(workers, TEXTARRAYOID) \
    column(viewers, TEXTARRAYOID) \
    column(admins, TEXTARRAYOID) \
    column(dependers, TEXTARRAYOID) \
    column(handler, TEXTOID) \
    column(pending, TEXTARRAYOID) \
    column(run_timeout, INTERVALOID)
SCYLLA_COLUMNS(queue, SCYLLA_QUEUE_COLUMNS)

#define SCYLLA_SPEC_COLUMNS(column) \
    column(id, INT8OID) \
    column(created, TIMESTAMPTZOID) \
    column(queue, INT4OID) \
    column(priority, INT2OID) \
    column(rn, TEXTOID) \
    column(spec, JSONBOID) \
    column(not_before, TIMESTAMPTZOID) \
    column(max_attempts, INT4OID) \
    column(gates, INT4OID) \
    column(plan, INT8OID) \
    column(retry, JSONBOID) \
    column(dedup_key, TEXTOID) \
    column(key, TEXTOID) \
    column(needs, JSONBOID) \
    column(runtime, INT8OID) \
    column(is_check, BOOLOID) \
    column(run_timeout, INT8OID)
SCYLLA_COLUMNS(spec, SCYLLA_SPEC_COLUMNS)

#define SCYLLA_READY_COLUMNS(column) \
    column(id, INT8OID) \
    column(updated, TIMESTAMPTZOID) \
    column(queue, INT4OID) \
    column(attempt, INT4OID) \
    column(failures, INT4OID) \
    column(priority, INT2OID) \
    column(history, JSONBOID) \
    column(errors, JSONBOID) \
    column(key, TEXTOID)
SCYLLA_COLUMNS(ready, SCYLLA_READY_COLUMNS)

#define SCYLLA_LEASE_COLUMNS(column) \
    column(id, INT8OID) \
    column(deadline, TIMESTAMPTZOID) \
    column(leased, TIMESTAMPTZOID) \
    column(updated, TIMESTAMPTZOID) \
    column(timeout, INT8OID) \
    column(queue, INT4OID) \
    column(attempt, INT4OID) \
    column(failures, INT4OID) \
    column(progress, FLOAT4OID) \
    column(owner, TEXTOID) \
    column(history, JSONBOID) \
    column(errors, JSONBOID) \
    column(permit, TEXTOID) \
    column(run_timeout, INT8OID)
SCYLLA_COLUMNS(lease, SCYLLA_LEASE_COLUMNS)

#define SCYLLA_WAITING_COLUMNS(column) \
    column(id, INT8OID) \
    column(due, TIMESTAMPTZOID) \
    column(updated, TIMESTAMPTZOID) \
    column(queue, INT4OID) \
    column(attempt, INT4OID) \
    column(failures, INT4OID) \
    column(history, JSONBOID) \
    column(errors, JSONBOID) \
    column(expiring, BOOLOID)
SCYLLA_COLUMNS(waiting, SCYLLA_WAITING_COLUMNS)

#define SCYLLA_OUTCOME_COLUMNS(column) \
    column(id, INT8OID) \
    column(finished, TIMESTAMPTZOID) \
    column(leased, TIMESTAMPTZOID) \
    column(queue, INT4OID) \
    column(attempt, INT4OID) \
    column(failures, INT4OID) \
    column(progress, FLOAT4OID) \
    column(status, k_our_type) \
    column(owner, TEXTOID) \
    column(history, JSONBOID) \
    column(errors, JSONBOID) \
    column(result, JSONBOID) \
    column(metrics, JSONBOID)
SCYLLA_COLUMNS(outcome, SCYLLA_OUTCOME_COLUMNS)

#define SCYLLA_GATE_COLUMNS(column) \
    column(task, INT8OID) \
    column(provider, INT8OID) \
    column(ord, INT4OID) \
    column(kind, CHAROID) \
    column(on_failure, CHAROID) \
    column(deadline, TIMESTAMPTZOID) \
    column(on_timeout, CHAROID) \
    column(every, INT8OID)
SCYLLA_COLUMNS(gate, SCYLLA_GATE_COLUMNS)

#define SCYLLA_PLAN_COLUMNS(column) \
    column(id, INT8OID) \
    column(created, TIMESTAMPTZOID) \
    column(opened, TIMESTAMPTZOID) \
    column(finished, TIMESTAMPTZOID) \
    column(cancelled, BOOLOID) \
    column(failed, BOOLOID) \
    column(owner, NAMEOID) \
    column(name, TEXTOID) \
    column(spec, JSONBOID) \
    column(maker, CHAROID)
SCYLLA_COLUMNS(plan, SCYLLA_PLAN_COLUMNS)

#define SCYLLA_DEDUP_COLUMNS(column) \
    column(queue, INT4OID) \
    column(id, INT8OID) \
    column(key, TEXTOID) \
    column(until, TIMESTAMPTZOID)
SCYLLA_COLUMNS(dedup, SCYLLA_DEDUP_COLUMNS)

#define SCYLLA_EVENT_COLUMNS(column) \
    column(position, INT8OID) \
    column(id, INT8OID) \
    column(time, TIMESTAMPTZOID) \
    column(queue, INT4OID) \
    column(attempt, INT4OID) \
    column(failures, INT4OID) \
    column(status, k_our_type) \
    column(queue_name, TEXTOID) \
    column(rn, TEXTOID) \
    column(worker, TEXTOID)
SCYLLA_COLUMNS(event, SCYLLA_EVENT_COLUMNS)

#define SCYLLA_CONDITION_END_COLUMNS(column) \
    column(id, INT8OID) \
    column(ended, TIMESTAMPTZOID) \
    column(failed, BOOLOID) \
    column(value, JSONBOID)
SCYLLA_COLUMNS(condition_end, SCYLLA_CONDITION_END_COLUMNS)

#define SCYLLA_SIGNAL_CONDITION_COLUMNS(column) \
    column(id, INT8OID) \
    column(digest, INT8OID) \
    column(created, TIMESTAMPTZOID) \
    column(since, TIMESTAMPTZOID) \
    column(name, TEXTOID) \
    column(bound, TEXTOID) \
    column(match, JSONBOID) \
    column(of_step, BOOLOID)
SCYLLA_COLUMNS(signal_condition, SCYLLA_SIGNAL_CONDITION_COLUMNS)

#define SCYLLA_SIGNAL_SHAPE_COLUMNS(column) \
    column(id, INT8OID) \
    column(name, TEXTOID) \
    column(shape, JSONBOID)
SCYLLA_COLUMNS(signal_shape, SCYLLA_SIGNAL_SHAPE_COLUMNS)

#define SCYLLA_LINE_COLUMNS(column) \
    column(pool, INT8OID) \
    column(task_class, INT8OID) \
    column(task, INT8OID) \
    column(created, TIMESTAMPTZOID) \
    column(queue, INT4OID) \
    column(priority, INT2OID) \
    column(needs, JSONBOID) \
    column(runtime, INT8OID)
SCYLLA_COLUMNS(line, SCYLLA_LINE_COLUMNS)

#define SCYLLA_RESERVATION_COLUMNS(column) \
    column(task, INT8OID) \
    column(pool, INT8OID) \
    column(since, TIMESTAMPTZOID) \
    column(ends, TIMESTAMPTZOID) \
    column(version, INT4OID) \
    column(chosen, TEXTOID) \
    column(amounts, JSONBOID)
SCYLLA_COLUMNS(reservation, SCYLLA_RESERVATION_COLUMNS)

#define SCYLLA_MEMO_COLUMNS(column) \
    column(id, INT8OID) \
    column(answers, INT8OID) \
    column(answered, TIMESTAMPTZOID) \
    column(state, JSONBOID)
SCYLLA_COLUMNS(memo, SCYLLA_MEMO_COLUMNS)

#define SCYLLA_CHECK_COLUMNS(column) \
    column(id, INT8OID) \
    column(digest, BYTEAOID)
SCYLLA_COLUMNS(check, SCYLLA_CHECK_COLUMNS)

#undef SCYLLA_QUEUE_COLUMNS
#undef SCYLLA_SPEC_COLUMNS
#undef SCYLLA_READY_COLUMNS
#undef SCYLLA_LEASE_COLUMNS
#undef SCYLLA_WAITING_COLUMNS
#undef SCYLLA_OUTCOME_COLUMNS
#undef SCYLLA_GATE_COLUMNS
#undef SCYLLA_PLAN_COLUMNS
#undef SCYLLA_DEDUP_COLUMNS
#undef SCYLLA_EVENT_COLUMNS
#undef SCYLLA_CONDITION_END_COLUMNS
#undef SCYLLA_SIGNAL_CONDITION_COLUMNS
#undef SCYLLA_SIGNAL_SHAPE_COLUMNS
#undef SCYLLA_LINE_COLUMNS
#undef SCYLLA_RESERVATION_COLUMNS
#undef SCYLLA_MEMO_COLUMNS
#undef SCYLLA_CHECK_COLUMNS
#undef SCYLLA_COLUMNS
#undef SCYLLA_COLUMN_DEF
#undef SCYLLA_COLUMN_NUMBER
// clang-format on

} // namespace scylla::store
