#include "task/find.h"

#include <charconv>

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "store/task/copies.h"
#include "task/history.h"
#include "task/rights.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;

namespace {

// ---- places --------------------------------------------------------------------------------------------------------

std::span<const Source> sources_of(const TaskFilter &filter) {
    static constexpr std::array<Source, 1> k_any{Source::any};
    static constexpr std::array<Source, 3> k_live{Source::waiting, Source::ready, Source::running};
    static constexpr std::array<Source, 1> k_ended{Source::ended};
    if (filter.is_live)
        return k_live;
    if (!filter.status)
        return k_any;
    if (model::is_final(*filter.status))
        return k_ended;
    return std::span(k_live).subspan(static_cast<std::size_t>(*filter.status), 1);
}

// "12" of "12.7", which leaves "7".
std::optional<int64> take_number(std::string_view *rest) {
    int64 number = 0;
    const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), number);
    if (error != std::errc{})
        return std::nullopt;
    rest->remove_prefix(static_cast<std::size_t>(end - rest->data()));
    if (!rest->empty()) {
        if (rest->front() != '.' || rest->size() == 1)
            return std::nullopt;
        rest->remove_prefix(1);
    }
    return number;
}

std::optional<Cursor> read_cursor(std::string_view written) {
    if (written.empty())
        return std::nullopt;
    Cursor cursor{.source = static_cast<Source>(written.front())};
    written.remove_prefix(1);
    if (cursor.source == Source::ready) {
        const auto queue = take_number(&written);
        const auto priority = queue ? take_number(&written) : std::nullopt;
        if (!priority || *queue < 0 || *queue > PG_INT32_MAX || *priority < PG_INT16_MIN || *priority > PG_INT16_MAX)
            return std::nullopt;
        cursor.queue = static_cast<int32>(*queue);
        cursor.priority = static_cast<int16>(*priority);
    }
    const auto id = take_number(&written);
    if (!id || *id < 0 || !written.empty())
        return std::nullopt;
    cursor.id = *id;
    return cursor;
}

// ---- what matches --------------------------------------------------------------------------------------------------

bool contains(const Jsonb *whole, const Jsonb *part) {
    return DatumGetBool(DirectFunctionCall2(jsonb_contains, PointerGetDatum(whole), PointerGetDatum(part)));
}

bool matches(const TaskFilter &filter, const text *owner, const store::Carry &carry) {
    return (filter.worker == nullptr || (owner != nullptr && equal(owner, filter.worker))) &&
           (filter.code == nullptr || ends_with_error(carry.errors, filter.code));
}

bool matches(const TaskFilter &filter, const store::SpecRow &spec) {
    return (filter.key == nullptr || (spec.key != nullptr && equal(spec.key, filter.key))) &&
           (!filter.created_after || spec.created >= *filter.created_after) &&
           (!filter.created_before || spec.created < *filter.created_before);
}

// What looking at a row costs; 1: passing over it in the index.
constexpr int64 k_look = 10;

// A walk, which ends when enough was looked at.
struct Walk {
    Store &store;
    const TaskFilter &filter;
    const FindLimits &limits;
    const FoundSink &sink;
    Cursor seen;     // the last row that was looked at
    int64 looks = 0; // what they have cost
    int32 found = 0;
    bool more = false; // it ended before the rows did
};

// Whether there is room for one more row.
bool has_room(Walk &walk) {
    walk.more = walk.looks >= walk.limits.max_looks * k_look;
    return !walk.more;
}

// The same, for a row that will be looked at.
bool may_look(Walk &walk) {
    walk.looks += has_room(walk) ? k_look : 0;
    return !walk.more;
}

bool is_wanted_queue(const Walk &walk, int32 queue) {
    return (!walk.filter.queue || *walk.filter.queue == queue) &&
           rights::may(walk.store, queue, model::Privilege::view);
}

// Puts the task. False: it belongs to what follows, or was the last that there is room for.
bool put(Walk &walk, const Task &task, const Cursor &cursor) {
    if (walk.found == walk.limits.max_tasks) {
        walk.more = true;
        return false;
    }
    walk.seen = cursor;
    walk.found++;
    if (!walk.sink.put(walk.sink.to, walk.store, task, cursor)) {
        walk.more = true;
        return false;
    }
    return true;
}

// A row that tells where a task is. False: the walk ends.
template <typename Row> bool see(Walk &walk, const Row &row, const text *owner, const Cursor &cursor) {
    if (is_wanted_queue(walk, row.queue) && matches(walk.filter, owner, row.carry)) {
        const auto head = find_spec(walk.store, row.id, store::With::no_spec);
        const auto spec =
            head && matches(walk.filter, *head) ? find_spec(walk.store, row.id, store::With::spec) : std::nullopt;
        if (spec && (walk.filter.spec == nullptr || contains(spec->spec, walk.filter.spec)) &&
            !(walk.filter.for_copies && store::copies::is_there(row.id)))
            return put(walk, task_of(*spec, row), cursor);
    }
    walk.seen = cursor;
    return true;
}

bool see_spec(Walk &walk, const store::Scan &scan, const Cursor &cursor) {
    if (matches(walk.filter, spec_row(scan, store::With::no_spec))) {
        const auto spec = spec_row(scan, store::With::spec);
        if (walk.filter.spec == nullptr || contains(spec.spec, walk.filter.spec)) {
            const auto task = find_task(walk.store, spec);
            if (task && matches(walk.filter, task->owner, task->carry))
                return put(walk, *task, cursor);
        }
    }
    walk.seen = cursor;
    return true;
}

// ---- walks ---------------------------------------------------------------------------------------------------------

