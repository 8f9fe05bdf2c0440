#include "queue/reasons.h"

#include "pg/clock.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "queue/limits.h"
#include "queue/rate.h"
#include "queue/ready_scan.h"
#include "shmem/waiters.h"
#include "shmem/workers.h"

namespace scylla {

using store::Store;

namespace {

constexpr int64 k_most_counted = 10'000; // tasks before one

const char *name_of(const store::QueueRow &queue) { return text_to_cstring(queue.name); }

bool has_key(const store::SpecRow &spec) { return spec.key != nullptr && !view(spec.key).empty(); }

// A time of steady_now() by the server's clock. Nothing: it is not known.
std::optional<TimestampTz> at_clock(int64 moment, TimestampTz now) {
    if (moment == 0 || moment == PG_INT64_MAX)
        return std::nullopt;
    return now + Max(moment - steady_now(), 0);
}

void explain_pause(const ReadyTask &task, const ReasonSink &sink) {
    if (task.queue.paused)
        put(sink, {psprintf("queue %s to be resumed", name_of(task.queue)), std::nullopt, std::nullopt,
                   "The queue is paused: resume_queue() lets workers lease its tasks again."});
}

void explain_limit(Store &store, const ReadyTask &task, const ReasonSink &sink) {
    if (!task.queue.max_running)
        return;
    const int64 limit = *task.queue.max_running;
    const int64 room = free_permits(store, task.queue, HeldBy::count, PG_INT64_MAX);
    if (room < 1)
        put(sink, {"max_running", std::nullopt, std::nullopt,
                   psprintf("Queue \"%s\" runs %s, and may run no more than " INT64_FORMAT ".", name_of(task.queue),
                            tasks(limit - room), limit)});
}

void explain_limit_of_key(Store &store, const ReadyTask &task, const ReasonSink &sink) {
    if (!task.queue.max_running_per_key || !has_key(task.spec))
        return;
    const int64 limit = *task.queue.max_running_per_key;
    KeyRooms *rooms = begin_rooms(store, task.queue, {}, nullptr);
    const int64 room = room_of(rooms, task.spec.key);
    end_rooms(rooms);
    if (room < 1)
        put(sink, {"max_running_per_key", std::nullopt, std::nullopt,
                   psprintf("Queue \"%s\" runs %s with the key \"%s\", and may run no more than " INT64_FORMAT ".",
                            name_of(task.queue), tasks(limit - room), text_to_cstring(task.spec.key), limit)});
}

void explain_rate(const ReadyTask &task, TimestampTz now, const ReasonSink &sink) {
    if (const auto token = next_token(task.queue))
        put(sink, {"rate", std::nullopt, at_clock(*token, now),
                   psprintf("Queue \"%s\" has used up its rate.", name_of(task.queue))});
}

void explain_rate_of_key(const ReadyTask &task, TimestampTz now, const ReasonSink &sink) {
    Tokens tokens = look_at_tokens(task.queue);
    int64 next = 0;
    if (has_key(task.spec) && tokens_of(tokens, task.spec.key, &next) < 1)
        put(sink, {"rate_per_key", std::nullopt, at_clock(next, now),
                   psprintf("The key \"%s\" has used up its rate in queue \"%s\".", text_to_cstring(task.spec.key),
                            name_of(task.queue))});
    end_tokens(tokens);
}

// If keys take turns, only tasks of its own key are certain to come before it.
bool comes_before(const ReadyTask &task, const store::ReadyRow &other) {
    if (!task.queue.is_shared)
        return true;
    const text *own = task.ready.key;
    return own == nullptr || other.key == nullptr ? own == other.key : equal(own, other.key);
}

void explain_order(Store &store, const ReadyTask &task, TimestampTz now, const ReasonSink &sink) {
    int64 before = 0;
    ReadyScan *scan = begin_ready(store, task.queue.id, task.queue.aging, now, Use::no_heads);
    const RowMemory memory = begin_row_memory();
    store::ReadyRow row;
    for (int64 seen = 0; seen <= k_most_counted && next_ready(scan, &row) && row.id != task.spec.id; seen++) {
        CHECK_FOR_INTERRUPTS();
        before += comes_before(task, row) ? 1 : 0;
        reset(memory);
    }
    end(memory);
    end_ready(scan);
    if (before == 0)
        return;
    const char *count = before > k_most_counted ? psprintf("more than %s", tasks(k_most_counted)) : tasks(before);
    put(sink, {"its turn", std::nullopt, std::nullopt,
               psprintf("%s of queue \"%s\" %s ready and come%s before it.%s", count, name_of(task.queue),
                        before == 1 ? "is" : "are", before == 1 ? "s" : "",
                        task.queue.is_shared ? " They have the same key; keys take turns." : "")});
}

const char *describe_call(shmem::WorkerState &state) {
    if (state.queue != 0)
        return psprintf("task \"%s\" of queue \"%s\"", state.name.data(), state.of.data());
    return psprintf("schedule \"%s\" of job \"%s\"", state.name.data(), state.of.data());
}

// The calls of roles whose rights the user has, in this database; the others are counted.
const char *describe_calls() {
    std::array<shmem::WorkerState, std::size_t{shmem::k_max_workers}> states;
    StringInfoData text;
    initStringInfo(&text);
    int others = 0;
    const bool sees_all = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
    for (shmem::WorkerState &state : std::span(states).first(shmem::look_at_workers(states))) {
        if (!state.calls || state.lost)
            continue;
        if (state.database != MyDatabaseId || !(sees_all || has_privs_of_role(GetUserId(), state.role)))
            others++;
        else
            appendStringInfo(&text, " %s since %s,", describe_call(state), timestamptz_to_str(state.since));
    }
    if (text.len == 0)
        return psprintf("%d of other roles or databases", others);
    text.data[text.len - 1] = '\0';
    return others == 0 ? text.data + 1 : psprintf("%s, and %d of other roles or databases", text.data + 1, others);
}

void explain_server_worker(const ReadyTask &task, const ReasonSink &sink) {
    const auto busy_since = shmem::all_busy_since(settings::max_server_workers);
    if (settings::max_server_workers == 0)
        put(sink, {"a worker", task.ready.updated, std::nullopt,
                   psprintf("scylla.max_server_workers is 0, so only CALL scylla.work('%s') calls the handler.",
                            name_of(task.queue))});
    else if (busy_since)
        put(sink, {"a server worker", Max(*busy_since, task.ready.updated), std::nullopt,
                   psprintf("All server workers are busy since %s (scylla.max_server_workers is %d): %s. "
                            "scylla.stat_server_worker shows them.",
                            timestamptz_to_str(*busy_since), settings::max_server_workers, describe_calls())});
    else
        put(sink, {"a server worker", task.ready.updated, std::nullopt,
                   psprintf("Nothing holds it back. A server worker calls the handler of queue \"%s\" soon.",
                            name_of(task.queue))});
}

bool lacks_server_worker(const store::QueueRow &queue) {
    return queue.handler != nullptr && shmem::shared != nullptr &&
           (settings::max_server_workers == 0 || shmem::all_busy_since(settings::max_server_workers));
}

void explain_worker(const ReadyTask &task, const ReasonSink &sink) {
    if (task.queue.handler != nullptr && shmem::shared != nullptr) {
        explain_server_worker(task, sink);
        return;
    }
    const int64 waiting = shmem::shared != nullptr ? shmem::ahead(task.queue.id) : 0;
    put(sink,
        {"a worker", task.ready.updated, std::nullopt,
         waiting > 0 ? psprintf("A worker waits for queue \"%s\" and is just being woken.", name_of(task.queue))
                     : psprintf("Nothing holds it back. No worker waits for queue \"%s\".", name_of(task.queue))});
}

} // namespace

void explain_ready(Store &store, const ReadyTask &task, TimestampTz now, const ReasonSink &sink) {
    struct Counted {
        ReasonSink to;
        int64 count;
    } counted{sink, 0};
    const ReasonSink counting{[](void *to, const Reason &reason) {
                                  auto *all = static_cast<Counted *>(to);
                                  put(all->to, reason);
                                  all->count++;
                              },
                              &counted};
    explain_pause(task, counting);
    explain_limit(store, task, counting);
    explain_limit_of_key(store, task, counting);
    explain_rate(task, now, counting);
    explain_rate_of_key(task, now, counting);
    explain_order(store, task, now, counting);
    if (counted.count == 0 || (!task.queue.paused && lacks_server_worker(task.queue)))
        explain_worker(task, sink);
}

} // namespace scylla
