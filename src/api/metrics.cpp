// metrics: the statistics in the OpenMetrics text format. A queue takes some 5 kB, so each line is written straight
// into the result, and only the busiest queues are shown.
#include "api/queue_numbers.h"

#include <bit>

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "plan/numbers.h"
#include "pool/pools.h"
#include "shmem/pending.h"
#include "shmem/workers.h"
#include "store/task/workers.h"
#include "task/moves.h"
#include "task/rights.h"
#include "trigger/numbers.h"
#include "workflow/numbers.h"

namespace scylla {

namespace {

using shmem::Count;
using shmem::Place;

// A queue with its label.
struct Labelled {
    std::string_view label; // queue="name"
    const QueueNumbers *numbers;
    int64 workers;
    const WaitNumbers *waits; // null: none of its tasks wait for conditions or pools, and it has no checks
};

int64 count(const Labelled &queue, Count what) {
    return queue.numbers->stats != nullptr ? queue.numbers->stats->count[static_cast<std::size_t>(what)] : 0;
}
int64 tasks(const Labelled &queue, Place place) {
    return Max(queue.numbers->now_in[static_cast<std::size_t>(place)], 0);
}

WaitNumbers waits(const Labelled &queue) { return queue.waits != nullptr ? *queue.waits : WaitNumbers{}; }

struct Sample {
    std::string_view labels; // follow the queue's label, in byte order
    int64 (*value)(const Labelled &queue);
};

struct Family {
    std::string_view name;
    std::string_view help;
    bool is_counter; // known only with shared memory
    std::array<Sample, 4> samples;
};

constexpr std::array<Family, 4> k_tasks_and_workers = {{
    {.name = "pgscylla_tasks",
     .help = "Tasks by queue and state.",
     .is_counter = false,
     .samples = {{{",state=\"ready\"", [](const Labelled &queue) { return tasks(queue, Place::ready); }},
                  {",state=\"running\"", [](const Labelled &queue) { return tasks(queue, Place::running); }},
                  {",state=\"terminal\"", [](const Labelled &queue) { return tasks(queue, Place::terminal); }},
                  {",state=\"waiting\"", [](const Labelled &queue) { return tasks(queue, Place::waiting); }}}}},
    {.name = "pgscylla_queue_workers",
     .help = "Workers that hold leases.",
     .is_counter = false,
     .samples = {{{"", [](const Labelled &queue) { return queue.workers; }}}}},
    {.name = "pgscylla_queue_deferred",
     .help = "Tasks that a worker has deferred and that wait for conditions.",
     .is_counter = false,
     .samples = {{{"", [](const Labelled &queue) { return waits(queue).deferred; }}}}},
    {.name = "pgscylla_queue_checks",
     .help = "Checks that the queue is to answer, and has not yet.",
     .is_counter = false,
     .samples = {{{"", [](const Labelled &queue) { return waits(queue).asked; }}}}},
}};

constexpr std::array<Family, 6> k_counters = {{
    {.name = "pgscylla_tasks_submitted",
     .help = "Submitted tasks.",
     .is_counter = true,
     .samples = {{{"", [](const Labelled &queue) { return count(queue, Count::submitted); }}}}},
    {.name = "pgscylla_tasks_turned_away",
     .help = "Tasks beyond max_depth, by what happened to them.",
     .is_counter = true,
     .samples = {{{",how=\"refused\"", [](const Labelled &queue) { return count(queue, Count::refused); }},
                  {",how=\"shed\"", [](const Labelled &queue) { return count(queue, Count::shed); }}}}},
    {.name = "pgscylla_leases",
     .help = "Leases.",
     .is_counter = true,
     .samples = {{{"", [](const Labelled &queue) { return count(queue, Count::leased); }}}}},
    {.name = "pgscylla_leases_lost",
     .help = "Leases that ended without ending the task, by reason.",
     .is_counter = true,
     .samples = {{{",reason=\"expired\"", [](const Labelled &queue) { return count(queue, Count::expired); }},
                  {",reason=\"failed\"", [](const Labelled &queue) { return count(queue, Count::failed); }},
                  {",reason=\"yielded\"", [](const Labelled &queue) { return count(queue, Count::yielded); }}}}},
    {.name = "pgscylla_tasks_ended",
     .help = "Tasks that ended, by status.",
     .is_counter = true,
     .samples = {{{",status=\"aborted\"", [](const Labelled &queue) { return count(queue, Count::aborted); }},
                  {",status=\"cancelled\"", [](const Labelled &queue) { return count(queue, Count::cancelled); }},
                  {",status=\"completed\"", [](const Labelled &queue) { return count(queue, Count::completed); }}}}},
    {.name = "pgscylla_tasks_purged",
     .help = "Tasks removed after their retention.",
     .is_counter = true,
     .samples = {{{"", [](const Labelled &queue) { return count(queue, Count::purged); }}}}},
}};

// The names of the buckets of a histogram: their upper bounds in seconds. The last one has none.
constexpr std::array<std::string_view, model::k_buckets - 1> k_bounds = {
    "0.001",     "0.002",     "0.004",     "0.008",      "0.016",      "0.032",      "0.064",      "0.128",
    "0.256",     "0.512",     "1.024",     "2.048",      "4.096",      "8.192",      "16.384",     "32.768",
    "65.536",    "131.072",   "262.144",   "524.288",    "1048.576",   "2097.152",   "4194.304",   "8388.608",
    "16777.216", "33554.432", "67108.864", "134217.728", "268435.456", "536870.912", "1073741.824"};

// ---- writing -------------------------------------------------------------------------------------------------------

void write(StringInfo out, std::string_view text) {
    appendBinaryStringInfo(out, text.data(), static_cast<int>(text.size()));
}

void write(StringInfo out, int64 number) {
    enlargeStringInfo(out, MAXINT8LEN + 1);
    out->len += pg_lltoa(number, out->data + out->len);
}

void write_seconds(StringInfo out, int64 micros) {
    const Datum seconds = Float8GetDatum(static_cast<float8>(micros) / USECS_PER_SEC);
    write(out, DatumGetCString(DirectFunctionCall1(float8out, seconds)));
}

void begin_family(StringInfo out, std::string_view name, std::string_view type, std::string_view help) {
    for (const std::string_view part : {std::string_view("# TYPE "), name, std::string_view(" "), type})
        write(out, part);
    if (name.ends_with("_seconds"))
        for (const std::string_view part : {std::string_view("\n# UNIT "), name, std::string_view(" seconds")})
            write(out, part);
    for (const std::string_view part :
         {std::string_view("\n# HELP "), name, std::string_view(" "), help, std::string_view("\n")})
        write(out, part);
}

// The name of a sample and its labels, up to its value.
void begin_sample(StringInfo out, std::string_view name, std::string_view suffix, const Labelled &queue,
                  std::string_view labels) {
    for (const std::string_view part :
         {name, suffix, std::string_view("{"), queue.label, labels, std::string_view("} ")})
        write(out, part);
}

void write_bucket(StringInfo out, std::string_view name, const Labelled &queue, std::string_view bound, int64 count) {
    for (const std::string_view part :
         {name, std::string_view("_bucket{"), queue.label, std::string_view(",le=\""), bound, std::string_view("\"} ")})
        write(out, part);
    write(out, count);
    write(out, "\n");
}

using Queues = std::span<const Labelled>;

void write_family(StringInfo out, const Family &family, Queues queues, bool has_counters) {
    begin_family(out, family.name, family.is_counter ? "counter" : "gauge", family.help);
    if (family.is_counter && !has_counters)
        return;
    for (const Labelled &queue : queues) {
        CHECK_FOR_INTERRUPTS();
        for (const Sample &sample : family.samples) {
            if (sample.value == nullptr)
                break;
            begin_sample(out, family.name, family.is_counter ? "_total" : "", queue, sample.labels);
            write(out, sample.value(queue));
            write(out, "\n");
        }
    }
}

void write_oldest(StringInfo out, Queues queues, TimestampTz now) {
    constexpr std::string_view k_name = "pgscylla_oldest_ready_seconds";
    begin_family(out, k_name, "gauge", "Longest time that one of the tasks to be leased next has been ready.");
    const RowMemory memory = begin_row_memory();
    for (const Labelled &queue : queues) {
        begin_sample(out, k_name, "", queue, "");
        const auto &since = queue.numbers->ready_since;
        write_seconds(out, since ? Max(now - *since, 0) : 0);
        write(out, "\n");
        reset(memory);
    }
    end(memory);
}

void write_histogram(StringInfo out, std::string_view name, const Labelled &queue, const model::Histogram &times) {
    int64 upto = 0;
    for (std::size_t i = 0; i < times.count.size(); i++) {
        upto += times.count[i];
        write_bucket(out, name, queue, i < k_bounds.size() ? k_bounds[i] : "+Inf", upto);
    }
    begin_sample(out, name, "_count", queue, "");
    write(out, upto);
    write(out, "\n");
    begin_sample(out, name, "_sum", queue, "");
    write_seconds(out, times.sum);
    write(out, "\n");
}

struct HistogramFamily {
    std::string_view name;
    std::string_view help;
    shmem::Time time;
};

void write_histograms(StringInfo out, const HistogramFamily &family, Queues queues, bool has_counters) {
    begin_family(out, family.name, "histogram", family.help);
    if (!has_counters)
        return;
    const model::Histogram nothing{};
    const RowMemory memory = begin_row_memory();
    for (const Labelled &queue : queues) {
        CHECK_FOR_INTERRUPTS();
        const shmem::QueueStats *stats = queue.numbers->stats;
        write_histogram(out, family.name, queue,
                        stats != nullptr ? stats->time[static_cast<std::size_t>(family.time)] : nothing);
        reset(memory);
    }
    end(memory);
}

void write_monitor(StringInfo out) {
    TimestampTz since = 0;
    const shmem::MonitorStats stats = shmem::monitor_stats(stat_id(0), &since).value_or(shmem::MonitorStats{});
    begin_family(out, "pgscylla_monitor_running", "gauge",
                 "Whether a monitor runs in this database, or comes when something is due.");
    write(out, shmem::is_monitor_in_order() ? "pgscylla_monitor_running 1\n" : "pgscylla_monitor_running 0\n");
    begin_family(out, "pgscylla_monitor_rounds", "counter", "Transactions of the monitor.");
    write(out, "pgscylla_monitor_rounds_total ");
    write(out, stats.rounds);
    write(out, "\n");
    begin_family(out, "pgscylla_monitor_busy_seconds", "counter", "Duration of the transactions of the monitor.");
    write(out, "pgscylla_monitor_busy_seconds_total ");
    write_seconds(out, stats.total_time);
    write(out, "\n");
    begin_family(out, "pgscylla_monitor_errors", "counter", "Errors in the work of the monitor.");
    write(out, "pgscylla_monitor_errors_total ");
    write(out, stats.errors);
    write(out, "\n");
    begin_family(out, "pgscylla_monitor_failing_duties", "gauge", "Duties whose last turn ended with an error.");
    write(out, "pgscylla_monitor_failing_duties ");
    write(out, static_cast<int64>(std::popcount(shmem::failing_duties().duties)));
    write(out, "\n");
}

// What was changed at a time that is still to come: the clock was ahead.
void write_ahead_of_clock(StringInfo out) {
    constexpr std::string_view k_name = "pgscylla_ahead_of_clock";
    const auto all = store::workers::ahead();
    begin_family(out, k_name, "gauge", "What was changed at a time that is still to come: the clock was ahead.");
    for (const std::string_view what : {"leases", "schedules", "tasks"}) {
        int64 ahead = 0;
        for (const store::workers::Ahead &of : all)
            if (view(of.what) == what && rights::may_watch(of.owner, of.viewers, of.admins))
                ahead += of.ahead;
        for (const std::string_view part : {k_name, std::string_view("{what=\""), what, std::string_view("\"} ")})
            write(out, part);
        write(out, ahead);
        write(out, "\n");
    }
}

// Of the whole server.
void write_server_workers(StringInfo out, TimestampTz now) {
    std::array<shmem::WorkerState, std::size_t{shmem::k_max_workers}> states;
    const std::size_t all = shmem::shared != nullptr ? shmem::look_at_workers(states) : 0;
    const auto workers = std::span(states).first(all);
    begin_family(out, "pgscylla_server_workers", "gauge",
                 "Processes of the server that call handlers, in all databases, by whether they are calling one.");
    const auto count = [&](bool calls) {
        return std::count_if(workers.begin(), workers.end(), [&](const shmem::WorkerState &each) {
            return OidIsValid(each.role) && !each.lost && each.calls == calls;
        });
    };
    write(out, "pgscylla_server_workers{state=\"calling\"} ");
    write(out, count(true));
    write(out, "\npgscylla_server_workers{state=\"other\"} ");
    write(out, count(false));
    write(out, "\n");
    begin_family(out, "pgscylla_server_workers_limit", "gauge", "The setting scylla.max_server_workers.");
    write(out, "pgscylla_server_workers_limit ");
    write(out, int64{settings::max_server_workers});
    write(out, "\n");
    begin_family(out, "pgscylla_server_workers_busy_seconds", "gauge",
                 "How long all server workers have been busy, each with its present call.");
    const auto since = all > 0 ? shmem::all_busy_since(settings::max_server_workers) : std::nullopt;
    write(out, "pgscylla_server_workers_busy_seconds ");
    write_seconds(out, since ? Max(now - *since, 0) : 0);
    write(out, "\n");
}

// ---- the queues ----------------------------------------------------------------------------------------------------

std::string_view label_of(std::string_view kind, const text *name) {
    StringInfoData label;
    initStringInfo(&label);
    write(&label, kind);
    write(&label, "=\"");
    for (const char c : view(name))
        if (c == '\n')
            write(&label, "\\n");
        else {
            if (c == '\\' || c == '"')
                appendStringInfoCharMacro(&label, '\\');
            appendStringInfoCharMacro(&label, c);
        }
    write(&label, "\"");
    return {label.data, static_cast<std::size_t>(label.len)};
}

int64 workers_of(std::span<const store::workers::WorkerCount> workers, int32 queue) {
    const auto at =
        std::lower_bound(workers.begin(), workers.end(), queue,
                         [](const store::workers::WorkerCount &of, int32 wanted) { return of.queue < wanted; });
    return at != workers.end() && at->queue == queue ? at->workers : 0;
}

const WaitNumbers *waits_of(std::span<const WaitNumbers> waits, int32 queue) {
    const auto at = std::lower_bound(waits.begin(), waits.end(), queue,
                                     [](const WaitNumbers &of, int32 wanted) { return of.queue < wanted; });
    return at != waits.end() && at->queue == queue ? &*at : nullptr;
}

// Whether a queue has more to tell than another: those with live tasks first, then those with more submitted tasks
// since counting began, which keeps the selection steady.
bool is_busier(const QueueNumbers *a, const QueueNumbers *b) {
    const auto is_live = [](const QueueNumbers *of) {
        const auto in = [of](shmem::Place place) { return of->now_in[static_cast<std::size_t>(place)]; };
        return in(shmem::Place::waiting) + in(shmem::Place::ready) + in(shmem::Place::running) > 0;
    };
    const auto submitted = [](const QueueNumbers *of) {
        return of->stats == nullptr ? 0 : of->stats->count[static_cast<std::size_t>(shmem::Count::submitted)];
    };
    if (is_live(a) != is_live(b))
        return is_live(a);
    return submitted(a) != submitted(b) ? submitted(a) > submitted(b) : a->id < b->id;
}

// As many queues as metrics() shows.
std::span<const QueueNumbers *> busiest(const AllNumbers &all) {
    const auto queues = allocate<const QueueNumbers *>(all.queues.size());
    for (std::size_t i = 0; i < queues.size(); i++)
        queues[i] = &all.queues[i];
    const std::size_t shown = Min(queues.size(), static_cast<std::size_t>(settings::max_metrics_queues));
    if (shown < queues.size())
        std::partial_sort(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(shown), queues.end(), is_busier);
    return queues.first(shown);
}

void write_left_out(StringInfo out, std::size_t queues) {
    constexpr std::string_view k_name = "pgscylla_metrics_queues_left_out";
    begin_family(out, k_name, "gauge", "Queues that are not shown: scylla.max_metrics_queues.");
    write(out, k_name);
    write(out, " ");
    write(out, static_cast<int64>(queues));
    write(out, "\n");
}

// By their names.
Queues label(store::Store &store, const AllNumbers &all) {
    const auto shown = busiest(all);
    const auto workers = store::workers::count();
    const auto waits = read_wait_numbers(store);
    const auto queues = allocate<Labelled>(shown.size());
    for (std::size_t i = 0; i < queues.size(); i++) {
        const QueueNumbers &numbers = *shown[i];
        queues[i] = {label_of("queue", numbers.name), &numbers, workers_of(workers, numbers.id),
                     waits_of(waits, numbers.id)};
    }
    std::sort(queues.begin(), queues.end(), [](const Labelled &a, const Labelled &b) { return a.label < b.label; });
    return queues;
}

// ---- what tasks wait for -------------------------------------------------------------------------------------------

struct Waited {
    std::string_view label;
    int64 WaitNumbers::*tasks;
};

constexpr std::array<Waited, 4> k_waited = {{{",what=\"callback\"", &WaitNumbers::callbacks},
                                             {",what=\"check\"", &WaitNumbers::checks},
                                             {",what=\"pool\"", &WaitNumbers::pools},
                                             {",what=\"signal\"", &WaitNumbers::signals}}};

// Only of queues that have any of it: most have not.
void write_waits(StringInfo out, Queues queues) {
    constexpr std::string_view k_name = "pgscylla_tasks_waiting_for";
    begin_family(out, k_name, "gauge", "Tasks that wait for conditions and pools, by what they wait for.");
    for (const Labelled &queue : queues) {
        if (queue.waits == nullptr)
            continue;
        CHECK_FOR_INTERRUPTS();
        for (const Waited &what : k_waited) {
            begin_sample(out, k_name, "", queue, what.label);
            write(out, queue.waits->*what.tasks);
            write(out, "\n");
        }
    }
}

// ---- triggers ------------------------------------------------------------------------------------------------------

struct TriggerFamily {
    std::string_view name;
    std::string_view help;
    bool is_counter;
    int64 (*value)(const trigger::Numbers &of);
};

constexpr std::array<TriggerFamily, 6> k_triggers = {{
    {"pgscylla_trigger_fired", "Sets of signals for which the action of a trigger was carried out.", true,
     [](const trigger::Numbers &of) { return of.fired; }},
    {"pgscylla_trigger_skipped", "Sets of signals for which the condition of a trigger was not true.", true,
     [](const trigger::Numbers &of) { return of.skipped; }},
    {"pgscylla_trigger_missed", "Sets of signals that were older than the grace of a trigger.", true,
     [](const trigger::Numbers &of) { return of.missed; }},
    {"pgscylla_trigger_signals_waiting", "Signals that wait for their partners in a trigger.", false,
     [](const trigger::Numbers &of) { return of.waiting; }},
    {"pgscylla_trigger_sets_failing",
     "Sets of signals for which the action of a trigger has failed, to be tried again.", false,
     [](const trigger::Numbers &of) { return of.failing; }},
    {"pgscylla_trigger_is_paused", "Whether a trigger is paused.", false,
     [](const trigger::Numbers &of) -> int64 { return of.paused ? 1 : 0; }},
}};

void write_triggers(StringInfo out) {
    const auto triggers = trigger::read_numbers();
    for (const TriggerFamily &family : k_triggers) {
        begin_family(out, family.name, family.is_counter ? "counter" : "gauge", family.help);
        for (const trigger::Numbers &of : triggers) {
            for (const std::string_view part : {family.name, std::string_view(family.is_counter ? "_total{" : "{"),
                                                label_of("trigger", of.name), std::string_view("} ")})
                write(out, part);
            write(out, family.value(of));
            write(out, "\n");
        }
    }
}

// ---- pools ---------------------------------------------------------------------------------------------------------

struct PoolFamily {
    std::string_view name;
    std::string_view help;
    bool by_resource;
    float8 (*value)(const store::pools::Numbers &of);
};

constexpr std::array<PoolFamily, 6> k_pools = {{
    {"pgscylla_pool_capacity", "Capacity of pools, by resource.", true,
     [](const store::pools::Numbers &of) { return of.capacity; }},
    {"pgscylla_pool_reserved", "What tasks hold of pools, by resource.", true,
     [](const store::pools::Numbers &of) { return of.reserved; }},
    {"pgscylla_pool_free", "What can be placed in pools, by resource.", true,
     [](const store::pools::Numbers &of) { return of.free; }},
    {"pgscylla_pool_tasks_waiting", "Tasks in the lines of pools.", false,
     [](const store::pools::Numbers &of) { return static_cast<float8>(of.waiting); }},
    {"pgscylla_pool_tasks_placed", "Tasks that hold something of pools.", false,
     [](const store::pools::Numbers &of) { return static_cast<float8>(of.placed); }},
    {"pgscylla_pool_is_open", "Whether a pool takes tasks: it is not drained, and its last report is fresh enough.",
     false, [](const store::pools::Numbers &of) { return of.open ? 1.0 : 0.0; }},
}};

void write_pools(StringInfo out) {
    const auto pools = read_pool_numbers();
    for (const PoolFamily &family : k_pools) {
        begin_family(out, family.name, "gauge", family.help);
        const text *last = nullptr;
        for (const store::pools::Numbers &of : pools) {
            if (!family.by_resource && last != nullptr && equal(last, of.pool))
                continue;
            last = of.pool;
            for (const std::string_view part : {family.name, std::string_view("{"), label_of("pool", of.pool)})
                write(out, part);
            if (family.by_resource)
                for (const std::string_view part : {std::string_view(","), label_of("resource", of.resource)})
                    write(out, part);
            write(out, "} ");
            write(out, DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(family.value(of)))));
            write(out, "\n");
        }
    }
}

