// Steps of type Sql: their statements run inside the server, as the owner of the queue whose handler is
// scylla.run_sql().
#pragma once

#include "pg/prelude.h"

namespace scylla::workflow {

// Runs the statement of the task's step as the current user. It is read from the definition, and its parameter from the
// step; the task's spec is not used. The owner of the workflow and the author of the version must be able to become the
// current user and the session user, so that no definition gets rights that its author does not have. Returns {"rows":
// …, "params": {…}}. 55000 the task belongs to no such step, 42501, 21000, 22004.
Jsonb *run_statement(const text *rn);

} // namespace scylla::workflow
