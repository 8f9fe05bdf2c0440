// Objects that were added to a table and have no effect on rows that are written directly.
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

const char *first_trigger(Relation rel) {
    const Trigger &trigger = rel->trigdesc->triggers[0];
    return OidIsValid(trigger.tgconstraint)
               ? psprintf("constraint \"%s\"", get_constraint_name(trigger.tgconstraint)) // a foreign key, mostly
               : psprintf("trigger \"%s\"", trigger.tgname);
}

} // namespace

int count_bypassed(Relation rel) {
    return triggers(rel) + rules(rel) + checks(rel) + (rel->rd_rel->relrowsecurity ? 1 : 0);
}

const char *bypassed(Relation rel) {
    if (triggers(rel) > 0)
        return first_trigger(rel);
    if (rules(rel) > 0)
        return "a rule";
    if (checks(rel) > 0)
        return psprintf("constraint \"%s\"", RelationGetDescr(rel)->constr->check[0].ccname);
    return rel->rd_rel->relrowsecurity ? "row security" : nullptr;
}

} // namespace scylla::store
