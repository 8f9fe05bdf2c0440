// find_tasks, cancel_many, yield_many, resubmit_matching: tasks by a filter, a portion at a time.
#include "task/find.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "task/bulk.h"
#include "task/open.h"
#include "task/resubmit.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla {

namespace {

using model::Status;
using store::Store;

constexpr const char *k_filter_rule =
    "It must be an object with queue, status, worker, key, code, spec, created_after, created_before.";

// A filter as it was given: the queue by its name.
struct GivenFilter {
    text *queue = nullptr; // null: any
    TaskFilter wanted = {};
};

void read_status(JsonbValue *value, TaskFilter *filter) {
    const std::string_view name = view(json::to_text("status", value));
    filter->is_live = name == "live";
    if (filter->is_live)
        return;
    for (std::size_t i = 0; i < model::k_status_names.size(); i++)
        if (name == model::k_status_names[i])
            filter->status = static_cast<Status>(i);
    if (!filter->status)
        error::bad_argument("status", json::show(value), "It must be a status, or \"live\".");
}

void read_member(const char *argument, JsonbValue *value, GivenFilter *given) {
    const std::string_view member(argument);
    TaskFilter *wanted = &given->wanted;
    if (member == "spec")
        wanted->spec = json::to_jsonb(value);
    else if (value->type == jbvNull)
        return;
    else if (member == "queue")
        given->queue = args::name(argument, json::to_text(argument, value));
    else if (member == "status")
        read_status(value, wanted);
    else if (member == "worker")
        wanted->worker = args::name(argument, json::to_text(argument, value));
    else if (member == "key")
        wanted->key = json::to_text(argument, value);
    else if (member == "code")
        wanted->code = text_to_cstring(json::to_text(argument, value));
    else if (member == "created_after")
        wanted->created_after = json::to_time(argument, value);
    else if (member == "created_before")
        wanted->created_before = json::to_time(argument, value);
    else
        error::bad_argument("filter", error::quote(cstring_to_text(argument)), k_filter_rule);
}

GivenFilter to_filter(Jsonb *filter) {
    GivenFilter given;
    if (filter == nullptr)
        return given;
    if (!json::is_object(filter))
        error::bad_argument("filter", error::show(filter), k_filter_rule);
    json::for_each_member(&filter->root,
                          [&](const char *argument, JsonbValue *value) { read_member(argument, value, &given); });
    return given;
}

std::optional<Cursor> to_cursor_or_none(const TaskFilter &filter, const text *written) {
    return written == nullptr ? std::nullopt : std::optional(to_cursor(filter, written));
}

bool put_found(void *to, Store &store, const Task &task, const Cursor &cursor) {
    auto *rows = static_cast<Rows *>(to);
    Datum values[] = {PointerGetDatum(to_text(cursor)), task_value(store, task, Show::all)};
    bool nulls[] = {false, false};
    tuplestore_putvalues(rows->store, rows->type, values, nulls);
    rows->size += static_cast<int64>(VARSIZE_ANY(DatumGetPointer(values[1])));
    return !is_full(*rows);
}

// A filter without a status means the status that the verb can act on.
void require_status(BulkVerb verb, TaskFilter *filter) {
    if (verb == BulkVerb::cancel) {
        if (filter->status && model::is_final(*filter->status))
            error::bad_argument("status", model::name(*filter->status),
                                "It must be \"waiting\", \"ready\", \"running\" or \"live\".");
        filter->is_live = !filter->status;
        return;
    }
    if (filter->is_live || filter->status.value_or(Status::running) != Status::running)
        error::bad_argument("status", filter->is_live ? "live" : model::name(*filter->status),
                            "It must be \"running\".");
    filter->status = Status::running;
}

void put_bulk(const Rows &rows, Store &store, const Bulk &bulk) {
    for (const BulkTask &task : bulk.tasks.all()) {
        Datum values[] = {PointerGetDatum(to_text(task.cursor)), PointerGetDatum(task.rn),
                          store::status_datum(store, task.status),
                          task.problem == nullptr ? 0 : CStringGetTextDatum(task.problem)};
        bool nulls[] = {false, false, false, task.problem == nullptr};
        tuplestore_putvalues(rows.store, rows.type, values, nulls);
    }
    if (!bulk.next)
        return;
    Datum values[] = {PointerGetDatum(to_text(*bulk.next)), 0, 0, 0};
    bool nulls[] = {false, true, true, true};
    tuplestore_putvalues(rows.store, rows.type, values, nulls);
}

GivenFilter require_filter(Jsonb *filter) {
    if (filter == nullptr)
        error::bad_argument("filter", "null", k_filter_rule);
    return to_filter(filter);
}

// The privileges on the queue that the filter names, if it names one.
void require_queue(Store &store, GivenFilter *given, model::Privilege privilege) {
    if (given->queue == nullptr)
        return;
    const auto queue = rights::require_queue(store, given->queue, privilege);
    rights::require(store, queue, model::Privilege::view);
    given->wanted.queue = queue.id;
}

void require_final_status(TaskFilter *filter) {
    if (filter->is_live || !model::is_final(filter->status.value_or(Status::aborted)))
        error::bad_argument("status", filter->is_live ? "live" : model::name(*filter->status),
                            "It must be \"aborted\", \"cancelled\" or \"completed\".");
    filter->status = filter->status.value_or(Status::aborted);
    filter->for_copies = true;
}

// The tasks to be copied, oldest first, and where each was found.
struct Originals {
    MemoryContext context;
    Growing<store::SpecRow> rows;
    Growing<Cursor> cursors;
};

bool keep_original(void *to, Store &store, const Task &task, const Cursor &cursor) {
    auto *found = static_cast<Originals *>(to);
    const MemoryContext caller = MemoryContextSwitchTo(found->context);
    found->rows.add(*find_spec(store, task.spec.id, store::With::spec), found->context);
    found->cursors.add(cursor, found->context);
    MemoryContextSwitchTo(caller);
    return true;
}

void put_copied(const Rows &rows, const Cursor &cursor, const text *rn, const text *new_rn) {
    Datum values[] = {PointerGetDatum(to_text(cursor)), PointerGetDatum(rn), PointerGetDatum(new_rn)};
    bool nulls[] = {false, rn == nullptr, new_rn == nullptr};
    tuplestore_putvalues(rows.store, rows.type, values, nulls);
}

Datum do_many(FunctionCallInfo fcinfo, const auto &given, BulkVerb verb) {
    const bool cancels = verb == BulkVerb::cancel;
    GivenFilter filter = require_filter(given.filter());
    require_status(verb, &filter.wanted);
    const int32 max_tasks = args::max_tasks(given.max_tasks().value_or(1000));
    const auto after = to_cursor_or_none(filter.wanted, given.after());
    const bool preview = given.preview().value_or(false);
    const FindLimits limits{max_tasks, args::max_tasks(given.max_looks().value_or(10000), "max_looks")};
    const Rows rows = begin_rows(fcinfo);
    Store store = preview ? store::open(AccessShareLock)
                          : open_for_write(cancels ? "scylla.cancel_many()" : "scylla.yield_many()");
    require_queue(store, &filter, cancels ? model::Privilege::submit : model::Privilege::work);
    Bulk bulk = find_bulk(store, filter.wanted, after, limits);
    if (!preview)
        carry_out(store, verb, bulk);
    put_bulk(rows, store, bulk);
    close(store);
    return 0;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_find_tasks) {
    using namespace scylla;
    const args::FindTasks given{fcinfo};
    GivenFilter filter = to_filter(given.filter());
    const FindLimits limits{args::max_tasks(given.max_tasks().value_or(100)),
                            args::max_tasks(given.max_looks().value_or(10000), "max_looks")};
    const auto after = to_cursor_or_none(filter.wanted, given.after());
    Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    const auto queue = filter.queue == nullptr ? std::nullopt : find_queue(store, filter.queue);
    if (queue)
        filter.wanted.queue = queue->id;
    if (filter.queue == nullptr || queue) {
        const auto next = find_tasks(store, filter.wanted, after, limits, {put_found, &rows});
        Datum values[] = {next ? PointerGetDatum(to_text(*next)) : 0, 0};
        bool nulls[] = {false, true};
        if (next)
            tuplestore_putvalues(rows.store, rows.type, values, nulls);
    }
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_cancel_many) {
    return scylla::do_many(fcinfo, scylla::args::CancelMany{fcinfo}, scylla::BulkVerb::cancel);
}

SCYLLA_FUNCTION(scylla_yield_many) {
    return scylla::do_many(fcinfo, scylla::args::YieldMany{fcinfo}, scylla::BulkVerb::yield);
}

SCYLLA_FUNCTION(scylla_resubmit_matching) {
    using namespace scylla;
    const args::ResubmitMatching given{fcinfo};
    GivenFilter filter = require_filter(given.filter());
    require_final_status(&filter.wanted);
    const int32 max_tasks = args::max_tasks(given.max_tasks().value_or(1000));
    const auto after = to_cursor_or_none(filter.wanted, given.after());
    const bool preview = given.preview().value_or(false);
    const FindLimits limits{max_tasks, args::max_tasks(given.max_looks().value_or(10000), "max_looks")};
    const Rows rows = begin_rows(fcinfo);
    store::Store store = preview ? store::open(AccessShareLock) : open_for_write("scylla.resubmit_matching()");
    require_queue(store, &filter, model::Privilege::submit);
    Originals found{.context = CurrentMemoryContext, .rows = {}, .cursors = {}};
    const auto next = find_tasks(store, filter.wanted, after, limits, {keep_original, &found});
    const auto copies = preview ? std::span<const Copy>() : copy_tasks(store, found.rows.all(), {});
    std::size_t copied = 0; // in the same order, without those that others have resubmitted meanwhile
    for (std::size_t i = 0; i < found.rows.count; i++) {
        const bool is_copied = copied < copies.size() && copies[copied].original == found.rows[i].id;
        if (preview || is_copied)
            put_copied(rows, found.cursors[i], found.rows[i].rn, is_copied ? copies[copied].new_rn : nullptr);
        copied += is_copied ? 1 : 0;
    }
    if (next)
        put_copied(rows, *next, nullptr, nullptr);
    close(store);
    return 0;
}
