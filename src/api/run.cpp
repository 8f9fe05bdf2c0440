// start_workflow, start_workflows, restart_run, stop_run, kill_run, unblock_run, unblock_workflow, advance.
#include "api/arguments.h"
#include "api/rows.h"
#include "api/run_args.h"
#include "api/wait.h"
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "store/spi.h"
#include "task/open.h"
#include "task/rules.h"
#include "workflow/restarts.h"
#include "workflow/texts.h"

namespace scylla {

namespace {

Jsonb *to_params(const args::Named<Jsonb *> &given) {
    if (given.value == nullptr)
        return json::empty_object();
    if (!JB_ROOT_IS_OBJECT(given.value))
        error::bad_argument(given.name, error::show(given.value), "It must be an object.");
    return args::document(given);
}

// By step, without those whose parameters are null.
Jsonb *to_step_params(Jsonb *given, int64 element = 0) {
    json::Builder object = json::build_object();
    json::for_each_member(&given->root, [&](const char *step, JsonbValue *value) {
        if (value->type == jbvNull)
            return;
        if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
            error::bad_argument("step_params", json::show(value), "Its members must be objects.", element);
        object.member(step, *value);
    });
    return object.finish();
}

model::workflow::RestartPolicy to_policy(const args::Named<text *> &given) {
    return args::one_of(given, model::workflow::k_restart_policies,
                        "It must be RESTART_FROM_INCOMPLETE, RESTART_FROM_BEGINNING or RESTART_FROM_SPECIFIC.",
                        model::workflow::RestartPolicy::from_incomplete);
}

// The step that a restart begins with.
const text *to_start(const text *step, model::workflow::RestartPolicy policy) {
    const bool specific = policy == model::workflow::RestartPolicy::from_specific;
    if (specific != (step != nullptr))
        error::bad_argument("step", step == nullptr ? "null" : error::quote(step),
                            specific ? "RESTART_FROM_SPECIFIC needs a step."
                                     : "Only RESTART_FROM_SPECIFIC begins with a step.");
    return step;
}

std::span<const text *const> to_steps(const std::optional<args::Array> &array) {
    const auto steps = allocate<const text *>(array ? static_cast<std::size_t>(array->size) : 0);
    for (std::size_t i = 0; i < steps.size(); i++) {
        if (array->null[i])
            error::bad_argument("skip_steps", "null", "It must not be null.", static_cast<int64>(i + 1));
        steps[i] = DatumGetTextPP(array->value[i]);
    }
    return steps;
}

// ---- start_workflows -----------------------------------------------------------------------------------------------

struct Request {
    int64 element;
    workflow::Start start;
    workflow::Started started;
};

// A null member counts as missing.
void read_member(Request &request, const char *name, JsonbValue *value) {
    const std::string_view word(name);
    if (value->type == jbvNull)
        return;
    if (word == "workflow")
        request.start.workflow = args::name("workflow", json::to_text(name, value, request.element), request.element);
    else if (word == "request_id")
        request.start.request_id =
            args::name("request_id", json::to_text(name, value, request.element), request.element);
    else if (word == "version")
        request.start.version = value->type == jbvNumeric
                                    ? cstring_to_text(psprintf("%d", json::to_int(name, value, request.element)))
                                    : json::to_text(name, value, request.element);
    else if ((word == "params" || word == "step_params") &&
             (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data)))
        error::bad_argument(name, json::show(value), "It must be an object.", request.element);
    else if (word == "params")
        request.start.params = args::document("params", json::to_jsonb(value), request.element);
    else if (word == "step_params")
        request.start.step_params =
            to_step_params(args::document(name, json::to_jsonb(value), request.element), request.element);
    else
        error::bad_argument("requests", error::quote(cstring_to_text(name)),
                            "There is no such argument of start_workflow.", request.element);
}

Request read_request(JsonbValue *json, int64 element, Jsonb *initiator) {
    if (json->type != jbvBinary || !JsonContainerIsObject(json->val.binary.data))
        error::bad_argument("requests", json::show(json), "Each element must be an object.", element);
    Request request{.element = element,
                    .start = {.workflow = nullptr,
                              .params = json::empty_object(),
                              .version = cstring_to_text("active"),
                              .initiator = initiator},
                    .started = {}};
    json::for_each_member(json->val.binary.data,
                          [&](const char *name, JsonbValue *value) { read_member(request, name, value); });
    if (request.start.workflow == nullptr)
        error::bad_argument("workflow", "null", "It must not be null.", element);
    return request;
}

std::span<Request> to_requests(Jsonb *array) {
    if (array == nullptr || !JB_ROOT_IS_ARRAY(array) || JB_ROOT_IS_SCALAR(array))
        error::bad_argument("requests", error::show(array), "It must be an array of objects.");
    const auto requests = allocate<Request>(static_cast<std::size_t>(JB_ROOT_COUNT(array)));
    Jsonb *initiator = args::manual_initiator();
    JsonbIterator *iterator = JsonbIteratorInit(&array->root);
    JsonbValue value;
    std::size_t n = 0;
    for (auto token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true)) {
        CHECK_FOR_INTERRUPTS();
        if (token != WJB_ELEM)
            continue;
        requests[n] = read_request(&value, static_cast<int64>(n + 1), initiator);
        n++;
    }
    return requests;
}

