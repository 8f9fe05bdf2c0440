// Differences between the supported servers, 15 to 19, in the shape of the newest. Included by prelude.h only.
#pragma once

namespace scylla::compat {

// 18 added the instrumentation argument (commit 0fbceae841c), 19 the options of the scan.
inline IndexScanDesc index_beginscan(Relation heap, Relation index, Snapshot snapshot, int nkeys) {
#if PG_VERSION_NUM >= 190000
    return ::index_beginscan(heap, index, snapshot, nullptr, nkeys, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
    return ::index_beginscan(heap, index, snapshot, nullptr, nkeys, 0);
#else
    return ::index_beginscan(heap, index, snapshot, nkeys, 0);
#endif
}

// 19 added the options of the scan.
inline TableScanDesc table_beginscan(Relation rel, Snapshot snapshot) {
#if PG_VERSION_NUM >= 190000
    return ::table_beginscan(rel, snapshot, 0, nullptr, SO_NONE);
#else
    return ::table_beginscan(rel, snapshot, 0, nullptr);
#endif
}

// 19 gathered what a deletion is told in options.
inline TM_Result table_tuple_delete(Relation rel, ItemPointer tid, Snapshot snapshot, bool wait,
                                    TM_FailureData *failure) {
#if PG_VERSION_NUM >= 190000
    return ::table_tuple_delete(rel, tid, GetCurrentCommandId(true), 0, snapshot, InvalidSnapshot, wait, failure);
#else
    return ::table_tuple_delete(rel, tid, GetCurrentCommandId(true), snapshot, InvalidSnapshot, wait, failure, false);
#endif
}

// 19 may note that a page is visible to all, which is for scans of a whole table.
inline void heap_page_prune_opt(Relation rel, Buffer buffer) {
#if PG_VERSION_NUM >= 190000
    Buffer visibility_map = InvalidBuffer;
    ::heap_page_prune_opt(rel, buffer, &visibility_map, false);
    if (BufferIsValid(visibility_map))
        ReleaseBuffer(visibility_map);
#else
    ::heap_page_prune_opt(rel, buffer);
#endif
}

// 19 keeps the number of the page that an index scan has pinned, and the pin when the scan is reset.
inline Buffer pin_page(IndexFetchHeapData *fetch, BlockNumber block) {
    fetch->xs_cbuf = ReleaseAndReadBuffer(fetch->xs_cbuf, fetch->xs_base.rel, block);
#if PG_VERSION_NUM >= 190000
    fetch->xs_blk = block;
#endif
    return fetch->xs_cbuf;
}

inline void unpin_page(IndexFetchHeapData *fetch) {
    if (BufferIsValid(fetch->xs_cbuf))
        ReleaseBuffer(fetch->xs_cbuf);
    fetch->xs_cbuf = InvalidBuffer;
#if PG_VERSION_NUM >= 190000
    fetch->xs_blk = InvalidBlockNumber;
#endif
}

// 16 tells which indexes an update must write (commit 19d8e2308bc); before that, HOT or not was in the new tuple, and a
// summarizing index kept a row from being HOT.
#if PG_VERSION_NUM >= 160000
using ::TU_All;
using ::TU_None;
using ::TU_Summarizing;
using ::TU_UpdateIndexes;
#else
enum TU_UpdateIndexes { TU_None, TU_All, TU_Summarizing };
#endif

inline TM_Result heap_update(Relation rel, ItemPointer tid, HeapTuple tuple, CommandId cid, bool wait,
                             TM_FailureData *failure, TU_UpdateIndexes *update_indexes) {
    LockTupleMode mode;
#if PG_VERSION_NUM >= 190000
    return ::heap_update(rel, tid, tuple, cid, 0, InvalidSnapshot, wait, failure, &mode, update_indexes);
#elif PG_VERSION_NUM >= 160000
    return ::heap_update(rel, tid, tuple, cid, InvalidSnapshot, wait, failure, &mode, update_indexes);
#else
    const TM_Result result = ::heap_update(rel, tid, tuple, cid, InvalidSnapshot, wait, failure, &mode);
    *update_indexes = HeapTupleIsHeapOnly(tuple) ? TU_None : TU_All;
    return result;
#endif
}

// 16 added only_summarizing (commit 19d8e2308bc).
inline List *exec_insert_index_tuples(ResultRelInfo *target, TupleTableSlot *slot, EState *estate,
                                      [[maybe_unused]] bool only_summarizing) {
#if PG_VERSION_NUM >= 190000
    return ExecInsertIndexTuples(target, estate, only_summarizing ? EIIT_ONLY_SUMMARIZING : 0, slot, NIL, nullptr);
#elif PG_VERSION_NUM >= 160000
    return ExecInsertIndexTuples(target, slot, estate, false, false, nullptr, NIL, only_summarizing);
#else
    return ExecInsertIndexTuples(target, slot, estate, false, false, nullptr, NIL);
#endif
}

// 19 made the number of a cache a type.
#if PG_VERSION_NUM >= 190000
using SyscacheId = SysCacheIdentifier;
#else
using SyscacheId = int;
#endif

// 19 tells a handler more of its signal.
#if PG_VERSION_NUM >= 190000
#define SCYLLA_SIGNAL int, const pg_signal_info *
#else
#define SCYLLA_SIGNAL int
#endif

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

// 16 replaced the ACL functions, as above.
inline bool owns_extension(Oid extension, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(ExtensionRelationId, extension, role);
#else
    return pg_extension_ownercheck(extension, role);
#endif
}

// 16 replaced the ACL functions, as above.
inline bool may_execute(Oid function, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK;
#else
    return pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

// 16 replaced the ACL functions, as above.
inline bool may_use_schema(Oid schema, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(NamespaceRelationId, schema, role, ACL_USAGE) == ACLCHECK_OK;
#else
    return pg_namespace_aclcheck(schema, role, ACL_USAGE) == ACLCHECK_OK;
#endif
}

// 18 can log that a lock was not available (commit 6d376c3b0d1).
inline bool has_ended(TransactionId xid) {
#if PG_VERSION_NUM >= 180000
    return ConditionalXactLockTableWait(xid, false);
#else
    return ConditionalXactLockTableWait(xid);
#endif
}

// 16 added the error context (commit 858e776c84f), here that of a range.
inline RangeType *make_range(TypeCacheEntry *type, RangeBound *lower, RangeBound *upper) {
#if PG_VERSION_NUM >= 160000
    return ::make_range(type, lower, upper, false, nullptr);
#else
    return ::make_range(type, lower, upper, false);
#endif
}

// 16 added the error context (commit 858e776c84f).
inline List *qualified_name(const char *name) {
#if PG_VERSION_NUM >= 160000
    return stringToQualifiedNameList(name, nullptr);
#else
    return stringToQualifiedNameList(name);
#endif
}

// 17 lets background workers run as a role that may not log in (commit e7689190b3d).
#if PG_VERSION_NUM >= 170000
inline constexpr bool k_workers_need_login = false;
inline constexpr uint32 k_bypass_login = BGWORKER_BYPASS_ROLELOGINCHECK;
#else
inline constexpr bool k_workers_need_login = true;
inline constexpr uint32 k_bypass_login = 0;
#endif

// 16 distinguishes membership from the right to become the role (commit 3d14e171e9e).
inline void require_can_become(Oid user, Oid role) {
#if PG_VERSION_NUM >= 160000
    check_can_set_role(user, role);
#else
    check_is_member_of_role(user, role);
#endif
}

// The same, as a test.
inline bool can_become(Oid user, Oid role) {
#if PG_VERSION_NUM >= 160000
    return member_can_set_role(user, role);
#else
    return is_member_of_role(user, role);
#endif
}

// 19 gave the builder of JSON a state of its own (commit 0986e95161c), and what is built stays in it.
#if PG_VERSION_NUM >= 190000
using JsonbState = JsonbInState;
#else
using JsonbState = JsonbParseState *;
#endif

inline JsonbValue *push_jsonb_value(JsonbState *state, JsonbIteratorToken token, JsonbValue *value) {
#if PG_VERSION_NUM >= 190000
    pushJsonbValue(state, token, value);
    return state->result;
#else
    return pushJsonbValue(state, token, value);
#endif
}

} // namespace scylla::compat
