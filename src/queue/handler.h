// The function that the server calls for each task of a queue: f(scylla.task) returns jsonb. It is stored by its name,
// with its schema, so that a dump can be restored. Each call looks it up again.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// The name with its schema; null if null. 22023 if there is no such function, 42501 if the current user may not call
// it.
text *find_handler(const text *name);

// The role that sets a handler chooses what runs as the owner of the queue. 42501 if the current user is no member of
// the owner. Warns if the server cannot run anything as that role.
void require_handler_rights(const text *queue, const char *owner);

// Whether the server can run workers as the role.
bool may_run_workers(Oid role);

} // namespace scylla
