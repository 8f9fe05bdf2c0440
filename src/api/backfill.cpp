// backfill, preview_backfill, pause_backfill, resume_backfill, cancel_backfill.
#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/backfills.h"

namespace scylla {

namespace {

workflow::Existing to_existing(const args::Named<text *> &given) {
    return args::one_of(given, workflow::k_existing, "It must be \"start\", \"skip\" or \"skip_all\".",
                        workflow::Existing::start);
}

int32 to_concurrency(std::optional<int32> given) {
    const int32 value = given.value_or(1);
    if (value < 1 || value > workflow::k_max_items)
        error::bad_argument("concurrency", psprintf("%d", value),
                            psprintf("It must be 1 to %d.", workflow::k_max_items));
    return value;
}

// The common arguments of both calls.
workflow::Backfill get_backfill(const auto &given) {
    const text *version = given.version();
    workflow::Backfill backfill{.workflow = args::name(given.workflow()),
                                .version = version != nullptr ? version : cstring_to_text("active"),
                                .items = workflow::expand_items(args::document(given.items()))};
    if (!given.newest_first().value_or(false))
        return backfill;
    Growing<Jsonb *> turned;
    for (std::size_t i = backfill.items.size(); i-- > 0;)
        turned.add(backfill.items[i]);
    backfill.items = turned.all();
    return backfill;
}

int64 to_id(const args::Named<std::optional<int64>> &given) {
    if (!given.value)
        error::bad_argument(given.name, "null", "It must not be null.");
    return *given.value;
}

template <typename Change> Datum change_backfill(int64 id, const char *call, Change change) {
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
    const args::Backfill given{fcinfo};
    workflow::Backfill backfill = get_backfill(given);
    backfill.concurrency = to_concurrency(given.concurrency());
    backfill.existing = to_existing(given.existing());
    backfill.yields = given.yields().value_or(false);
    store::Store store = open_for_write("scylla.backfill()");
    const int64 id = workflow::begin_backfill(backfill);
    close(store);
    PG_RETURN_INT64(id);
}

// preview_backfill(workflow, items, version, newest_first, existing)
SCYLLA_FUNCTION(scylla_preview_backfill) {
    using namespace scylla;
    const args::PreviewBackfill given{fcinfo};
    workflow::Backfill backfill = get_backfill(given);
    backfill.existing = to_existing(given.existing());
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
    return scylla::change_backfill(scylla::to_id(scylla::args::PauseBackfill{fcinfo}.backfill()),
                                   "scylla.pause_backfill()", scylla::workflow::pause_backfill);
}

SCYLLA_FUNCTION(scylla_resume_backfill) {
    return scylla::change_backfill(scylla::to_id(scylla::args::ResumeBackfill{fcinfo}.backfill()),
                                   "scylla.resume_backfill()", scylla::workflow::resume_backfill);
}

// cancel_backfill(backfill, stop_runs)
SCYLLA_FUNCTION(scylla_cancel_backfill) {
    using namespace scylla;
    const args::CancelBackfill given{fcinfo};
    const int64 id = to_id(given.backfill());
    const bool stop_runs = given.stop_runs().value_or(false);
    store::Store store = open_for_write("scylla.cancel_backfill()");
    const int64 cancelled = workflow::cancel_backfill(id, stop_runs);
    close(store);
    PG_RETURN_INT64(cancelled);
}
