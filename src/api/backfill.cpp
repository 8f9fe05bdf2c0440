// backfill, preview_backfill, pause_backfill, resume_backfill, cancel_backfill.
#include "api/call.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/backfills.h"

namespace scylla {

namespace {

workflow::Existing get_existing(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    if (value == nullptr)
        return workflow::Existing::start;
    for (std::size_t i = 0; i < workflow::k_existing.size(); i++)
        if (view(value) == workflow::k_existing[i])
            return static_cast<workflow::Existing>(i);
    error::bad_argument("existing", error::quote(value), "It must be \"start\", \"skip\" or \"skip_all\".");
}

int32 get_concurrency(FunctionCallInfo fcinfo, int n) {
    const int32 value = args::get_int(fcinfo, n).value_or(1);
    if (value < 1 || value > workflow::k_max_items)
        error::bad_argument("concurrency", psprintf("%d", value),
                            psprintf("It must be 1 to %d.", workflow::k_max_items));
    return value;
}

// The common arguments of both calls: the workflow and the items first, then the version.
workflow::Backfill get_backfill(FunctionCallInfo fcinfo, bool newest_first) {
    const text *version = args::get_text(fcinfo, 2);
    workflow::Backfill backfill{.workflow = args::name("workflow", args::get_text(fcinfo, 0)),
                                .version = version != nullptr ? version : cstring_to_text("active"),
                                .items = workflow::expand_items(args::document("items", args::get_jsonb(fcinfo, 1)))};
    if (!newest_first)
        return backfill;
    Growing<Jsonb *> turned;
    for (std::size_t i = backfill.items.size(); i-- > 0;)
        turned.add(backfill.items[i]);
    backfill.items = turned.all();
    return backfill;
}

int64 get_backfill_id(FunctionCallInfo fcinfo) {
    if (PG_ARGISNULL(0))
        error::bad_argument("backfill", "null", "It must not be null.");
    return PG_GETARG_INT64(0);
}

template <typename Change> Datum change_backfill(FunctionCallInfo fcinfo, const char *call, Change change) {
    const int64 id = get_backfill_id(fcinfo);
    store::Store store = open_for_write(call);
    change(id);
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

// backfill(workflow, items, version, concurrency, newest_first, existing, yields)
SCYLLA_FUNCTION(scylla_backfill) {
    using namespace scylla;
    workflow::Backfill backfill = get_backfill(fcinfo, args::get_bool(fcinfo, 4).value_or(false));
    backfill.concurrency = get_concurrency(fcinfo, 3);
    backfill.existing = get_existing(fcinfo, 5);
    backfill.yields = args::get_bool(fcinfo, 6).value_or(false);
    store::Store store = open_for_write("scylla.backfill()");
    const int64 id = workflow::begin_backfill(backfill);
    close(store);
    PG_RETURN_INT64(id);
}

// preview_backfill(workflow, items, version, newest_first, existing)
SCYLLA_FUNCTION(scylla_preview_backfill) {
    using namespace scylla;
    workflow::Backfill backfill = get_backfill(fcinfo, args::get_bool(fcinfo, 3).value_or(false));
    backfill.existing = get_existing(fcinfo, 4);
    const auto previewed = workflow::preview_backfill(backfill);
    const Rows rows = begin_rows(fcinfo);
    for (std::size_t i = 0; i < previewed.size(); i++) {
        const workflow::Previewed &item = previewed[i];
        std::array<Datum, 5> values{Int32GetDatum(static_cast<int32>(i + 1)), JsonbPGetDatum(backfill.items[i]),
                                    CStringGetTextDatum(item.starts ? "start" : "skip"), Int64GetDatum(item.instance),
                                    PointerGetDatum(item.status)};
        std::array<bool, 5> nulls{false, false, false, item.instance == 0, item.status == nullptr};
        tuplestore_putvalues(rows.store, rows.type, values.data(), nulls.data());
    }
    return 0;
}

SCYLLA_FUNCTION(scylla_pause_backfill) {
    return scylla::change_backfill(fcinfo, "scylla.pause_backfill()", scylla::workflow::pause_backfill);
}

SCYLLA_FUNCTION(scylla_resume_backfill) {
    return scylla::change_backfill(fcinfo, "scylla.resume_backfill()", scylla::workflow::resume_backfill);
}

// cancel_backfill(backfill, stop_runs)
SCYLLA_FUNCTION(scylla_cancel_backfill) {
    using namespace scylla;
    const int64 id = get_backfill_id(fcinfo);
    const bool stop_runs = args::get_bool(fcinfo, 1).value_or(false);
    store::Store store = open_for_write("scylla.cancel_backfill()");
    const int64 cancelled = workflow::cancel_backfill(id, stop_runs);
    close(store);
    PG_RETURN_INT64(cancelled);
}
