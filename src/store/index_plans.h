// How statements find rows of tables that grow by thousands of rows in a second: by their indexes, with one plan
// whatever the arguments are. A plan that was made while a table was small would read all of it as long as the table
// has not been analyzed. Where such a table is joined with a list, its key is compared with `any (array[…])`: by a mere
// `=` it could also be read as a whole in the order of the index, and each row be compared with the list, which looks
// cheap while the table is small. To plan a statement for its arguments each time takes longer than to run it.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

// Until AtEOXact_GUC() with the level in which it is called.
inline void plan_with(const char *setting, const char *value) {
    (void)set_config_option(setting, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}
inline void plan_without(const char *way) { plan_with(way, "off"); }

// Until AtEOXact_GUC() with the level that it returns.
inline int use_indexes_only() {
    const int level = NewGUCNestLevel();
    for (const char *way : {"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "jit"})
        plan_without(way);
    plan_with("plan_cache_mode", "force_generic_plan");
    return level;
}

} // namespace scylla::store
