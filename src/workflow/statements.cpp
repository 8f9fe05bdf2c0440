#include "workflow/statements.h"

#include "pg/compat.h"
#include "pg/error.h"
#include "pg/json.h"
#include "store/rows.h"
#include "store/workflow/steps.h"
#include "task/open.h"
#include "workflow/definition_cache.h"

extern "C" {
#include "executor/spi.h"
#include "tcop/dest.h"
}

namespace scylla::workflow {

using store::steps::StatementStep;

namespace {

constinit SPIPlanPtr image_statement = nullptr;

// ---- the step ------------------------------------------------------------------------------------------------------

std::optional<int64> find_task(const text *rn) {
    store::Store store = store::open(AccessShareLock);
    const auto spec = find_spec(store, rn, store::With::no_spec);
    close(store);
    return spec ? std::optional(spec->id) : std::nullopt;
}

void require_can_become(const char *role, Oid user, const StatementStep &step) {
    const Oid oid = get_role_oid(role, true);
    if (!OidIsValid(oid) || !compat::can_become(oid, user))
        error::statement_not_allowed(step.workflow, step.step, role, GetUserNameFromId(user, false));
}

// ---- its statement -------------------------------------------------------------------------------------------------

// Keeps the first row of a statement.
struct FirstRow {
    DestReceiver receiver; // must be first: the server accesses only this
    MemoryContext memory;
    TupleDesc type;
    Datum row;
    uint64 count;
};

extern "C" void start_rows(DestReceiver *self, int, TupleDesc type) {
    auto *first = reinterpret_cast<FirstRow *>(self);
    MemoryContext caller = MemoryContextSwitchTo(first->memory);
    first->type = BlessTupleDesc(CreateTupleDescCopy(type));
    first->count = 0;
    MemoryContextSwitchTo(caller);
}

extern "C" bool receive_row(TupleTableSlot *slot, DestReceiver *self) {
    auto *first = reinterpret_cast<FirstRow *>(self);
    if (first->count++ > 0)
        return true;
    MemoryContext caller = MemoryContextSwitchTo(first->memory);
    slot_getallattrs(slot);
    first->row = HeapTupleGetDatum(heap_form_tuple(first->type, slot->tts_values, slot->tts_isnull));
    MemoryContextSwitchTo(caller);
    return true;
}

extern "C" void end_rows(DestReceiver *) {}

// A row as an object.
Jsonb *image_of(Datum row) {
    MemoryContext caller = CurrentMemoryContext;
    SPI_connect();
    Oid type = RECORDOID;
    store::prepare(&image_statement, "select pg_catalog.to_jsonb($1)", {&type, 1});
    if (SPI_execute_plan(image_statement, &row, nullptr, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
        elog(ERROR, "a row has no image in JSON");
    bool null = false;
    const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    Jsonb *image = DatumGetJsonbPCopy(value);
    MemoryContextSwitchTo(spi);
    SPI_finish();
    return image;
}

void require_done(int code, const text *step) {
    if (code >= 0)
        return;
    if (code == SPI_ERROR_TRANSACTION)
        error::statement_refused(step, ERRCODE_INVALID_TRANSACTION_TERMINATION, "begin or end transactions");
    if (code == SPI_ERROR_COPY)
        error::statement_refused(step, ERRCODE_FEATURE_NOT_SUPPORTED, "copy from or to its client");
    elog(ERROR, "SPI_execute_extended failed: %s", SPI_result_code_string(code));
}

struct Result {
    uint64 rows;  // of the last statement
    Jsonb *first; // row of the last statement that returns any; null: none
    uint64 returned;
};

// The parameters of a statement for SPI, as constants for its plan.
ParamListInfo bind(Jsonb *params) {
    ParamListInfo list = makeParamList(1);
    list->params[0] = {JsonbPGetDatum(params), false, PARAM_FLAG_CONST, JSONBOID};
    return list;
}

Result execute(const char *sql, const StatementStep &step) {
    auto *first = static_cast<FirstRow *>(palloc0(sizeof(FirstRow)));
    first->receiver.receiveSlot = receive_row;
    first->receiver.rStartup = start_rows;
    first->receiver.rShutdown = end_rows;
    first->receiver.rDestroy = end_rows;
    first->receiver.mydest = DestNone;
    first->memory = CurrentMemoryContext;
    SPIExecuteOptions options{};
    options.params = bind(step.params);
    options.dest = &first->receiver;
    SPI_connect();
    require_done(SPI_execute_extended(sql, &options), step.step);
    const uint64 rows = SPI_processed;
    SPI_finish();
    return {rows, first->count == 0 ? nullptr : image_of(first->row), first->count};
}

// ---- what it puts out ----------------------------------------------------------------------------------------------

// Columns with the name of a parameter of the step become its value.
Jsonb *output_of(const Result &result, const StatementStep &step) {
    json::Builder object = json::build_object();
    object.member("rows", json::of_whole(static_cast<int64>(result.rows)));
    object.begin_object("params");
    JsonbIterator *columns = result.first == nullptr ? nullptr : JsonbIteratorInit(&result.first->root);
    JsonbValue name;
    JsonbValue value;
    while (columns != nullptr) {
        const auto token = JsonbIteratorNext(&columns, &name, true);
        if (token != WJB_KEY)
            continue;
        (void)JsonbIteratorNext(&columns, &value, true);
        if (findJsonbValueFromContainer(&step.params->root, JB_FOBJECT, &name) == nullptr)
            continue;
        const char *column = pnstrdup(name.val.string.val, static_cast<Size>(name.val.string.len));
        if (result.returned > 1)
            error::statement_rows(step.step, column, static_cast<int64>(result.returned));
        if (value.type == jbvNull)
            error::statement_null(step.step, column);
        object.member(column, value);
    }
    object.end_object();
    return object.finish();
}

const char *statement_of(const StatementStep &step) {
    const std::string_view sql =
        model::workflow::find_statement(definition_of({step.workflow, step.version, step.created}), view(step.step));
    return sql.empty() ? nullptr : pnstrdup(sql.data(), sql.size());
}

} // namespace

Jsonb *run_statement(const text *rn) {
    const auto task = find_task(rn);
    const auto step = task ? store::steps::statement_of_task(*task) : std::nullopt;
    const char *sql = step ? statement_of(*step) : nullptr;
    if (sql == nullptr)
        error::no_statement(rn);
    for (const char *role : {step->owner, step->author})
        for (const Oid user : {GetUserId(), GetSessionUserId()})
            require_can_become(role, user, *step);
    return output_of(execute(sql, *step), *step);
}

} // namespace scylla::workflow