// ---- workflows -----------------------------------------------------------------------------------------------------

using Workflows = std::span<const workflow::Numbers>;

// One sample per workflow, without other labels.
struct WorkflowFamily {
    std::string_view name;
    std::string_view help;
    bool is_counter;
    int64 (*value)(const workflow::Numbers &of);
};

constexpr std::array<WorkflowFamily, 3> k_workflow_numbers = {{
    {"pgscylla_workflow_instances", "Instances of workflows that were started.", true,
     [](const workflow::Numbers &of) { return of.instances; }},
    {"pgscylla_workflow_runs_failed", "Instances that are kept and have failed, not restarted or unblocked.", false,
     [](const workflow::Numbers &of) { return of.failed; }},
    {"pgscylla_workflow_agenda", "What has happened in runs and the engine has not acted on yet.", false,
     [](const workflow::Numbers &of) { return of.agenda; }},
}};

struct WorkflowAge {
    std::string_view name;
    std::string_view help;
    std::optional<TimestampTz> workflow::Numbers::*since;
};

constexpr std::array<WorkflowAge, 3> k_workflow_ages = {{
    {"pgscylla_workflow_oldest_queued_seconds", "Longest time that a run has been queued.",
     &workflow::Numbers::oldest_queued},
    {"pgscylla_workflow_oldest_running_seconds", "Longest time that a run has been in progress.",
     &workflow::Numbers::oldest_running},
    {"pgscylla_workflow_oldest_agenda_seconds", "Longest time that something has waited for the engine.",
     &workflow::Numbers::oldest_agenda},
}};

