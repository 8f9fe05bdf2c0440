// What was added to a table whose rows are written directly: it has no effect, or lets calls fail that rely on their
// own rules. And whether a crash empties the table.
#include "store/catalog.h"

extern "C" {
#include "rewrite/prs2lock.h"
#include "utils/reltrigger.h"
}

namespace scylla::store {

namespace {

int triggers(Relation rel) { return rel->trigdesc != nullptr ? rel->trigdesc->numtriggers : 0; }
int rules(Relation rel) { return rel->rd_rules != nullptr ? rel->rd_rules->numLocks : 0; }
int checks(Relation rel) {
    const TupleConstr *constraints = RelationGetDescr(rel)->constr;
    return constraints != nullptr ? constraints->num_check : 0;
}

// Calls see(index) for each index that refuses rows and is not ours, until it returns false.
template <typename See> void for_each_refusing_index(Relation rel, See see) {
    ListCell *cell = nullptr;
    bool go_on = table_of_name(RelationGetRelationName(rel)).has_value();
    foreach (cell, RelationGetIndexList(rel)) {
        if (!go_on)
            break;
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        const bool refuses = index->rd_index->indisunique || index->rd_index->indisexclusion;
        if (refuses && !is_own_index(RelationGetRelationName(rel), RelationGetRelationName(index)))
            go_on = see(index);
        index_close(index, NoLock);
    }
}

int refusing_indexes(Relation rel) {
    int count = 0;
    for_each_refusing_index(rel, [&count](Relation) {
        count++;
        return true;
    });
    return count;
}

bool is_unlogged(Relation rel) { return rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT; }

const char *first_trigger(Relation rel) {
    const Trigger &trigger = rel->trigdesc->triggers[0];
    return OidIsValid(trigger.tgconstraint)
               ? psprintf("constraint \"%s\"", get_constraint_name(trigger.tgconstraint)) // a foreign key, mostly
               : psprintf("trigger \"%s\"", trigger.tgname);
}

} // namespace

int count_bypassed(Relation rel) {
    return triggers(rel) + rules(rel) + checks(rel) + refusing_indexes(rel) + (rel->rd_rel->relrowsecurity ? 1 : 0) +
           (is_unlogged(rel) ? 1 : 0);
}

const char *bypassed(Relation rel) {
    if (triggers(rel) > 0)
        return first_trigger(rel);
    if (rules(rel) > 0)
        return "a rule";
    if (checks(rel) > 0)
        return psprintf("constraint \"%s\"", RelationGetDescr(rel)->constr->check[0].ccname);
    if (rel->rd_rel->relrowsecurity)
        return "row security";
    if (is_unlogged(rel))
        return "no WAL";
    const char *first = nullptr;
    for_each_refusing_index(rel, [&first](Relation index) {
        first = psprintf("unique index \"%s\"", RelationGetRelationName(index));
        return false;
    });
    return first;
}

} // namespace scylla::store
