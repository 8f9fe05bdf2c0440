// Differences between the supported servers, 15 to 18, in the shape of the newest. Included by prelude.h only.
#pragma once

namespace scylla::compat {

// 18 added the instrumentation argument (commit 0fbceae841c).
inline IndexScanDesc index_beginscan(Relation heap, Relation index, Snapshot snapshot, int nkeys) {
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan(heap, index, snapshot, nullptr, nkeys, 0);
#else
    return ::index_beginscan(heap, index, snapshot, nkeys, 0);
#endif
}

// 16 tells which indexes an update must write (commit 19d8e2308bc); before that, HOT or not was in the new tuple.
// Returns whether all indexes need an entry for the new version.
inline TM_Result heap_update(Relation rel, ItemPointer tid, HeapTuple tuple, CommandId cid, TM_FailureData *failure,
                             bool *needs_index_entries) {
    LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
    TU_UpdateIndexes update;
    const TM_Result result = ::heap_update(rel, tid, tuple, cid, InvalidSnapshot, true, failure, &mode, &update);
    *needs_index_entries = update != TU_None;
#else
    const TM_Result result = ::heap_update(rel, tid, tuple, cid, InvalidSnapshot, true, failure, &mode);
    *needs_index_entries = !HeapTupleIsHeapOnly(tuple);
#endif
    return result;
}

// 16 added onlySummarizing (commit 19d8e2308bc).
inline List *exec_insert_index_tuples(ResultRelInfo *target, TupleTableSlot *slot, EState *estate) {
#if PG_VERSION_NUM >= 160000
    return ExecInsertIndexTuples(target, slot, estate, false, false, nullptr, NIL, false);
#else
    return ExecInsertIndexTuples(target, slot, estate, false, false, nullptr, NIL);
#endif
}

// 16 renamed the file node (commit b0a55e43299).
inline Oid file_number(Relation rel) {
#if PG_VERSION_NUM >= 160000
    return rel->rd_locator.relNumber;
#else
    return rel->rd_node.relNode;
#endif
}

// 17 gave backends a number of their own instead of the index of their PGPROC (commit 024c5211173).
inline int my_proc_number() {
#if PG_VERSION_NUM >= 170000
    return MyProcNumber;
#else
    return MyProc->pgprocno;
#endif
}

// 16 replaced the ACL functions of each kind of object (commit c727f511bd7).
inline bool owns_database(Oid database, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(DatabaseRelationId, database, role);
#else
    return pg_database_ownercheck(database, role);
#endif
}

// 16 tells membership from the right to become the role (commit 3d14e171e9e).
inline void require_can_become(Oid user, Oid role) {
#if PG_VERSION_NUM >= 160000
    check_can_set_role(user, role);
#else
    check_is_member_of_role(user, role);
#endif
}

} // namespace scylla::compat