// By workflow; requests for the same workflow keep their order.
extern "C" int compare_requests(const void *a, const void *b) {
    CHECK_FOR_INTERRUPTS();
    const Request *left = *static_cast<Request *const *>(a);
    const Request *right = *static_cast<Request *const *>(b);
    const int order = view(left->start.workflow).compare(view(right->start.workflow));
    return order != 0 ? order : left->element < right->element ? -1 : 1;
}

extern "C" void tell_element(void *request) {
    errcontext("element " INT64_FORMAT " of \"requests\" of scylla.start_workflows()",
               static_cast<const Request *>(request)->element);
}

// The run has ended STOPPED since. A duplicate request stays one.
void tell_of_stop(std::span<Request *const> requests, int64 run) {
    for (Request *request : requests) {
        if (request->started.id != run)
            continue;
        request->started.status = workflow::to_text(model::workflow::name_of(model::workflow::RunStatus::stopped));
        if (request->started.code == 1)
            request->started.code = -1;
    }
}

// Workflows are locked in the order of their ids, so that calls with the same workflows in other orders wait for each
// other and do not deadlock.
void start_all(std::span<Request> requests) {
    const auto sorted = allocate<Request *>(requests.size());
    for (std::size_t i = 0; i < sorted.size(); i++)
        sorted[i] = &requests[i];
    // NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is sorted
    qsort(sorted.data(), sorted.size(), sizeof(Request *), compare_requests);
    std::optional<std::size_t> made; // the last one that has made a run
    for (std::size_t i = 0; i < sorted.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        Request *request = sorted[i];
        if (made && view(sorted[*made]->start.workflow) == view(request->start.workflow))
            request->start.before = sorted[*made]->started.id;
        ErrorContextCallback context{error_context_stack, tell_element, request};
        error_context_stack = &context;
        request->started = workflow::start(request->start);
        error_context_stack = context.previous;
        if (request->started.replaces)
            tell_of_stop(sorted.subspan(*made, i - *made), request->start.before);
        if (request->started.code == 1)
            made = i;
    }
}

Datum end_run(const auto &given, const char *call, const char *kind) {
    const text *id = args::name(given.workflow());
    const int64 instance = args::to_instance(given.instance());
    store::Store store = open_for_settings(call);
    workflow::end_run(id, instance, kind);
    close(store);
    PG_RETURN_VOID();
}

} // namespace
} // namespace scylla

// start_workflow(workflow, params, version, request_id, step_params)
SCYLLA_FUNCTION(scylla_start_workflow) {
    using namespace scylla;
    const args::StartWorkflow given{fcinfo};
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "scylla.start_workflow() returns no row");
    const text *version = given.version();
    const workflow::Start request{.workflow = args::name(given.workflow()),
                                  .params = to_params(given.params()),
                                  .version = version != nullptr ? version : cstring_to_text("active"),
                                  .request_id = args::optional_name(given.request_id()),
                                  .initiator = args::manual_initiator(),
                                  .step_params = to_step_params(to_params(given.step_params()))};
    store::Store store = open_for_write("scylla.start_workflow()");
    const workflow::Started started = workflow::start(request);
    close(store);
    std::array<Datum, 5> values{Int32GetDatum(started.code), PointerGetDatum(request.workflow),
                                Int64GetDatum(started.instance), Int32GetDatum(started.run),
                                PointerGetDatum(started.status)};
    std::array<bool, 5> nulls{};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), values.data(), nulls.data())));
}