void begin_workflow_sample(StringInfo out, std::string_view name, std::string_view suffix, const text *workflow,
                           std::string_view state) {
    for (const std::string_view part : {name, suffix, std::string_view("{"), label_of("workflow", workflow)})
        write(out, part);
    if (!state.empty())
        for (const std::string_view part : {std::string_view(",state=\""), state, std::string_view("\"")})
            write(out, part);
    write(out, "} ");
}

void write_states(StringInfo out, std::string_view name, const text *workflow, std::span<const std::string_view> states,
                  std::span<const int64> counts) {
    for (std::size_t i = 0; i < states.size(); i++) {
        begin_workflow_sample(out, name, "", workflow, states[i]);
        write(out, counts[i]);
        write(out, "\n");
    }
}

void write_live(StringInfo out, Workflows workflows) {
    constexpr std::array<std::string_view, 2> k_run_states = {"queued", "running"};
    constexpr std::string_view k_runs = "pgscylla_workflow_runs_live";
    constexpr std::string_view k_steps = "pgscylla_workflow_steps_live";
    begin_family(out, k_runs, "gauge", "Runs of workflows that have not ended, by state.");
    for (const workflow::Numbers &of : workflows)
        write_states(out, k_runs, of.id, k_run_states, std::array{of.queued, of.running});
    begin_family(out, k_steps, "gauge", "Steps of runs in progress, by state.");
    for (const workflow::Numbers &of : workflows)
        write_states(out, k_steps, of.id, workflow::k_step_groups, of.steps);
}

