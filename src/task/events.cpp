#include "task/events.h"

extern "C" {
#include "commands/async.h"
}

#include "model/bounds.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "task/duty.h"
#include "task/open.h"
#include "task/rights.h"

namespace scylla {

namespace {

using store::Store;

int64 next_position() { return static_cast<int64>(U64FromFullTransactionId(ReadNextFullTransactionId())); }

bool may_see(Store &store, const store::EventRow &event) {
    return superuser() || rights::may(store, event.queue, model::Privilege::view); // also of queues that are gone
}

} // namespace

int64 event_position() {
    (void)GetTopTransactionId(); // our own number comes before the position
    return next_position();
}

int64 event_horizon(Snapshot snapshot) {
    const int64 next = next_position(); // the snapshot is older
    // The last number before `next` with these low bits.
    const auto behind = static_cast<uint32>(next) - snapshot->xmin;
    return next - static_cast<int64>(behind);
}

void record_event(Store &store, const store::SpecRow &spec, model::Status status, const store::Carry &carry,
                  text *worker, TimestampTz now) {
    const auto &queue = queue_of(store, spec.queue).row;
    if (!queue || !queue->events)
        return;
    insert(store, store::EventRow{.position = event_position(),
                                  .id = store::next_event_id(),
                                  .time = now,
                                  .queue = spec.queue,
                                  .attempt = carry.attempt,
                                  .failures = carry.failures,
                                  .status = status,
                                  .queue_name = queue->name,
                                  .rn = spec.rn,
                                  .worker = worker,
                                  .tid = {}});
}

void notify(Store &store, int32 queue) {
    if (const auto &row = queue_of(store, queue).row)
        Async_Notify("scylla", text_to_cstring(row->name));
}

namespace {

// Without shared memory: the queues for which this transaction sends a notification when it commits. Not before: a
// transaction that has executed NOTIFY cannot be prepared. A prepared one sends none.
struct ToNotify {
    const char *queue; // in the memory of the transaction
    SubTransactionId made_in;
};
struct AllToNotify {
    ToNotify *at;
    std::size_t count;
    std::size_t room;
};
constinit AllToNotify to_notify{};
constinit bool has_callbacks = false;

extern "C" void notify_at_end(XactEvent event, void *) {
    if (event == XACT_EVENT_PRE_COMMIT)
        for (const ToNotify &each : std::span(to_notify.at, to_notify.count))
            Async_Notify("scylla", each.queue);
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
        to_notify = {};
}

// Those of later subtransactions are those of its own.
extern "C" void forget_rolled_back(SubXactEvent event, SubTransactionId mine, SubTransactionId, void *) {
    if (event == SUBXACT_EVENT_ABORT_SUB)
        while (to_notify.count > 0 && to_notify.at[to_notify.count - 1].made_in >= mine)
            to_notify.count--;
}

void notify_at_commit(const text *queue) {
    if (!has_callbacks) {
        RegisterXactCallback(notify_at_end, nullptr);
        RegisterSubXactCallback(forget_rolled_back, nullptr);
        has_callbacks = true;
    }
    if (to_notify.count > 0 && view(queue) == to_notify.at[to_notify.count - 1].queue)
        return;
    MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
    if (to_notify.count == to_notify.room) {
        const std::size_t room = Max(2 * to_notify.room, std::size_t{16});
        const auto larger = allocate<ToNotify>(room);
        std::copy_n(to_notify.at, to_notify.count, larger.data());
        to_notify.at = larger.data();
        to_notify.room = room;
    }
    const char *name = text_to_cstring(queue);
    to_notify.at[to_notify.count++] = {name, GetCurrentSubTransactionId()};
    MemoryContextSwitchTo(caller);
}

} // namespace

void notify_ready(Store &store, int32 queue) {
    const auto &row = queue_of(store, queue).row;
    if (!row || !row->notify)
        return;
    if (shmem::shared != nullptr)
        shmem::note_notify_ready(stat_id(queue));
    else
        notify_at_commit(row->name); // no other process can do it
}

namespace {

constinit int64 removed_until = 0; // the position where the next walk begins

void remove_old_events(Store &store, DutyTurn &turn) {
    const TimestampTz oldest = turn.now - static_cast<int64>(settings::event_retention) * model::k_second;
    store::Scan scan = scan_events(store, removed_until);
    const RowMemory memory = begin_row_memory();
    for (; next(scan); reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        const store::EventRow event = event_row(scan);
        removed_until = event.position;
        if (event.time > oldest)
            break;
        if (turn.portion.done == turn.portion.limit) {
            turn.portion.more = true;
            break;
        }
        if (remove(store[store::TableId::event], event.tid, store.snapshot, false) == store::Taken::ok)
            turn.portion.done++;
    }
    end(memory);
    end(scan);
}

} // namespace

void register_event_duty() {
    register_duty({.activity = "purging old events",
                   .work = remove_old_events,
                   .pause = 10 * model::k_second,
                   .is_removal = true,
                   .restart = [] { removed_until = 0; }});
}

bool is_reached(const EventCursor &cursor) { return cursor.position <= next_position(); }

void read_events(Store &store, const EventCursor &after, int32 limit, const EventSink &sink) {
    const int64 last = event_horizon(store.snapshot);
    int32 found = 0;
    const auto read = [&](store::Scan scan) {
        const RowMemory memory = begin_row_memory();
        for (; found < limit && next(scan); reset(memory)) {
            CHECK_FOR_INTERRUPTS();
            const store::EventRow event = event_row(scan);
            if (event.position > last)
                break;
            if (may_see(store, event)) {
                sink.put(sink.to, store, event);
                found++;
            }
        }
        end(memory);
        end(scan);
    };
    read(scan_events_at(store, after.position, after.id));
    read(scan_events(store, after.position + 1));
}

} // namespace scylla
