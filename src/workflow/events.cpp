#include "workflow/events.h"

#include "model/bounds.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "task/duty.h"
#include "task/rights.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

namespace {

// How many are read at once, including those that the current user may not see.
constexpr int64 k_least = 100;
constexpr int64 k_most = 1000;

} // namespace

bool records_events(Jsonb *properties) {
    JsonbValue *found = getKeyJsonValueFromContainer(&properties->root, "events", 6, nullptr);
    return found != nullptr && found->type == jbvBool && found->val.boolean;
}

// ---- writing -------------------------------------------------------------------------------------------------------

void record(std::span<const ChangeEvent> events, TimestampTz now) {
    if (!events.empty())
        store::workflow_events::add(event_position(), now, events);
}

void record(const ChangeEvent &event) { record({&event, 1}, GetCurrentTimestamp()); }

// ---- reading -------------------------------------------------------------------------------------------------------

namespace {

bool can_view(const ReadEvent &event) {
    Head head{};
    head.owner = event.owner;
    head.grantees = {event.runners, event.viewers, event.admins};
    return can_view(head);
}

} // namespace

void read_events(Snapshot snapshot, const EventCursor &after, int32 limit, const ReadEventSink &sink) {
    const int64 last = event_horizon(snapshot);
    const int64 most = std::clamp<int64>(limit, k_least, k_most);
    EventCursor from = after;
    int32 found = 0;
    const RowMemory memory = begin_row_memory();
    for (bool more = true; more && found < limit; reset(memory)) {
        CHECK_FOR_INTERRUPTS();
        const auto events =
            store::workflow_events::read({.position = from.position, .id = from.id, .last = last, .most = most});
        for (const ReadEvent &event : events) {
            if (found == limit)
                break;
            from = {event.position, event.id};
            if (!can_view(event))
                continue;
            sink.put(sink.to, event);
            found++;
        }
        more = static_cast<int64>(events.size()) == most;
    }
    end(memory);
}

// ---- removing ------------------------------------------------------------------------------------------------------

namespace {

void remove_old_events(store::Store &, DutyTurn &turn) {
    const int64 removed = store::workflow_events::remove_old(
        turn.now - static_cast<int64>(settings::event_retention) * model::k_second, turn.portion.limit);
    turn.portion.done += removed;
    turn.portion.more = removed == turn.portion.limit;
}

} // namespace

void register_workflow_event_duty() {
    register_duty({.activity = "purging old events of workflows",
                   .work = remove_old_events,
                   .pause = 10 * model::k_second,
                   .is_removal = true});
}

} // namespace scylla::workflow
