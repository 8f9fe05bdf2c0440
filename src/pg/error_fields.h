// Helpers for the messages of error.h. Only for the files that implement these.
#pragma once

#include "pg/error.h"

namespace scylla::error {

// For text that ends up in a message.
inline const char *str(const text *value) { return text_to_cstring(value); }

// For ereport: the fields by which a client tells this error from others.
inline int identify(const char *table, const char *constraint) {
    err_generic_string(PG_DIAG_SCHEMA_NAME, "scylla");
    err_generic_string(PG_DIAG_TABLE_NAME, table);
    return err_generic_string(PG_DIAG_CONSTRAINT_NAME, constraint);
}

// For ereport: who can give the role the privilege, and how. call: grant_queue, grant_pool, …
inline int hint_grant(const char *call, const text *name, const char *role, const char *privilege) {
    return errhint("\"SELECT scylla.%s(%s, %s, '%s')\", by a role with the privilege \"admin\", gives role \"%s\" this "
                   "privilege.",
                   call, quote_literal_cstr(str(name)), quote_literal_cstr(role), privilege, role);
}

// The beginning of a value.
const char *cut(std::string_view all);

// The beginning of a text that the model has written.
const char *clip(std::string_view text);

} // namespace scylla::error
