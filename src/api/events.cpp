// read_events, read_workflow_events.
#include "task/events.h"

#include <charconv>

#include "api/arguments.h"
#include "api/rows.h"
#include "pg/error.h"
#include "pg/text.h"
#include "task/rules.h"
#include "workflow/events.h"

namespace scylla {

namespace {

std::optional<EventCursor> parse(std::string_view value) {
    EventCursor cursor{};
    const char *end = value.data() + value.size();
    const auto position = std::from_chars(value.data(), end, cursor.position);
    if (position.ec != std::errc{} || position.ptr == end || *position.ptr != '-' || cursor.position < 0)
        return std::nullopt;
    const auto id = std::from_chars(position.ptr + 1, end, cursor.id);
    if (id.ec != std::errc{} || id.ptr != end || cursor.id < 0)
        return std::nullopt;
    return cursor;
}

EventCursor to_cursor(const text *value, const char *reader) {
    if (value == nullptr)
        return {0, 0};
    const auto cursor = parse(view(value));
    if (!cursor || !is_reached(*cursor))
        error::bad_argument("after", error::quote(value),
                            psprintf("It must be a cursor that %s has returned in this database.", reader));
    return *cursor;
}

Datum cursor_datum(const EventCursor &cursor) {
    return CStringGetTextDatum(psprintf(INT64_FORMAT "-" INT64_FORMAT, cursor.position, cursor.id));
}

void put(void *to, store::Store &store, const store::EventRow &event) {
    const auto &rows = *static_cast<const Rows *>(to);
    Datum values[] = {cursor_datum({event.position, event.id}),
                      TimestampTzGetDatum(event.time),
                      PointerGetDatum(event.queue_name),
                      PointerGetDatum(event.rn),
                      store::status_datum(store, event.status),
                      Int32GetDatum(event.attempt),
                      Int32GetDatum(event.failures),
                      PointerGetDatum(event.worker)};
    bool nulls[8] = {};
    nulls[7] = event.worker == nullptr;
    tuplestore_putvalues(rows.store, rows.type, values, nulls);
}

void put_of_workflow(void *to, const workflow::ReadEvent &event) {
    const auto &rows = *static_cast<const Rows *>(to);
    Datum values[] = {cursor_datum({event.position, event.id}),
                      TimestampTzGetDatum(event.time),
                      PointerGetDatum(event.workflow),
                      PointerGetDatum(event.kind),
                      Int64GetDatum(event.instance.value_or(0)),
                      Int32GetDatum(event.run.value_or(0)),
                      PointerGetDatum(event.step),
                      PointerGetDatum(event.iterations),
                      Int32GetDatum(event.attempt.value_or(0)),
                      PointerGetDatum(event.old_status),
                      PointerGetDatum(event.status),
                      Int32GetDatum(event.version.value_or(0))};
    bool nulls[] = {false,
                    false,
                    false,
                    false,
                    !event.instance,
                    !event.run,
                    event.step == nullptr,
                    event.iterations == nullptr,
                    !event.attempt,
                    event.old_status == nullptr,
                    event.status == nullptr,
                    !event.version};
    tuplestore_putvalues(rows.store, rows.type, values, nulls);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_read_events) {
    using namespace scylla;
    const args::ReadEvents given{fcinfo};
    const EventCursor after = to_cursor(given.after(), "read_events()");
    const int32 max_events = args::max_tasks(given.max_events().value_or(1000), "max_events");
    Rows rows = begin_rows(fcinfo);
    store::Store store = store::open(AccessShareLock);
    read_events(store, after, max_events, {put, &rows});
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_read_workflow_events) {
    using namespace scylla;
    const args::ReadWorkflowEvents given{fcinfo};
    const EventCursor after = to_cursor(given.after(), "read_workflow_events()");
    const int32 max_events = args::max_tasks(given.max_events().value_or(1000), "max_events");
    Rows rows = begin_rows(fcinfo);
    workflow::read_events(GetActiveSnapshot(), after, max_events, {put_of_workflow, &rows});
    return 0;
}