// start_workflows(requests)
SCYLLA_FUNCTION(scylla_start_workflows) {
    using namespace scylla;
    const auto requests = to_requests(args::StartWorkflows{fcinfo}.requests());
    const Rows result = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.start_workflows()");
    start_all(requests);
    for (const Request &request : requests) {
        CHECK_FOR_INTERRUPTS();
        const workflow::Started &started = request.started;
        Datum values[] = {Int32GetDatum(started.code), PointerGetDatum(request.start.workflow),
                          Int64GetDatum(started.instance), Int32GetDatum(started.run), PointerGetDatum(started.status)};
        bool nulls[] = {false, false, false, false, false};
        tuplestore_putvalues(result.store, result.type, values, nulls);
    }
    close(store);
    return 0;
}

// restart_run(workflow, instance, policy, params, step_params, skip_steps, step, alone)
SCYLLA_FUNCTION(scylla_restart_run) {
    using namespace scylla;
    const args::RestartRun given{fcinfo};
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "scylla.restart_run() returns no row");
    const auto policy = to_policy(given.policy());
    const workflow::RestartCall call{.workflow = args::name(given.workflow()),
                                     .instance = args::to_instance(given.instance()),
                                     .policy = policy,
                                     .step = to_start(given.step(), policy),
                                     .params = to_params(given.params()),
                                     .step_params = to_step_params(to_params(given.step_params())),
                                     .skip_steps = to_steps(given.skip_steps().value),
                                     .initiator = args::manual_initiator()};
    store::Store store = open_for_write("scylla.restart_run()");
    const workflow::Restarted restarted = workflow::restart_with_ancestors(call, given.alone().value_or(false));
    close(store);
    std::array<Datum, 5> values{Int32GetDatum(restarted.code), Int32GetDatum(restarted.run),
                                PointerGetDatum(restarted.status), PointerGetDatum(restarted.workflow),
                                Int64GetDatum(restarted.instance)};
    std::array<bool, 5> nulls{};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), values.data(), nulls.data())));
}

SCYLLA_FUNCTION(scylla_stop_run) { return scylla::end_run(scylla::args::StopRun{fcinfo}, "scylla.stop_run()", "stop"); }

SCYLLA_FUNCTION(scylla_kill_run) { return scylla::end_run(scylla::args::KillRun{fcinfo}, "scylla.kill_run()", "kill"); }

// unblock_run(workflow, instance)
SCYLLA_FUNCTION(scylla_unblock_run) {
    using namespace scylla;
    const args::UnblockRun given{fcinfo};
    const text *id = args::name(given.workflow());
    const int64 instance = args::to_instance(given.instance());
    store::Store store = open_for_settings("scylla.unblock_run()");
    workflow::unblock(id, instance);
    close(store);
    PG_RETURN_VOID();
}

// unblock_workflow(workflow)
SCYLLA_FUNCTION(scylla_unblock_workflow) {
    using namespace scylla;
    const text *id = args::name(args::UnblockWorkflow{fcinfo}.workflow());
    store::Store store = open_for_settings("scylla.unblock_workflow()");
    const int64 count = workflow::unblock_all(id);
    close(store);
    PG_RETURN_INT64(count);
}

namespace {

using namespace scylla;

// Runs as the owner of the tables. That identity ends with the transaction at the latest.
workflow::Advance advance_as_owner(workflow::Lane lane) {
    store::Store store = open_for_write("scylla.advance()"); // an error where nothing can be written
    const Identity before = become(store::tables_owner());
    close(store);
    const workflow::Advance result = workflow::advance(lane);
    restore(before);
    return result;
}

} // namespace

SCYLLA_FUNCTION(scylla_advance_here) {
    int64 turns = 0;
    const RowMemory memory = begin_row_memory();
    for (bool more = true; more; turns += more ? 1 : 0) {
        CHECK_FOR_INTERRUPTS();
        more = advance_as_owner(workflow::Lane::all).more;
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
    auto lane = workflow::Lane::fast;
    for (bool more = true; more; turns += more ? 1 : 0) {
        CHECK_FOR_INTERRUPTS();
        PushActiveSnapshot(GetTransactionSnapshot());
        const workflow::Advance result = advance_as_owner(lane);
        const bool turns_slow = lane == workflow::Lane::fast && !result.more && result.has_slow;
        more = result.more || turns_slow;
        lane = turns_slow ? workflow::Lane::slow : workflow::Lane::fast;
        PopActiveSnapshot();
        SPI_commit();
        MemoryContextSwitchTo(memory.own);
        reset(memory);
    }
    end(memory);
    SPI_finish();
    return return_one(type, Int64GetDatum(turns), false);
}
