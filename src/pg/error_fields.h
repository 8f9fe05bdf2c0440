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

// The beginning of a value.
const char *cut(std::string_view all);

// The beginning of a text that the model has written.
const char *clip(std::string_view text);

} // namespace scylla::error
