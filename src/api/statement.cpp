// run_sql.
#include "api/call.h"
#include "pg/error.h"
#include "workflow/statements.h"

extern "C" {
#include "executor/executor.h"
}

// run_sql(task)
SCYLLA_FUNCTION(scylla_run_sql) {
    using namespace scylla;
    bool null = PG_ARGISNULL(0);
    const Datum rn = null ? Datum{0} : GetAttributeByName(PG_GETARG_HEAPTUPLEHEADER(0), "rn", &null);
    if (null)
        error::bad_argument("task", "null", "It must be a task.");
    PG_RETURN_JSONB_P(workflow::run_statement(DatumGetTextPP(rn)));
}
