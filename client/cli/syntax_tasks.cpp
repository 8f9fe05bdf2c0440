// The command line of tasks, and of work on them.
#include "syntax.h"

namespace scylla::cli {
namespace {

class task_syntax : syntax {
public:
    using syntax::syntax;

    // statuses: allowed values; null: there is no such option.
    void filter(CLI::App *command, filter_options &o, const char *statuses) {
        option(command, "--queue", o.queue, "QUEUE", "Only tasks of this queue.");
        if (statuses != nullptr)
            choice(command, "--status", o.status, statuses,
                   "Only tasks in this status; live: waiting, ready or running.");
        option(command, "--worker", o.worker, "NAME", "Only tasks of this worker.");
        option(command, "--key", o.key, "KEY", "Only tasks with this key.");
        option(command, "--code", o.code, "CODE", "Only tasks whose last error has this code.");
        option(command, "--spec", o.spec, "JSON", "Only tasks whose spec contains this: {\"customer\": 17}.");
        option(command, "--created-after", o.created_after, "TIME", "Only tasks submitted then or later.");
        option(command, "--created-before", o.created_before, "TIME", "Only tasks submitted earlier.");
    }

    void add_tasks() {
        add_submit();
        add_get();
        add_explain();
        add_list();
        add_find();
        add_cancel();
        add_take_back();
        add_set_output();
        add_not_yet();
        add_defer();
    }

    void add_changes() {
        add_reschedule();
        add_priority();
        add_delete();
        add_resubmit();
        add_dead();
    }

    void add_work() {
        auto [command, o] = add<work_options>(m_app, "work", k_work, work);
        argument(command, "QUEUE", o->queues, "The queues, up to 64. The worker takes turns between them.")->required();
        command_options(command, *o);
        lease_options(command, *o);
        choice(command, "--input", o->input, "spec|task",
               "What the command reads from standard input: the specification, or an object with rn, "
               "queue, spec, args, priority, attempt, failures, errors, plan and key.")
            ->default_str("spec");
        option(command, "--max-output", o->max_output, "BYTES",
               "Abort a task that writes more than this to standard output.")
            ->default_str("1048576");
        flag(command, "--until-empty", o->until_empty, "Stop when no task of the queues is waiting, ready or running.");
        CLI::Option *quiet =
            flag(command, "-q,--quiet", o->quiet, "Print only errors: no messages, and no standard error of commands.");
        flag(command, "-v,--verbose", o->verbose, "Print all messages.")->excludes(quiet);
        command->footer(k_work_footer);
    }

private:
    void add_submit() {
        auto [command, o] = add<submit_options>(m_app, "submit",
                                                "Submit one task or many.\n\n"
                                                "Prints the rn of the task; with --lines, the number of tasks.",
                                                submit_task);
        argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
        argument(command, "SPEC", o->spec, "What to do, as JSON. \"-\" or nothing: read it from standard input.");
        CLI::Option *lines = flag(command, "--lines", o->lines,
                                  "Read one JSON value per line from standard input and submit a task for each: all or "
                                  "none.");
        option(command, "--rn", o->rn, "NAME", "Name of the task. Default: the server generates one.")->excludes(lines);
        option(command, "--priority", o->priority, "N", "0 to 127; 127 is leased first.");
        CLI::Option *not_before =
            option(command, "--not-before", o->not_before, "TIME", "Wait until this time, in a format of PostgreSQL.");
        duration(command, "--delay", o->delay, "Wait for this long.")->excludes(not_before);
        option(command, "--max-attempts", o->max_attempts, "N", "Number of failures that abort the task.");
        option(command, "--retry", o->retry, "JSON",
               "Delays before retries: {\"initial\": \"10 s\", \"factor\": 2, \"max\": \"1 h\"}.");
        wait_options(command, *o);
        dedup_options(command, *o)->excludes(lines);
        option(command, "--key", o->key, "KEY",
               "The tenant, customer or host that the task is for; used by limits per key.");
        choice(command, "--on-duplicate", o->on_duplicate, "error|ignore|replace",
               "If the rn or the deduplication key is taken: raise an error, keep the existing task unchanged, "
               "or give it the new spec, priority and time while it waits.");
    }

