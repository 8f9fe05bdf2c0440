// define_job, drop_job, grant_job, revoke_job, run_job, explain_job, mark_fresh, forget_freshness.
#include "job/jobs.h"

#include "api/call.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/open.h"
#include "task/rules.h"

namespace scylla {

namespace {

Jsonb *object_or_empty(FunctionCallInfo fcinfo, int n, const char *argument) {
    Jsonb *value = args::get_jsonb(fcinfo, n);
    if (value == nullptr)
        return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
    if (!JB_ROOT_IS_OBJECT(value))
        error::bad_argument(argument, error::show(value), "It must be an object.");
    return args::document(argument, value);
}

Datum get_ids(FunctionCallInfo fcinfo, int n) { return PG_ARGISNULL(n) ? Datum{0} : PG_GETARG_DATUM(n); }

job::Request get_request(FunctionCallInfo fcinfo) {
    return {.job = args::name("job", args::get_text(fcinfo, 0)),
            .ids = get_ids(fcinfo, 1),
            .args = job::read_args("args", object_or_empty(fcinfo, 2, "args")),
            .options = object_or_empty(fcinfo, 3, "options")};
}

Datum change_grant(FunctionCallInfo fcinfo, void (*change)(const text *, const text *), const char *call) {
    const text *job = args::name("job", args::get_text(fcinfo, 0));
    const text *role = args::name("role", args::get_text(fcinfo, 1));
    const text *privilege = args::get_text(fcinfo, 2);
    if (privilege == nullptr || view(privilege) != "run")
        error::bad_argument("privilege", error::quote(privilege), "It must be \"run\".");
    store::Store store = open_for_settings(call);
    change(job, role);
    close(store);
    PG_RETURN_VOID();
}

void put_explained(void *to, const job::Explained &row) {
    auto *rows = static_cast<Rows *>(to);
    std::array<Datum, 6> values{PointerGetDatum(row.job),        row.chunk,
                                JsonbPGetDatum(row.args),        PointerGetDatum(row.depends_on),
                                CStringGetTextDatum(row.reason), BoolGetDatum(row.runs)};
    std::array<bool, 6> nulls{};
    tuplestore_putvalues(rows->store, rows->type, values.data(), nulls.data());
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_define_job) {
    using namespace scylla;
    Jsonb *needs = args::get_jsonb(fcinfo, 3);
    const job::Definition definition{
        .job = args::name("job", args::get_text(fcinfo, 0)),
        .queue = args::name("queue", args::get_text(fcinfo, 1)),
        .settings = object_or_empty(fcinfo, 2, "settings"),
        .needs = needs != nullptr ? args::document("needs", needs)
                                  : DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("[]")))};
    store::Store store = open_for_settings("scylla.define_job()");
    job::define(store, definition);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_drop_job) {
    using namespace scylla;
    const text *name = args::name("job", args::get_text(fcinfo, 0));
    store::Store store = open_for_settings("scylla.drop_job()");
    job::drop(name);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_grant_job) { return scylla::change_grant(fcinfo, scylla::job::grant_run, "scylla.grant_job()"); }

SCYLLA_FUNCTION(scylla_revoke_job) {
    return scylla::change_grant(fcinfo, scylla::job::revoke_run, "scylla.revoke_job()");
}

SCYLLA_FUNCTION(scylla_run_job) {
    using namespace scylla;
    const job::Request request = get_request(fcinfo);
    store::Store store = open_for_write("scylla.run_job()");
    text *plan = job::run(store, request);
    close(store);
    PG_RETURN_TEXT_P(plan);
}

SCYLLA_FUNCTION(scylla_explain_job) {
    using namespace scylla;
    const job::Request request = get_request(fcinfo);
    Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    job::explain(store, request, {put_explained, &rows});
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_mark_fresh) {
    using namespace scylla;
    const text *name = args::name("job", args::get_text(fcinfo, 0));
    const Datum ids = get_ids(fcinfo, 1);
    if (ids == 0)
        error::bad_argument("ids", "null", "It must not be null.");
    const TimestampTz began = PG_ARGISNULL(2) ? GetCurrentTimestamp() : PG_GETARG_TIMESTAMPTZ(2);
    if (TIMESTAMP_NOT_FINITE(began))
        error::bad_argument("finished", error::print(TimestampTzGetDatum(began), TIMESTAMPTZOID), "It must be finite.");
    text *variant = args::optional_name("variant", args::get_text(fcinfo, 3));
    store::Store store = open_for_settings("scylla.mark_fresh()");
    job::mark_fresh({name, variant != nullptr ? variant : cstring_to_text(""), ids, began});
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_forget_freshness) {
    using namespace scylla;
    const text *name = args::name("job", args::get_text(fcinfo, 0));
    const Datum ids = get_ids(fcinfo, 1);
    const text *variant = args::get_text(fcinfo, 2);
    store::Store store = open_for_settings("scylla.forget_freshness()");
    const int64 count = job::forget_freshness(name, ids, variant);
    close(store);
    PG_RETURN_INT64(count);
}

// For job_dot() and job_mermaid().
SCYLLA_FUNCTION(scylla_no_such_job) {
    using namespace scylla;
    error::no_such_job(args::name("job", args::get_text(fcinfo, 0)));
}

// For the view scylla.job_freshness. It reads nothing.
SCYLLA_FUNCTION(scylla_fresh_ranges) {
    using namespace scylla;
    const auto ids = args::get_array(fcinfo, 0, INT8MULTIRANGEOID);
    const auto began = args::get_array(fcinfo, 1, TIMESTAMPTZOID);
    Rows rows = begin_rows(fcinfo);
    if (!ids || !began)
        return 0;
    args::same_size("successes", ids->size, "times", began->size);
    Growing<job::Stored> successes;
    for (int64 i = 0; i < ids->size; i++)
        if (!ids->null[i] && !began->null[i])
            successes.push_back({i, ids->value[i], DatumGetTimestampTz(began->value[i])});
    for (const model::FreshRange &range : job::fresh_ranges(successes.all())) {
        CHECK_FOR_INTERRUPTS();
        std::array<Datum, 2> values{job::make_ids(std::array{range.ids}), TimestampTzGetDatum(range.at)};
        std::array<bool, 2> nulls{};
        tuplestore_putvalues(rows.store, rows.type, values.data(), nulls.data());
    }
    return 0;
}
