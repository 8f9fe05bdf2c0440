// set_output.
#include "workflow/output.h"

#include "api/arguments.h"
#include "pg/error.h"
#include "pg/json.h"
#include "task/open.h"
#include "task/rules.h"

namespace {

using namespace scylla;

Jsonb *to_object(const args::Named<Jsonb *> &given) {
    if (given.value != nullptr && !JB_ROOT_IS_OBJECT(given.value))
        error::bad_argument(given.name, error::show(given.value), "It must be an object.");
    return args::document(given);
}

} // namespace

// set_output(rn, params, artifacts, worker, attempt)
SCYLLA_FUNCTION(scylla_set_output) {
    const args::SetOutput given{fcinfo};
    text *rn = args::name(given.rn());
    Jsonb *params = to_object(given.params());
    Jsonb *artifacts = to_object(given.artifacts());
    if (params == nullptr && artifacts == nullptr)
        error::bad_argument("params", "null", "One of params and artifacts must not be null.");
    const text *worker = args::optional_name(given.worker());
    store::Store store = open_for_write("scylla.set_output()");
    workflow::set_output(store, {rn, params, artifacts, worker, given.attempt()});
    close(store);
    PG_RETURN_VOID();
}
