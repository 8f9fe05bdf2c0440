// Procedures that commit.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// 25001 if the procedure was called where it cannot commit.
void require_outside_transaction(FunctionCallInfo fcinfo, const char *call);

// The result of a procedure with one argument that is returned.
Datum return_one(FunctionCallInfo fcinfo, Datum value, bool null);

} // namespace scylla
