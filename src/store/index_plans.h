// How statements find rows of tables that grow by thousands of rows in a second: by their indexes. A plan that was made
// while a table was small would read all of it as long as the table has not been analyzed.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

// Until AtEOXact_GUC() with the level in which it is called.
inline void plan_without(const char *way) {
    (void)set_config_option(way, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

// Until AtEOXact_GUC() with the level that it returns.
inline int use_indexes_only() {
    const int level = NewGUCNestLevel();
    for (const char *way : {"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"})
        plan_without(way);
    return level;
}

} // namespace scylla::store
