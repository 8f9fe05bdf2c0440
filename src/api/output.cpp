// set_output.
#include "workflow/output.h"

#include "api/call.h"
#include "pg/error.h"
#include "pg/json.h"
#include "task/open.h"
#include "task/rules.h"

namespace {

using namespace scylla;

Jsonb *get_object(FunctionCallInfo fcinfo, int n, const char *name) {
    Jsonb *object = args::get_jsonb(fcinfo, n);
    if (object != nullptr && !JB_ROOT_IS_OBJECT(object))
        error::bad_argument(name, error::show(object), "It must be an object.");
    return args::document(name, object);
}

} // namespace

// set_output(rn, params, artifacts, worker, attempt)
SCYLLA_FUNCTION(scylla_set_output) {
    text *rn = args::name("rn", args::get_text(fcinfo, 0));
    Jsonb *params = get_object(fcinfo, 1, "params");
    Jsonb *artifacts = get_object(fcinfo, 2, "artifacts");
    if (params == nullptr && artifacts == nullptr)
        error::bad_argument("params", "null", "One of params and artifacts must not be null.");
    const text *worker = args::optional_name("worker", args::get_text(fcinfo, 3));
    store::Store store = open_for_write("scylla.set_output()");
    workflow::set_output(store, {rn, params, artifacts, worker, args::get_int(fcinfo, 4)});
    close(store);
    PG_RETURN_VOID();
}
