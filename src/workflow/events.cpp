#include "workflow/events.h"

#include "model/bounds.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "task/duty.h"
#include "task/rights.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

using store::Columns;
using store::Parameters;

namespace {

constinit SPIPlanPtr write_statement = nullptr;
constinit SPIPlanPtr read_statement = nullptr;
constinit SPIPlanPtr remove_statement = nullptr;

// How many are read at once, including those that the current user may not see.
constexpr int64 k_least = 100;
constexpr int64 k_most = 1000;

} // namespace

bool records_events(Jsonb *properties) {
    JsonbValue *found = getKeyJsonValueFromContainer(&properties->root, "events", 6, nullptr);
    return found != nullptr && found->type == jbvBool && found->val.boolean;
}

// ---- writing -------------------------------------------------------------------------------------------------------

void ChangeEvents::add(const ChangeEvent &event) {
    workflows_.add(view(event.workflow));
    owners_.add(std::string_view(event.owner));
    kinds_.add(event.kind);
    instances_.add(Int64GetDatum(event.instance), event.instance == 0);
    runs_.add(Int32GetDatum(event.run), event.run == 0);
    versions_.add(Int32GetDatum(event.version), event.version == 0);
    steps_.add(event.step);
    iterations_.add(std::string_view(event.iterations));
    attempts_.add(Int32GetDatum(event.attempt), event.attempt == 0);
    old_.add(event.old_status);
    new_.add(event.status);
}

void ChangeEvents::write(TimestampTz now) const {
    if (kinds_.size() == 0)
        return;
    Parameters parameters;
    parameters.add(event_position()).add(std::optional(now));
    for (const store::ArrayColumn *column : {&workflows_, &owners_, &kinds_, &instances_, &runs_, &versions_, &steps_,
                                             &iterations_, &attempts_, &old_, &new_})
        column->give_to(parameters);
    store::change(
        &write_statement,
        "insert into scylla.workflow_event (position, \"time\", workflow, owner, kind, instance, run, version, step, "
        "iterations, attempt, old_status, status) select $1, $2, c.workflow, c.owner::pg_catalog.name, c.kind, "
        "c.instance, c.run, c.version, c.step, c.iterations::pg_catalog.int8[], c.attempt, c.old_status, c.status "
        "from rows from (pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5), pg_catalog.unnest($6), "
        "pg_catalog.unnest($7), pg_catalog.unnest($8), pg_catalog.unnest($9), pg_catalog.unnest($10), "
        "pg_catalog.unnest($11), pg_catalog.unnest($12), pg_catalog.unnest($13)) with ordinality "
        "c (workflow, owner, kind, instance, run, version, step, iterations, attempt, old_status, status, place) "
        "order by c.place",
        parameters, SPI_OK_INSERT);
}

void record(const ChangeEvent &event) {
    ChangeEvents one;
    one.add(event);
    one.write(GetCurrentTimestamp());
}

// ---- reading -------------------------------------------------------------------------------------------------------

namespace {

// An event with the workflow for the check of rights.
struct Row {
    Head head;
    ReadEvent event;
};

std::optional<int32> next_number(Columns &columns) {
    const int32 number = columns.next_int32();
    return number == 0 ? std::nullopt : std::optional(number);
}

Row read_row(uint64 row) {
    Columns columns(row);
    Row read{};
    read.head.owner = columns.next_string();
    for (ArrayType *&grantees : read.head.grantees)
        grantees = columns.next_array();
    ReadEvent &event = read.event;
    event.cursor.position = columns.next_int64();
    event.cursor.id = columns.next_int64();
    event.time = columns.next_time().value_or(0);
    event.workflow = columns.next_text();
    event.kind = columns.next_text();
    const int64 instance = columns.next_int64();
    event.instance = instance == 0 ? std::nullopt : std::optional(instance);
    event.run = next_number(columns);
    event.step = columns.next_text();
    event.iterations = columns.next_array();
    event.attempt = next_number(columns);
    event.old_status = columns.next_text();
    event.status = columns.next_text();
    event.version = next_number(columns);
    return read;
}

std::span<const Row> read_portion(const EventCursor &after, int64 last, int64 most) {
    Parameters parameters;
    parameters.add(after.position).add(after.id).add(last).add(most);
    return store::select<Row>(
        &read_statement,
        "select coalesce(h.owner, e.owner)::pg_catalog.text, h.runners, h.viewers, h.admins, e.position, e.id, "
        "e.\"time\", e.workflow, e.kind, e.instance, e.run, e.step, e.iterations, e.attempt, e.old_status, e.status, "
        "e.version from (select * from scylla.workflow_event "
        "where row(position, id) operator(pg_catalog.>) row($1, $2) and position operator(pg_catalog.<=) $3 "
        "order by position, id limit $4) e left join scylla.workflow_head h on h.id operator(pg_catalog.=) e.workflow "
        "and h.created operator(pg_catalog.<=) e.\"time\" order by e.position, e.id",
        parameters, SPI_OK_SELECT, read_row);
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
        const auto rows = read_portion(from, last, most);
        for (const Row &row : rows) {
            if (found == limit)
                break;
            from = row.event.cursor;
            if (!can_view(row.head))
                continue;
            sink.put(sink.to, row.event);
            found++;
        }
        more = static_cast<int64>(rows.size()) == most;
    }
    end(memory);
}

// ---- removing ------------------------------------------------------------------------------------------------------

namespace {

// Positions rise with time, so the oldest come first.
void remove_old_events(store::Store &, DutyTurn &turn) {
    Parameters parameters;
    parameters.add(std::optional(turn.now - static_cast<int64>(settings::event_retention) * model::k_second))
        .add(turn.portion.limit);
    store::AsOwner as_owner;
    as_owner.begin();
    parameters.run(&remove_statement,
                   "delete from scylla.workflow_event e using (select position, id, \"time\" from "
                   "scylla.workflow_event order by position, id limit $2) oldest "
                   "where e.position operator(pg_catalog.=) oldest.position and e.id operator(pg_catalog.=) oldest.id "
                   "and oldest.\"time\" operator(pg_catalog.<=) $1",
                   SPI_OK_DELETE);
    const auto removed = static_cast<int64>(SPI_processed);
    as_owner.end();
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
