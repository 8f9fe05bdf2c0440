#include "settings.h"

#include "model/bounds.h"
#include "model/join.h"
#include "model/workflow_limits.h"
#include "pg/settings.h"
#include "shmem/shared.h"

namespace scylla::settings {

constinit bool monitor = true;
constinit int monitor_interval = 1000;
constinit int monitor_idle = 300'000;
constinit int default_timeout = 10'000;
constinit int check_timeout = 0;
constinit int default_max_attempts = 25;
constinit int max_workflow_steps = 300;
constinit int max_workflow_nesting = 10;
constinit int max_foreach_concurrency = 500;
constinit int max_loop_iterations = 25'000;
constinit int max_run_params = 128;
constinit int max_params_length = 750'000;
constinit int max_run_leaves = 1'000'000;
constinit int max_step_retries = 99;
constinit int max_retry_wait = 86'400;
constinit int max_workflow_timeout = 120 * 86'400;
constinit int max_definition_size = 256;
constinit int max_workflow_id_length = 128;
constinit int max_workflow_name_length = 256;
constinit int max_workflow_text_length = 16'384;
constinit int max_workflow_concurrency = 1'000;
constinit int max_step_concurrency = 1'000;
constinit int max_instance_step_concurrency = 999;
constinit int max_subworkflow_depth = 10;
constinit int max_trigger_signals = 8;
constinit int min_trigger_interval = 120;
constinit int event_retention = 86'400;
constinit int signal_retention = 7 * 86'400;
constinit int retention = 7 * 86'400;
constinit bool auto_create_queues = true;
constinit int max_value_size = 64 * 1024;
constinit int max_result_size = 256 * 1024;
constinit int max_metrics_queues = 500;
constinit int max_queues = 1024;
constinit int max_rate_keys = 16'384;
constinit int max_monitors = 4;
constinit int max_server_workers = 2;
constinit int handler_timeout = 60'000;
constinit int max_handler_timeout = 86'400;
constinit char *code_version = nullptr;
constinit int schedules = static_cast<int>(Schedules::automatic);

namespace {
constexpr config_enum_entry k_schedules[] = {{"auto", static_cast<int>(Schedules::automatic), false},
                                             {"pg_cron", static_cast<int>(Schedules::pg_cron), false},
                                             {"manual", static_cast<int>(Schedules::manual), false},
                                             {"off", static_cast<int>(Schedules::off), false},
                                             {nullptr, 0, false}};

extern "C" bool check_max_attempts(int *value, void **, GucSource) {
    if (*value != 0)
        return true;
    GUC_check_errdetail("It must be at least 1, or -1 for no bound.");
    return false;
}

constexpr std::size_t k_max_code_version = 200;

// ASCII, so that it is the same in every encoding.
extern "C" bool check_code_version(char **value, void **, GucSource) {
    const std::string_view version(*value != nullptr ? *value : "");
    const bool printable = std::all_of(version.begin(), version.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (printable && version.size() <= k_max_code_version)
        return true;
    GUC_check_errdetail("It must be up to 200 printable ASCII characters.");
    return false;
}

constexpr int k_max_seconds = static_cast<int>(model::k_max_timeout / model::k_second); // as of tasks

struct Limit {
    const char *name;
    const char *what;
    int *value;
    int most;
    int unit = 0;
};

void define_limits(std::initializer_list<Limit> limits) {
    for (const Limit &limit : limits)
        DefineCustomIntVariable(limit.name, limit.what, nullptr, limit.value, *limit.value, 1, limit.most, PGC_SUSET,
                                limit.unit, nullptr, nullptr, nullptr);
}

void define_limits_of_definitions() {
    constexpr int k_day = 86'400;
    define_limits(
        {{"scylla.max_definition_size", "Maximum size of the text of a definition of a workflow.", &max_definition_size,
          model::k_max_value_bytes / 1024, GUC_UNIT_KB},
         {"scylla.max_workflow_id_length", "Maximum length of ids of workflows, steps, parameters and job templates.",
          &max_workflow_id_length, model::workflow::k_longest_id},
         {"scylla.max_workflow_name_length", "Maximum length of names of workflows and steps.",
          &max_workflow_name_length, 10'000},
         {"scylla.max_workflow_text_length", "Maximum length of other texts in a definition of a workflow.",
          &max_workflow_text_length, 10'000'000},
         {"scylla.max_workflow_steps", "Maximum number of steps of a new version of a workflow.", &max_workflow_steps,
          10'000},
         {"scylla.max_workflow_nesting", "Maximum depth of loops in a new version of a workflow.",
          &max_workflow_nesting, model::workflow::k_deepest_nesting},
         {"scylla.max_trigger_signals", "Maximum number of signals of a trigger.", &max_trigger_signals,
          model::k_max_inputs},
         {"scylla.min_trigger_interval", "Shortest time between two runs of a time trigger of a workflow.",
          &min_trigger_interval, k_day, GUC_UNIT_S}});
}

void define_limits_of_concurrency() {
    constexpr int k_most = 1'000'000;
    define_limits({{"scylla.max_workflow_concurrency", "Maximum number of runs of a workflow at the same time.",
                    &max_workflow_concurrency, k_most},
                   {"scylla.max_step_concurrency", "Highest value of the property step_concurrency of a workflow.",
                    &max_step_concurrency, k_most},
                   {"scylla.max_instance_step_concurrency", "Highest value of instance_step_concurrency of a workflow.",
                    &max_instance_step_concurrency, k_most},
                   {"scylla.max_foreach_concurrency", "Maximum number of iterations of a foreach at the same time.",
                    &max_foreach_concurrency, 10'000}});
}

void define_limits_of_runs() {
    define_limits(
        {{"scylla.max_loop_iterations", "Maximum number of iterations of a loop in a workflow.", &max_loop_iterations,
          model::workflow::k_most_loop_iterations},
         {"scylla.max_subworkflow_depth", "Maximum number of runs of which each is a subworkflow of the one before.",
          &max_subworkflow_depth, 100},
         {"scylla.max_run_params", "Maximum number of parameters passed to a run of a workflow.", &max_run_params,
          10'000},
         {"scylla.max_params_length", "Maximum length of the parameters of a run or step, in characters of JSON.",
          &max_params_length, 10'000'000},
         {"scylla.max_run_leaves", "Number of steps in the loops of a run at which no more iterations begin.",
          &max_run_leaves, INT_MAX},
         {"scylla.max_step_retries", "Maximum number of retries of a step, for each class of failures.",
          &max_step_retries, 1'000'000},
         {"scylla.max_retry_wait", "Longest wait before a step of a workflow is tried again.", &max_retry_wait,
          k_max_seconds, GUC_UNIT_S},
         {"scylla.max_workflow_timeout", "Longest timeout of a workflow or a step, and longest duration of a Sleep.",
          &max_workflow_timeout, k_max_seconds, GUC_UNIT_S}});
}

void define_processes() {
    DefineCustomBoolVariable("scylla.monitor", "Runs a monitor in every database that has the extension.",
                             "The monitor expires leases, makes delayed tasks ready and removes old tasks.", &monitor,
                             true, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.monitor_interval", "Longest time that a monitor sleeps between two rounds.",
                            nullptr, &monitor_interval, 1000, 10, 3'600'000, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr,
                            nullptr);
    DefineCustomIntVariable("scylla.monitor_idle",
                            "Time without work after which a monitor exits, until something is due in its database.",
                            "It stays where workers wait. -1: it stays everywhere.", &monitor_idle, 300'000, -1,
                            INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable("scylla.schedules", "Selects what runs the schedules of recurring tasks.",
                             "The monitor where it runs, else pg_cron; pg_cron; another scheduler that calls "
                             "scylla.run_schedules(); or nothing.",
                             &schedules, static_cast<int>(Schedules::automatic), k_schedules, PGC_SUSET, 0, nullptr,
                             nullptr, nullptr);
    DefineCustomIntVariable("scylla.max_server_workers", "Maximum number of processes that run the handlers of queues.",
                            "Each takes one of max_worker_processes while there is work. 0: handlers run only by "
                            "scylla.work().",
                            &max_server_workers, 2, 0, shmem::k_max_workers, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.handler_timeout",
                            "Longest duration of a call of a handler when neither the task nor its queue has a "
                            "run_timeout.",
                            "The function select_work of a job gets no more on a schedule.", &handler_timeout, 60'000,
                            1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "scylla.max_handler_timeout", "Longest duration of a call of a handler, whatever run_timeout says.", nullptr,
        &max_handler_timeout, 86'400, 1, k_max_seconds, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
}

void define_tasks() {
    DefineCustomBoolVariable("scylla.auto_create_queues", "Creates a queue when the first task is submitted to it.",
                             nullptr, &auto_create_queues, true, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.default_timeout",
                            "Duration of a lease when neither the worker nor the queue sets one.", nullptr,
                            &default_timeout, 10'000, 1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "scylla.default_max_attempts",
        "Number of failures that abort a task when neither its submit nor its queue sets one; -1: no bound.", nullptr,
        &default_max_attempts, 25, -1, INT_MAX, PGC_USERSET, 0, check_max_attempts, nullptr, nullptr);
    DefineCustomStringVariable("scylla.code_version", "Code that the session's worker runs, such as a commit.",
                               "It is stored with each lease, and shown in the history of the task.", &code_version, "",
                               PGC_USERSET, 0, check_code_version, nullptr, nullptr);
}

void define_retentions() {
    DefineCustomIntVariable("scylla.check_timeout",
                            "How long a task waits for a check, unless it says so; 0: no limit.", nullptr,
                            &check_timeout, 0, 0, 365 * 86'400, PGC_SUSET, GUC_UNIT_S, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.retention",
                            "How long finished tasks are kept, unless their queue sets its own value.", nullptr,
                            &retention, 7 * 86'400, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.event_retention", "How long events are kept.", nullptr, &event_retention, 86'400, 0,
                            INT_MAX, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "scylla.signal_retention", "How long signals are kept, and callbacks that have ended or expired.", nullptr,
        &signal_retention, 7 * 86'400, 60, INT_MAX, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
}

void define_sizes() {
    DefineCustomIntVariable("scylla.max_value_size",
                            "Maximum size of the text of a spec, a result and other JSON values.", nullptr,
                            &max_value_size, 64 * 1024, 1, model::k_max_value_bytes / 1024, PGC_SUSET, GUC_UNIT_KB,
                            nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.max_result_size", "Total size of tasks at which a call returns no more of them.",
                            "A lease then returns fewer tasks than requested, and scylla.list_tasks() raises an error.",
                            &max_result_size, 256 * 1024, 1, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB, nullptr, nullptr,
                            nullptr);
    DefineCustomIntVariable("scylla.max_metrics_queues", "Maximum number of queues that scylla.metrics() shows.",
                            "With more queues it shows the busiest, and counts the others.", &max_metrics_queues, 500,
                            0, 1'000'000, PGC_USERSET, 0, nullptr, nullptr, nullptr);
}

// Shared memory is sized when it is created. Without preloading these settings have no effect, but may be in the
// configuration file.
void define_shared_memory() {
    const GucContext fixed = process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;
    DefineCustomIntVariable("scylla.max_queues", "Maximum number of queues tracked in shared memory.",
                            "More queues work, but are slower under long transactions.", &max_queues, 1024, 16,
                            1'000'000, fixed, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("scylla.max_rate_keys", "Maximum number of rate-limited keys tracked in shared memory.",
                            "With more keys, some get less than their rate, and none gets more.", &max_rate_keys,
                            16'384, 16, 10'000'000, fixed, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "scylla.max_monitors", "Maximum number of databases monitored at the same time.",
        "With more databases, the monitors take turns. Each monitor takes one of max_worker_processes, "
        "and so does the launcher.",
        &max_monitors, 4, 1, shmem::k_max_monitors, fixed, 0, nullptr, nullptr, nullptr);
}

} // namespace

void define() {
    define_processes();
    define_tasks();
    define_retentions();
    define_sizes();
    define_limits_of_definitions();
    define_limits_of_concurrency();
    define_limits_of_runs();
    define_shared_memory();
    MarkGUCPrefixReserved("scylla");
}

} // namespace scylla::settings