void write_workflows(StringInfo out, TimestampTz now) {
    const Workflows workflows = workflow::read_numbers();
    for (const WorkflowFamily &family : k_workflow_numbers) {
        begin_family(out, family.name, family.is_counter ? "counter" : "gauge", family.help);
        for (const workflow::Numbers &of : workflows) {
            begin_workflow_sample(out, family.name, family.is_counter ? "_total" : "", of.id, "");
            write(out, family.value(of));
            write(out, "\n");
        }
    }
    write_live(out, workflows);
    for (const WorkflowAge &age : k_workflow_ages) {
        begin_family(out, age.name, "gauge", age.help);
        for (const workflow::Numbers &of : workflows) {
            const auto &since = of.*age.since;
            begin_workflow_sample(out, age.name, "", of.id, "");
            write_seconds(out, since ? Max(now - *since, 0) : 0);
            write(out, "\n");
        }
    }
}

text *write_all(store::Store &store, const AllNumbers &all) {
    const Queues queues = label(store, all);
    StringInfoData out;
    initStringInfo(&out);
    out.len = VARHDRSZ;
    write_family(&out, k_tasks_and_workers[0], queues, all.has_counters);
    write_oldest(&out, queues, all.now);
    for (const Family &family : std::span(k_tasks_and_workers).subspan(1))
        write_family(&out, family, queues, all.has_counters);
    for (const Family &family : k_counters)
        write_family(&out, family, queues, all.has_counters);
    write_histograms(&out, {"pgscylla_wait_seconds", "Time from becoming ready to being leased.", shmem::Time::wait},
                     queues, all.has_counters);
    write_histograms(
        &out, {"pgscylla_run_seconds", "Duration of leases that ended by complete, abort or fail.", shmem::Time::run},
        queues, all.has_counters);
    write_left_out(&out, all.queues.size() - queues.size());
    write_monitor(&out);
    write_ahead_of_clock(&out);
    write_server_workers(&out, all.now);
    write_waits(&out, queues);
    write_triggers(&out);
    write_pools(&out);
    write_workflows(&out, all.now);
    write(&out, "# EOF\n");
    SET_VARSIZE(out.data, out.len);
    return reinterpret_cast<text *>(out.data);
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_metrics) {
    using namespace scylla;
    store::Store store = store::open(AccessShareLock);
    const AllNumbers all = find_numbers(store, true);
    text *written = write_all(store, all);
    close(store);
    PG_RETURN_TEXT_P(written);
}