// Of waiting or running tasks, newest first.
void walk_live(Walk &walk, Source source) {
    const bool waits = source == Source::waiting;
    store::Scan scan = scan_before(walk.store, waits ? TableId::waiting : TableId::lease, walk.seen.id);
    const RowMemory memory = begin_row_memory();
    for (bool goes_on = true; goes_on && next(scan) && may_look(walk); reset(memory))
        if (waits) {
            const auto row = waiting_row(scan);
            goes_on = see(walk, row, nullptr, {.source = source, .id = row.id});
        } else {
            const auto row = lease_row(scan);
            goes_on = see(walk, row, row.owner, {.source = source, .id = row.id});
        }
    end(memory);
    end(scan);
}

// Whether the index says that the row may match.
bool is_wanted(const Walk &walk, const store::Head &head) {
    return is_wanted_queue(walk, head.queue) &&
           (!walk.filter.status || store::status_datum(walk.store, *walk.filter.status) == head.status);
}

// Of all tasks or those that have ended, newest first, or oldest first where they are to be copied.
void walk_heads(Walk &walk, Source source) {
    const bool ended = source == Source::ended;
    store::Scan scan = scan_heads(walk.store, ended ? TableId::outcome : TableId::spec, walk.seen.id,
                                  walk.filter.for_copies ? ForwardScanDirection : BackwardScanDirection);
    const RowMemory memory = begin_row_memory();
    store::Head head;
    for (bool goes_on = true; goes_on && next_head(scan, &head) && has_room(walk);) {
        const Cursor cursor{.source = source, .id = head.id};
        const bool wanted = is_wanted(walk, head);
        const bool there = wanted && read_row(scan);
        walk.looks += there ? k_look : wanted ? 0 : 1; // a row that is gone is nobody's
        if (!there) {
            walk.seen = cursor;
            continue;
        }
        if (ended) {
            const auto row = outcome_row(scan);
            goes_on = see(walk, row, row.owner, cursor);
        } else
            goes_on = see_spec(walk, scan, cursor);
        reset(memory);
    }
    end(memory);
    end(scan);
}

// The rows of a scan of ready tasks.
void walk_scan(Walk &walk, store::Scan &scan) {
    const RowMemory memory = begin_row_memory();
    while (!walk.more && next(scan)) {
        if (!may_look(walk))
            break;
        const auto row = ready_row(scan);
        if (!see(walk, row, nullptr,
                 {.source = Source::ready, .queue = row.queue, .priority = row.priority, .id = row.id}))
            break;
        reset(memory);
    }
    end(memory);
    end(scan);
}

void walk_ready(Walk &walk, int32 queue, const Cursor &after) {
    if (after.queue != queue || after.id == 0) {
        store::Scan scan = scan_ready(walk.store, queue);
        return walk_scan(walk, scan);
    }
    store::Scan rest = scan_ready_range(walk.store, queue, after.priority, after.id + 1, PG_INT64_MAX);
    walk_scan(walk, rest);
    if (walk.more || after.priority == PG_INT16_MIN)
        return;
    store::Scan lower = scan_ready_from(walk.store, queue, static_cast<int16>(after.priority - 1));
    walk_scan(walk, lower);
}

// By the ids of queues, from that of the cursor on.
void walk_ready_queues(Walk &walk, const Cursor &after) {
    if (walk.filter.queue)
        return walk_ready(walk, *walk.filter.queue, after);
    Growing<int32> ids;
    store::Scan queues = scan_queues(walk.store);
    while (next(queues))
        ids.add(queue_row(queues).id);
    end(queues);
    for (const int32 id : ids.all())
        if (!walk.more && id >= after.queue && is_wanted_queue(walk, id))
            walk_ready(walk, id, after);
}

void walk_source(Walk &walk, Source source, const std::optional<Cursor> &after) {
    const bool is_ascending = source == Source::ready || walk.filter.for_copies;
    walk.seen = after.value_or(Cursor{.source = source, .id = is_ascending ? 0 : PG_INT64_MAX});
    if (source == Source::ready) {
        if (walk.filter.worker == nullptr) // a ready task has no owner
            walk_ready_queues(walk, walk.seen);
    } else if (source == Source::waiting || source == Source::running)
        walk_live(walk, source);
    else
        walk_heads(walk, source);
}

} // namespace

std::optional<Cursor> find_tasks(Store &store, const TaskFilter &filter, const std::optional<Cursor> &after,
                                 const FindLimits &limits, const FoundSink &sink) {
    Walk walk{.store = store, .filter = filter, .limits = limits, .sink = sink, .seen = {}};
    bool begun = !after;
    for (const Source source : sources_of(filter)) {
        const bool is_there = after && after->source == source;
        begun = begun || is_there;
        if (begun && !walk.more)
            walk_source(walk, source, is_there ? after : std::nullopt);
    }
    return walk.more ? std::optional(walk.seen) : std::nullopt;
}

text *to_text(const Cursor &cursor) {
    if (cursor.source == Source::ready)
        return cstring_to_text(psprintf("r%d.%d." INT64_FORMAT, cursor.queue, cursor.priority, cursor.id));
    return cstring_to_text(psprintf("%c" INT64_FORMAT, static_cast<char>(cursor.source), cursor.id));
}

Cursor to_cursor(const TaskFilter &filter, const text *written) {
    const auto cursor = read_cursor(view(written));
    const auto sources = sources_of(filter);
    if (!cursor || std::find(sources.begin(), sources.end(), cursor->source) == sources.end())
        error::bad_argument("after", error::quote(written), "It must be a cursor that the same filter has given.");
    return *cursor;
}

} // namespace scylla