    // What the task waits for, what it needs, and how long it runs.
    static void wait_options(CLI::App *command, submit_options &o) {
        option(command, "--depends-on", o.depends_on, "RN",
               "Start after this task is completed. May be repeated: after all of them.")
            ->allow_extra_args(false);
        choice(command, "--on-dependency-failure", o.on_dependency_failure, "cascade|skip|ignore",
               "If one of these fails: abort the task too, cancel it, or start it all the same.");
        option(command, "--wait-for", o.wait_for, "JSON",
               "Start after callbacks, signals and checks: [{\"callback\": \"token\"}, {\"signal\": \"name\", "
               "\"match\": {...}}, {\"check\": {\"queue\": \"name\", \"spec\": {...}, \"every\": \"1 min\"}}].");
        option(command, "--needs", o.needs, "JSON",
               "What it needs from pools: {\"cluster\": {\"cores\": 8}}, or {\"any\": [\"a\", \"b\"], \"cores\": 8}.");
        duration(command, "--expected-runtime", o.expected_runtime,
                 "How long it is expected to run, for the placement of other tasks.");
        duration(command, "--run-timeout", o.run_timeout,
                 "How long one run of it may take. Default: that of the queue.");
        option(command, "--plan", o.plan, "NAME", "The plan of the task.");
    }

    // Returns the option of the deduplication key.
    static CLI::Option *dedup_options(CLI::App *command, submit_options &o) {
        CLI::Option *dedup_key =
            option(command, "--dedup-key", o.dedup_key, "KEY", "Unique among the live tasks of the queue.");
        CLI::Option *dedup_for =
            duration(command, "--dedup-for", o.dedup_for,
                     "Keep the deduplication key for this long, also when the task has been completed before.")
                ->needs(dedup_key);
        duration(command, "--debounce", o.debounce,
                 "Start when nobody has submitted the deduplication key again for this long; the last spec counts.")
            ->needs(dedup_key)
            ->excludes(dedup_for);
        return dedup_key;
    }

    void add_get() {
        auto [command, o] = add<get_options>(m_app, "get", "Show a task.", get_task);
        argument(command, "RN", o->rn, "Name of the task.")->required();
        option(command, "--field", o->field, "COLUMN", "Print only this column, unchanged: status, result, ...");
    }

    void add_explain() {
        auto [command, rn] = add<std::string>(m_app, "explain",
                                              "Show why a task does not run.\n\n"
                                              "One row for each thing that it waits for; none if it runs or has ended.",
                                              explain_waiting);
        argument(command, "RN", *rn, "Name of the task.")->required();
    }

    void add_list() {
        auto [command, o] = add<list_options>(
            m_app, "list", "Show tasks, newest first; with \"--status ready\", in the order of leasing.", list_tasks);
        argument(command, "QUEUE,--queue", o->queue, "Only tasks of this queue.");
        choice(command, "--status", o->status, "waiting|ready|running|completed|aborted|cancelled",
               "Only tasks in this status.");
        option(command, "--worker", o->worker, "NAME", "Only tasks of this worker.");
        option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")->default_str("100");
    }

    void add_find() {
        auto [command, o] = add<find_options>(
            m_app, "find",
            "Show tasks that match, newest first; with \"--status ready\", by priority and age.\n\n"
            "It looks at up to 100,000 tasks. If there may be more, it says so on standard error, with the option "
            "to continue there. The exit status is 0 in both cases.",
            find_tasks);
        filter(command, o->filter, "waiting|ready|running|completed|aborted|cancelled|live");
        option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")->default_str("100");
        option(command, "--after", o->after, "CURSOR", "Continue after the tasks that another call has shown.");
    }

    void add_cancel() {
        auto [command, o] = add<cancel_options>(
            m_app, "cancel",
            "Cancel tasks: those that are named, or all that match.\n\n"
            "Their workers notice at the next heartbeat. If a task does not exist, has ended, or cannot be "
            "cancelled, the others are cancelled nevertheless, and the exit status is 1.\n\n"
            "Tasks that match are cancelled in portions, each in a transaction of its own, with pauses so that workers "
            "go first. Prints their number. After an interruption, repeat the command to continue.",
            cancel_tasks);
        argument(command, "RN", o->rns, "Names of the tasks.");
        filter(command, o->filter, "waiting|ready|running|live");
        flag(command, "--all", o->all, "All live tasks. Without it, a filter is required.");
        flag(command, "--dry-run", o->dry_run, "Only print how many match.");
    }

    void add_take_back() {
        auto [command, o] = add<yield_many_options>(
            m_app, "take-back",
            "Take running tasks that match from their workers: they are ready again, for any worker.\n\n"
            "Prints their number. The workers notice at the next heartbeat.",
            yield_tasks);
        filter(command, o->filter, nullptr);
        flag(command, "--dry-run", o->dry_run, "Only print how many match.");
    }

