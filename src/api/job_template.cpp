// create_job_template, drop_job_template.
#include "api/arguments.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/templates.h"

// create_job_template(definition)
SCYLLA_FUNCTION(scylla_create_job_template) {
    using namespace scylla;
    const args::CreateJobTemplate given{fcinfo};
    Jsonb *request = given.definition();
    store::Store store = open_for_settings("scylla.create_job_template()");
    workflow::create_template(request);
    close(store);
    PG_RETURN_VOID();
}

// drop_job_template(job_type, version)
SCYLLA_FUNCTION(scylla_drop_job_template) {
    using namespace scylla;
    const args::DropJobTemplate given{fcinfo};
    const text *job_type = args::name(given.job_type());
    const text *version = args::name(given.version());
    store::Store store = open_for_settings("scylla.drop_job_template()");
    workflow::drop_template(job_type, version);
    close(store);
    PG_RETURN_VOID();
}
