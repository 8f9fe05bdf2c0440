// start_workflow, stop_run, kill_run, unblock_run, unblock_workflow, advance.
#include "api/run_args.h"
#include "api/wait.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "store/spi.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/runs.h"

namespace scylla {

namespace {

const text *get_id(FunctionCallInfo fcinfo) { return args::get_workflow_id(fcinfo); }

Jsonb *get_params(FunctionCallInfo fcinfo, int n) {
    Jsonb *params = args::get_jsonb(fcinfo, n);
    if (params == nullptr)
        return json::empty_object();
    if (!JB_ROOT_IS_OBJECT(params))
        error::bad_argument("params", error::show(params), "It must be an object.");
    return args::document("params", params);
}

// Who has asked for it.
Jsonb *manual_initiator() {
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    json::push_text(&state, "type", cstring_to_text("MANUAL"));
    json::push_text(&state, "user", cstring_to_text(GetUserNameFromId(GetUserId(), false)));
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

const text *get_request_id(FunctionCallInfo fcinfo, int n) {
    const text *id = args::get_text(fcinfo, n);
    return id == nullptr ? nullptr : args::name("request_id", args::get_text(fcinfo, n));
}

Datum end_run(FunctionCallInfo fcinfo, const char *call, const char *kind) {
    const text *id = get_id(fcinfo);
    const int64 instance = args::get_instance(fcinfo);
    store::Store store = open_for_settings(call);
    workflow::end_run(id, instance, kind);
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

// start_workflow(workflow, params, version, request_id)
SCYLLA_FUNCTION(scylla_start_workflow) {
    using namespace scylla;
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "scylla.start_workflow() returns no row");
    const text *version = args::get_text(fcinfo, 2);
    const workflow::Start request{.workflow = get_id(fcinfo),
                                  .params = get_params(fcinfo, 1),
                                  .version = version != nullptr ? version : cstring_to_text("active"),
                                  .request_id = get_request_id(fcinfo, 3),
                                  .initiator = manual_initiator()};
    store::Store store = open_for_write("scylla.start_workflow()");
    const workflow::Started started = workflow::start(request);
    close(store);
    std::array<Datum, 5> values{Int32GetDatum(started.code), PointerGetDatum(request.workflow),
                                Int64GetDatum(started.instance), Int32GetDatum(started.run),
                                PointerGetDatum(started.status)};
    std::array<bool, 5> nulls{};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), values.data(), nulls.data())));
}

SCYLLA_FUNCTION(scylla_stop_run) { return scylla::end_run(fcinfo, "scylla.stop_run()", "stop"); }

SCYLLA_FUNCTION(scylla_kill_run) { return scylla::end_run(fcinfo, "scylla.kill_run()", "kill"); }

// unblock_run(workflow, instance)
SCYLLA_FUNCTION(scylla_unblock_run) {
    using namespace scylla;
    const text *id = get_id(fcinfo);
    const int64 instance = args::get_instance(fcinfo);
    store::Store store = open_for_settings("scylla.unblock_run()");
    workflow::unblock(id, instance);
    close(store);
    PG_RETURN_VOID();
}

// unblock_workflow(workflow)
SCYLLA_FUNCTION(scylla_unblock_workflow) {
    using namespace scylla;
    const text *id = get_id(fcinfo);
    store::Store store = open_for_settings("scylla.unblock_workflow()");
    const int64 count = workflow::unblock_all(id);
    close(store);
    PG_RETURN_INT64(count);
}

namespace {

using namespace scylla;

// As the owner of the tables. Its identity does not outlive the transaction.
workflow::Advance advance() {
    Oid user = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&user, &context);
    store::Store store = open_for_write("scylla.advance()"); // refuses where nothing can be written
    SetUserIdAndSecContext(store::tables_owner(), context | SECURITY_LOCAL_USERID_CHANGE);
    close(store);
    const workflow::Advance result = workflow::advance();
    SetUserIdAndSecContext(user, context);
    return result;
}

} // namespace

SCYLLA_FUNCTION(scylla_advance_here) {
    int64 turns = 0;
    const RowMemory memory = begin_row_memory();
    for (bool more = true; more; turns += more ? 1 : 0) {
        CHECK_FOR_INTERRUPTS();
        more = advance().more;
        reset(memory);
    }
    end(memory);
    PG_RETURN_INT64(turns);
}

// advance(inout turns)
SCYLLA_FUNCTION(scylla_advance) {
    TupleDesc type = one_result(fcinfo);
    require_outside_transaction(fcinfo, "scylla.advance()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    int64 turns = 0;
    const RowMemory memory = begin_row_memory();
    for (bool more = true; more; turns += more ? 1 : 0) {
        CHECK_FOR_INTERRUPTS();
        PushActiveSnapshot(GetTransactionSnapshot());
        more = advance().more;
        PopActiveSnapshot();
        SPI_commit();
        MemoryContextSwitchTo(memory.own);
        reset(memory);
    }
    end(memory);
    SPI_finish();
    return return_one(type, Int64GetDatum(turns), false);
}