    void add_set_output() {
        auto [command, o] = add(m_app, "set-output",
                                "Set parameters or artifacts of a step of a workflow before its task has "
                                "ended.",
                                set_output);
        argument(command, "RN", o->rn, "Name of the task.")->required();
        option(command, "--params", o->params, "JSON", "An object with values of parameters of the step.");
        option(command, "--artifacts", o->artifacts, "JSON", "An object.");
        option(command, "--worker", o->worker, "NAME", "The worker that must hold the lease. Default: any.");
        option(command, "--attempt", o->attempt, "N", "The attempt that the task must be at. Default: any.");
    }

    void add_not_yet() {
        auto [command, o] =
            add<not_yet_options>(m_app, "not-yet",
                                 "Answer \"not yet\" for a running task that asks for something outside.\n\n"
                                 "The task is ready again later. This is not a failure.",
                                 not_yet);
        held(command, *o);
        duration(command, "--retry-after", o->retry_after,
                 "When the task is ready again. Default: a check as often as its waiters ask for, other tasks after "
                 "the first delay of their retry policy.");
    }

    void add_defer() {
        auto [command, o] =
            add<defer_options>(m_app, "defer",
                               "End the lease of a running task until something has happened.\n\n"
                               "Then the task is ready again, for any worker, with the values as its args.",
                               defer_task);
        held(command, *o);
        argument(command, "WAIT_FOR", o->wait_for,
                 "What it waits for, as a JSON array: [{\"callback\": \"...\", \"timeout\": \"2 h\"}].")
            ->required();
        option(command, "--state", o->state, "JSON", "What the next worker gets. Default: the state is kept.");
    }

    void add_reschedule() {
        auto [command, o] = add<reschedule_options>(m_app, "reschedule",
                                                    "Change when a task becomes ready. Default: now.\n\n"
                                                    "The task must be ready, or wait for its time or its next attempt.",
                                                    reschedule_task);
        argument(command, "RN", o->rn, "Name of the task.")->required();
        CLI::Option *not_before =
            option(command, "--not-before", o->not_before, "TIME", "Wait until this time, in a format of PostgreSQL.");
        duration(command, "--delay", o->delay, "Wait for this long.")->excludes(not_before);
    }

    void add_priority() {
        auto [command, o] = add<priority_options>(
            m_app, "priority", "Change the priority of a task that is waiting or ready.", set_priority);
        argument(command, "RN", o->rn, "Name of the task.")->required();
        argument(command, "N", o->priority, "0 to 127; 127 is leased first.")->required();
    }

    void add_delete() {
        auto [command, rns] = add<std::vector<std::string>>(
            m_app, "delete", "Remove tasks that have ended, before their retention has passed: all or none.",
            delete_tasks);
        argument(command, "RN", *rns, "Names of the tasks.")->required();
    }

    void add_resubmit() {
        auto [command, o] =
            add<resubmit_options>(m_app, "resubmit",
                                  "Submit a copy of a task that has ended, or of all such tasks of a queue.\n\n"
                                  "Prints the rn of the copy; with --queue, the tasks and their copies. Tasks that "
                                  "were already resubmitted are skipped.",
                                  resubmit_tasks);
        CLI::Option *rn = argument(command, "RN", o->rn, "Name of the task.");
        option(command, "--rn", o->new_rn, "NAME", "Name of the copy. Default: the server generates one.");
        filter_options &f = o->filter;
        CLI::Option *queue = option(command, "--queue", f.queue, "QUEUE", "Tasks of this queue.")->excludes(rn);
        choice(command, "--status", f.status, "aborted|cancelled|completed", "Only tasks in this status.")
            ->default_str("aborted")
            ->needs(queue);
        option(command, "--worker", f.worker, "NAME", "Only tasks of this worker.")->needs(queue);
        option(command, "--key", f.key, "KEY", "Only tasks with this key.")->needs(queue);
        option(command, "--code", f.code, "CODE", "Only tasks whose last error has this code.")->needs(queue);
        option(command, "--spec", f.spec, "JSON", "Only tasks whose spec contains this: {\"customer\": 17}.")
            ->needs(queue);
        option(command, "--created-after", f.created_after, "TIME", "Only tasks submitted then or later.")
            ->needs(queue);
        option(command, "--created-before", f.created_before, "TIME", "Only tasks submitted earlier.")->needs(queue);
        option(command, "--ended-after", o->after, "TIME", "Only tasks that ended then or later.")->needs(queue);
        option(command, "--ended-before", o->before, "TIME", "Only tasks that ended earlier.")->needs(queue);
        option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")
            ->default_str("1000")
            ->needs(queue);
        flag(command, "--preview", o->preview, "Only show which tasks would be resubmitted.")->needs(queue);
    }

