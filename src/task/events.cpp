#include "task/events.h"

extern "C" {
#include "commands/async.h"
}

#include <charconv>

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "pg/settings.h"
#include "api/call.h"
#include "api/rows.h"
#include "task/open.h"
#include "task/rights.h"
#include "task/rules.h"

namespace scylla {

namespace {

using store::Store;

// A place between two events.
struct Cursor {
    int64 position;
    int64 id;
};

int64 next_position() { return static_cast<int64>(U64FromFullTransactionId(ReadNextFullTransactionId())); }

// The position up to which everything is final. The snapshot is older than the answer of next_position().
int64 horizon(Snapshot snapshot) {
    const int64 next = next_position();
    // The last number before `next` with these low bits.
    const auto behind = static_cast<uint32>(next) - snapshot->xmin;
    return next - static_cast<int64>(behind);
}

std::optional<Cursor> parse(std::string_view value) {
    Cursor cursor{};
    const char *end = value.data() + value.size();
    const auto position = std::from_chars(value.data(), end, cursor.position);
    if (position.ec != std::errc{} || position.ptr == end || *position.ptr != '-' || cursor.position < 0)
        return std::nullopt;
    const auto id = std::from_chars(position.ptr + 1, end, cursor.id);
    if (id.ec != std::errc{} || id.ptr != end || cursor.id < 0)
        return std::nullopt;
    return cursor;
}

Cursor get_cursor(FunctionCallInfo fcinfo, int n) {
    const text *value = args::get_text(fcinfo, n);
    if (value == nullptr)
        return {0, 0};
    const auto cursor = parse(view(value));
    if (!cursor || cursor->position > next_position())
        error::bad_argument("after", error::quote(value),
                            "It must be a cursor that read_events() has returned in this database.");
    return *cursor;
}

bool may_see(Store &store, const store::EventRow &event) {
    return rights::may(store, event.queue, model::Privilege::view);
}

void put(const Rows &rows, Store &store, const store::EventRow &event) {
    Datum values[] = {CStringGetTextDatum(psprintf(INT64_FORMAT "-" INT64_FORMAT, event.position, event.id)),
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

} // namespace

void record_event(Store &store, const store::SpecRow &spec, model::Status status, const store::Carry &carry,
                  text *worker, TimestampTz now) {
    const auto &queue = queue_of(store, spec.queue).row;
    if (!queue || !queue->events)
        return;
    (void)GetTopTransactionId(); // our own number comes before the position
    const int64 position = next_position();
    insert(store, store::EventRow{position,
                                  store::next_event_id(),
                                  now,
                                  spec.queue,
                                  carry.attempt,
                                  carry.failures,
                                  status,
                                  queue->name,
                                  spec.rn,
                                  worker,
                                  {}});
}

void notify(Store &store, int32 queue) {
    if (const auto &row = queue_of(store, queue).row)
        Async_Notify("scylla", text_to_cstring(row->name));
}

void notify_ready(Store &store, int32 queue) {
    const auto &row = queue_of(store, queue).row;
    if (!row || !row->notify)
        return;
    if (shmem::shared != nullptr)
        shmem::note_notify_ready(stat_key(queue));
    else
        notify(store, queue); // nobody else can do it
}

void purge_old_events(Store &store, TimestampTz now, Portion *portion, int64 *from) {
    const TimestampTz oldest = now - static_cast<int64>(settings::event_retention) * model::k_second;
    store::Scan scan = scan_events(store, *from);
    const RowMemory memory = begin_row_memory();
    for (; next(scan); reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        const store::EventRow event = event_row(scan);
        *from = event.position;
        if (event.time > oldest)
            break;
        if (portion->done == portion->limit) {
            portion->more = true;
            break;
        }
        if (remove(store[store::TableId::event], event.tid, store.snapshot, false) == store::Taken::ok)
            portion->done++;
    }
    end(memory);
    end(scan);
}

} // namespace scylla

SCYLLA_FUNCTION(scylla_read_events) {
    using namespace scylla;
    const Cursor after = get_cursor(fcinfo, 0);
    const int32 max_events = args::max_tasks(args::get_int(fcinfo, 1), "max_events");
    const Rows rows = begin_rows(fcinfo);
    Store store = store::open(AccessShareLock);
    const int64 last = horizon(store.snapshot);
    int32 found = 0;
    const auto read = [&](store::Scan scan) {
        const RowMemory memory = begin_row_memory();
        for (; found < max_events && next(scan); reset(memory)) {
            CHECK_FOR_INTERRUPTS();
            const store::EventRow event = event_row(scan);
            if (event.position > last)
                break;
            if (may_see(store, event)) {
                put(rows, store, event);
                found++;
            }
        }
        end(memory);
        end(scan);
    };
    read(scan_events_at(store, after.position, after.id));
    read(scan_events(store, after.position + 1));
    close(store);
    return 0;
}
