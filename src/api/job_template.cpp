// create_job_template, drop_job_template.
#include "api/call.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/templates.h"

// create_job_template(definition)
SCYLLA_FUNCTION(scylla_create_job_template) {
    using namespace scylla;
    Jsonb *request = args::get_jsonb(fcinfo, 0);
    store::Store store = open_for_settings("scylla.create_job_template()");
    workflow::create_template(request);
    close(store);
    PG_RETURN_VOID();
}

// drop_job_template(job_type, version)
SCYLLA_FUNCTION(scylla_drop_job_template) {
    using namespace scylla;
    const text *job_type = args::name("job_type", args::get_text(fcinfo, 0));
    const text *version = args::name("version", args::get_text(fcinfo, 1));
    store::Store store = open_for_settings("scylla.drop_job_template()");
    workflow::drop_template(job_type, version);
    close(store);
    PG_RETURN_VOID();
}