    void add_dead() {
        auto [command, o] = add<dead_options>(
            m_app, "dead", "Show tasks that were aborted and not resubmitted, newest first.", list_dead_tasks);
        argument(command, "QUEUE,--queue", o->queue, "Only tasks of this queue.");
        option(command, "--code", o->code, "CODE", "Only tasks whose last error has this code.");
        option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")->default_str("100");
    }

    // What "work" runs for a task.
    static void command_options(CLI::App *command, work_options &o) {
        option(command, "--exec", o.command, "COMMAND",
               "The command, run by the shell. A command of plain words is run without a shell.")
            ->required();
        option(command, "-j,--jobs", o.jobs, "N", "Maximum number of commands that run at the same time.")
            ->default_str("1")
            ->check(CLI::Range(1U, 1000U).description(""));
        option(command, "--timeout", o.timeout, "DURATION",
               "How long a command may run, for example 500ms, 30s, 5min or 2h. After that it gets "
               "SIGTERM, and the task fails.");
        option(command, "--grace", o.grace, "DURATION",
               "How long a command may run after SIGTERM. After that it gets SIGKILL.")
            ->default_str("5s");
        option(command, "--abort-on", o.abort_on, "STATUS,...",
               "Exit statuses that abort the task, besides 65 and 100: no retry would help.")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(CLI::Range(1, 255).description(""));
    }

    // How "work" leases.
    static void lease_options(CLI::App *command, work_options &o) {
        option(command, "--lease", o.lease, "DURATION",
               "How long leases last without a heartbeat. If this worker dies, others wait this long "
               "for its tasks. Default: the queue's setting.");
        option(command, "--prefetch", o.prefetch, "N",
               "How many tasks to lease ahead: faster for very short commands, unfair to other workers "
               "for long ones.")
            ->default_str("0")
            ->check(CLI::Range(0U, 10000U).description(""));
        option(command, "--worker", o.worker, "NAME",
               "The worker's name, which no other worker may use. Default: the server assigns one.");
    }

    static void held(CLI::App *command, held_options &lease) {
        argument(command, "RN", lease.rn, "Name of the task.")->required();
        option(command, "--worker", lease.worker, "NAME", "The worker that holds it.")->required();
        option(command, "--attempt", lease.attempt, "N", "The attempt that holds it. Default: any.");
    }

    static constexpr const char *k_work =
        "Lease tasks of queues and run a command for each.\n\n"
        "The command reads the specification of its task from standard input. Its environment "
        "has SCYLLA_RN, SCYLLA_QUEUE, SCYLLA_WORKER, SCYLLA_ATTEMPT, SCYLLA_FAILURES, "
        "SCYLLA_PRIORITY, SCYLLA_PLAN, SCYLLA_KEY and SCYLLA_ARGS. Its exit status decides: 0 "
        "completes the task, with standard output as the result; 65 (EX_DATAERR), 100 and "
        "those of --abort-on abort it; any other status, or a signal, fails it, and it is "
        "retried, as often as its max_attempts allow. The end "
        "of standard error becomes the message of the error. Lines like 0.25 or 25% on "
        "descriptor 3 (SCYLLA_PROGRESS_FD) report progress.";
    static constexpr const char *k_work_footer =
        "A result that is JSON is stored unchanged, other text as {\"output\": \"...\"}. "
        "SCYLLA_ARGS is omitted when it is longer than 100,000 bytes: use --input task.\n\n"
        "On SIGTERM, SIGINT and SIGHUP (a closed terminal) the worker sends SIGTERM to its "
        "commands. Tasks whose command ends with status 0 within the grace are completed; all "
        "others are yielded to other workers. Under nohup SIGHUP does nothing. If this worker is "
        "killed, its commands are killed too, and their leases expire. The commands of tasks "
        "that were cancelled, or lost to another worker, also get SIGTERM.";
};

} // namespace

void describe_tasks(tool &of) {
    task_syntax own{of};
    own.add_tasks();
    own.add_changes();
    own.add_work();
}

} // namespace scylla::cli
