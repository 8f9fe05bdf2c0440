// Procedures that commit.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// 25001 if the procedure was called where it cannot commit.
void require_outside_transaction(FunctionCallInfo fcinfo, const char *call);

// The result of a procedure with one argument that is returned. Its type is looked up before the first commit: then the
// extension may be dropped, and the procedure with it.
TupleDesc one_result(FunctionCallInfo fcinfo);
Datum return_one(TupleDesc type, Datum value, bool null);

} // namespace scylla
