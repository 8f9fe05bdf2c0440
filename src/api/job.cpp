// define_job, drop_job, grant_job, revoke_job, run_job, explain_job, mark_fresh, forget_freshness.
#include "job/jobs.h"

#include "api/arguments.h"
#include "api/observed.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/text.h"
#include "task/open.h"
#include "task/rules.h"

namespace scylla {

namespace {

Jsonb *object_or_empty(const args::Named<Jsonb *> &given) {
    if (given.value == nullptr)
        return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
    if (!JB_ROOT_IS_OBJECT(given.value))
        error::bad_argument(given.name, error::show(given.value), "It must be an object.");
    return args::document(given);
}

job::Request get_request(const auto &given) {
    return {.job = args::name(given.job()),
            .ids = given.ids(),
            .args = job::read_args("args", object_or_empty(given.args())),
            .options = object_or_empty(given.options())};
}

Datum change_grant(const auto &given, void (*change)(const text *, const text *), const char *call) {
    const text *job = args::name(given.job());
    const text *role = args::name(given.role());
    const text *privilege = given.privilege();
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
    const args::DefineJob given{fcinfo};
    Jsonb *needs = given.needs();
    const job::Definition definition{
        .job = args::name(given.job()),
        .queue = args::name(given.queue()),
        .settings = object_or_empty(given.settings()),
        .needs = needs != nullptr ? args::document("needs", needs)
                                  : DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("[]")))};
    store::Store store = open_for_settings("scylla.define_job()");
    job::define(store, definition);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_drop_job) {
    using namespace scylla;
    const args::DropJob given{fcinfo};
    const text *name = args::name(given.job());
    store::Store store = open_for_settings("scylla.drop_job()");
    job::drop(name);
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_grant_job) {
    return scylla::change_grant(scylla::args::GrantJob{fcinfo}, scylla::job::grant_run, "scylla.grant_job()");
}

SCYLLA_FUNCTION(scylla_revoke_job) {
    return scylla::change_grant(scylla::args::RevokeJob{fcinfo}, scylla::job::revoke_run, "scylla.revoke_job()");
}

SCYLLA_FUNCTION(scylla_run_job) {
    using namespace scylla;
    const job::Request request = get_request(args::RunJob{fcinfo});
    store::Store store = open_for_write("scylla.run_job()");
    text *plan = job::run(store, request);
    close(store);
    PG_RETURN_TEXT_P(plan);
}

SCYLLA_FUNCTION(scylla_explain_job) {
    using namespace scylla;
    const job::Request request = get_request(args::ExplainJob{fcinfo});
    Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    job::explain(store, request, {put_explained, &rows});
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_mark_fresh) {
    using namespace scylla;
    const args::MarkFresh given{fcinfo};
    const text *name = args::name(given.job());
    const Datum ids = given.ids();
    if (ids == 0)
        error::bad_argument("ids", "null", "It must not be null.");
    const TimestampTz began = observed_at(given.finished());
    text *variant = args::optional_name(given.variant());
    store::Store store = open_for_settings("scylla.mark_fresh()");
    job::mark_fresh({name, variant != nullptr ? variant : cstring_to_text(""), ids, began});
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_forget_freshness) {
    using namespace scylla;
    const args::ForgetFreshness given{fcinfo};
    const text *name = args::name(given.job());
    const Datum ids = given.ids();
    const text *variant = given.variant();
    store::Store store = open_for_settings("scylla.forget_freshness()");
    const int64 count = job::forget_freshness(name, ids, variant);
    close(store);
    PG_RETURN_INT64(count);
}

// For job_dot() and job_mermaid().
SCYLLA_FUNCTION(scylla_no_such_job) {
    using namespace scylla;
    const args::NoSuchJob given{fcinfo};
    error::no_such_job(args::name(given.job()));
}

// For the view scylla.job_freshness. It reads nothing.
SCYLLA_FUNCTION(scylla_fresh_ranges) {
    using namespace scylla;
    const args::FreshRanges given{fcinfo};
    const auto ids = given.successes().value;
    const auto began = given.times().value;
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

SCYLLA_FUNCTION(scylla_duration) {
    using namespace scylla;
    const args::Duration given{fcinfo};
    const text *duration = given.duration();
    Interval *interval = duration == nullptr ? nullptr : json::read_interval(view(duration));
    if (interval == nullptr)
        PG_RETURN_NULL();
    PG_RETURN_INTERVAL_P(interval);
}
