// Pools.
#include "pg/error_fields.h"

namespace scylla::error {

void no_such_pool(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("pool \"%s\" does not exist", str(name)),
                    identify("pool", "exists")));
}

void duplicate_pool(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("pool \"%s\" already exists", str(name)),
                    identify("pool", "unique")));
}

void no_pool_privilege(const text *name, const char *role, const char *privilege) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for pool \"%s\"", str(name)),
                    errdetail("Role \"%s\" does not have the privilege \"%s\".", role, privilege),
                    hint_grant("grant_pool", name, role, privilege), identify("pool", "privilege")));
}

void pool_in_use(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                    errmsg("pool \"%s\" is needed by tasks that have not ended", str(name)),
                    errhint("Use scylla.drain_pool(), and drop it when these tasks have ended or are cancelled."),
                    identify("pool", "needed")));
}

} // namespace scylla::error
