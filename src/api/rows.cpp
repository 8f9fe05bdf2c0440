#include "api/rows.h"

#include "pg/settings.h"

namespace scylla {

using store::Store;

Datum return_task(FunctionCallInfo fcinfo, Store &store, const Task &task, Show show) {
    const Oid type = get_func_rettype(fcinfo->flinfo->fn_oid);
    TupleDesc row_type = lookup_rowtype_tupdesc(type, -1);
    const TaskColumns columns = task_columns(store, task, show, row_type);
    HeapTuple tuple = heap_form_tuple(row_type, columns.value, columns.null);
    ReleaseTupleDesc(row_type);
    close(store);
    return HeapTupleGetDatum(tuple);
}

Rows begin_rows(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC); // the executor expects this type: no lookup
    const auto *info = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    return {info->setResult, info->setDesc, 0};
}

bool is_full(const Rows &rows) { return rows.size >= settings::result_limit(); }

void put_task(Rows &rows, Store &store, const Task &task, Show show) {
    const TaskColumns columns = task_columns(store, task, show, rows.type);
    tuplestore_putvalues(rows.store, rows.type, columns.value, columns.null);
    rows.size += columns.size;
}

TaskSink sink_of(Rows &rows) {
    return {[](void *to, Store &store, const Task &task) {
                auto *into = static_cast<Rows *>(to);
                put_task(*into, store, task, Show::all);
                return !is_full(*into);
            },
            &rows};
}

} // namespace scylla
