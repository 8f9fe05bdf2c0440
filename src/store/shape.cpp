// Whether a table has the shape that the direct path expects. That path writes rows by the numbers of columns and fills
// indexes without looking at their definitions, so a table that was changed is refused before it is touched.
#include "store/catalog.h"

extern "C" {
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
}

namespace scylla::store {

namespace {

bool is(const FormData_pg_attribute &column, const ColumnDef &def) {
    return std::string_view(NameStr(column.attname)) == def.name &&
           (def.type == k_our_type || column.atttypid == def.type);
}

// Ours come first. Behind them may be what has been dropped, which reads as null.
const char *column_problem(TupleDesc desc, std::span<const ColumnDef> columns) {
    for (int i = 0; i < Max(desc->natts, static_cast<int>(columns.size())); i++) {
        const FormData_pg_attribute *column = i < desc->natts ? TupleDescAttr(desc, i) : nullptr;
        const ColumnDef *def =
            static_cast<std::size_t>(i) < columns.size() ? &columns[static_cast<std::size_t>(i)] : nullptr;
        if (def == nullptr) {
            if (!column->attisdropped)
                return psprintf("Its column \"%s\" was added.", NameStr(column->attname));
        } else if (column == nullptr || column->attisdropped || !is(*column, *def)) {
            return psprintf("Its column %d is not \"%s\" of its original type.", i + 1, def->name);
        }
    }
    return nullptr;
}

// Whether the operator class is that of the definition: of the column's type, its default one or text_pattern_ops.
bool is_class(Oid opclass, const IndexKey &key, const TableDef &table) {
    HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *form = reinterpret_cast<Form_pg_opclass>(GETSTRUCT(tuple));
    const bool same =
        key.order == Order::bytes
            ? form->opcfamily == TEXT_PATTERN_BTREE_FAM_OID
            : form->opcdefault && form->opcintype == table.columns[static_cast<std::size_t>(key.column - 1)].type;
    ReleaseSysCache(tuple);
    return same;
}

bool has_key(Relation index, const IndexDef &def, const TableDef &table) {
    const FormData_pg_index *form = index->rd_index;
    if (form->indnatts != def.columns || form->indnkeyatts != def.columns - def.included)
        return false;
    bool is_null = false;
    const auto *classes = reinterpret_cast<const oidvector *>(
        DatumGetPointer(SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indclass, &is_null)));
    for (int k = 0; k < def.columns; k++) {
        const IndexKey &key = def.key[static_cast<std::size_t>(k)];
        if (form->indkey.values[k] != key.column)
            return false;
        if (k >= form->indnkeyatts)
            continue; // it has no order
        const bool descending = (index->rd_indoption[k] & INDOPTION_DESC) != 0;
        if (descending != (key.order == Order::descending) || !is_class(classes->values[k], key, table))
            return false;
    }
    return true;
}

bool has_predicate(Relation index, const IndexDef &def) {
    List *predicate = RelationGetIndexPredicate(index);
    if (def.not_null == 0)
        return predicate == NIL;
    if (list_length(predicate) != 1 || !IsA(linitial(predicate), NullTest))
        return false;
    const auto *test = static_cast<NullTest *>(linitial(predicate));
    return test->nulltesttype == IS_NOT_NULL && IsA(test->arg, Var) &&
           reinterpret_cast<Var *>(test->arg)->varattno == def.not_null;
}

const char *index_problem(Relation index, const IndexDef &def, const TableDef &table) {
    const FormData_pg_index *form = index->rd_index;
    if (index->rd_rel->relam != BTREE_AM_OID)
        return "is no btree";
    if (!form->indisvalid || !form->indisready)
        return "is not valid";
    if (!has_key(index, def, table))
        return "has another key";
    if (!has_predicate(index, def))
        return "has another predicate";
    if (form->indisunique != def.unique)
        return def.unique ? "is not unique" : "is unique";
    return form->indimmediate ? nullptr : "is deferrable";
}

} // namespace

const char *shape_problem(const TableDef &def, Relation rel, const std::array<Oid, 2> &index) {
    if (const char *problem = column_problem(RelationGetDescr(rel), def.columns); problem != nullptr)
        return problem;
    for (std::size_t i = 0; i < static_cast<std::size_t>(def.index_count); i++) {
        const IndexDef &index_def = def.indexes[i];
        if (!OidIsValid(index[i]))
            return psprintf("Its index \"%s\" is missing.", index_def.name);
        Relation opened = index_open(index[i], AccessShareLock);
        const char *problem = opened->rd_index->indrelid == RelationGetRelid(rel)
                                  ? index_problem(opened, index_def, def)
                                  : "belongs to another table";
        index_close(opened, AccessShareLock);
        if (problem != nullptr)
            return psprintf("Its index \"%s\" %s.", index_def.name, problem);
    }
    return nullptr;
}

} // namespace scylla::store
