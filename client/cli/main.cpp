// scylla: the command line. It is described here once; help, man page and completion are made from this description.
//
// Exit status: 0 done, 1 the server or the tool refused, 2 the command line is wrong.
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "help.h"
#include "nearest.h"
#include "program.h"

namespace scylla::cli {
namespace {

constexpr int k_refused = 1;
constexpr int k_usage = 2;

class help_formatter : public CLI::FormatterBase {
public:
    std::string make_help(const CLI::App *app, std::string, CLI::AppFormatMode) const override { return to_help(*app); }
};

using action = std::function<int()>;

// The commands as CLI11 knows them, and what each does.
class command_line {
public:
    command_line()
        : m_app{"Submits, shows and cancels tasks, runs programs for them, and manages plans, queues, "
                "schedules and the server.\n\n"
                "scylla connects to a database that has the extension, as psql does.",
                "scylla"} {
        m_app.formatter(std::make_shared<help_formatter>());
        m_app.require_subcommand(1);
        m_app.set_help_flag("--help", "Show this help, or the help of a command.")->group("General options");
        m_app.set_version_flag("--version", "scylla " SCYLLA_VERSION)
            ->group("General options")
            ->description("Show the version.");
        m_app.add_flag("--json", m_given.json, "Print JSON, with members in column order.")->group("General options");
        add_connection();
        add_tasks();
        add_changes();
        add_work();
        add_plans();
        add_conditions();
        add_pools();
        add_jobs();
        add_workflows();
        add_runs();
        add_queues();
        add_schedules();
        add_server();
        add_completion();
    }

    int run(int argc, char **argv) {
        try {
            m_app.parse(argc, argv);
        } catch (const CLI::Success &asked) { // --help, --version
            return m_app.exit(asked);
        } catch (const CLI::ParseError &error) {
            const std::string unknown = about_unknown_command(m_app, argc, argv);
            std::cerr << "scylla: " << (unknown.empty() ? std::string{error.what()} : unknown) << '\n'
                      << "Try \"scylla --help\".\n";
            return k_usage;
        }
        for (const CLI::App *command = &m_app;;) {
            const auto parsed = command->get_subcommands();
            if (parsed.empty())
                return m_actions.at(command)();
            command = parsed.front();
        }
    }

private:
    template <class Options> using command_function = int (*)(const context &, const Options &);

    static CLI::App *add(CLI::App &parent, const char *name, const char *description) {
        CLI::App *command = parent.add_subcommand(name, description);
        command->fallthrough(); // general options may stand behind the command
        command->set_help_flag("--help", "")->group("");
        return command;
    }

    CLI::App *add(CLI::App &parent, const char *name, const char *description, int (*function)(const context &)) {
        CLI::App *command = add(parent, name, description);
        m_actions[command] = [this, function] { return function(m_given); };
        return command;
    }

    // A command, and a place for its options.
    template <class Options>
    std::pair<CLI::App *, Options *> add(CLI::App &parent, const char *name, const char *description,
                                         command_function<Options> function) {
        CLI::App *command = add(parent, name, description);
        const auto options = std::make_shared<Options>();
        m_actions[command] = [this, options, function] { return function(m_given, *options); };
        return {command, options.get()};
    }

    template <class Value>
    static CLI::Option *option(CLI::App *command, const char *names, Value &into, const char *type,
                               const char *description) {
        return command->add_option(names, into, description)->type_name(type)->group("Options");
    }
    static CLI::Option *flag(CLI::App *command, const char *names, bool &into, const char *description) {
        return command->add_flag(names, into, description)->group("Options");
    }
    template <class Value>
    static CLI::Option *choice(CLI::App *command, const char *names, Value &into, const char *choices,
                               const char *description) {
        return option(command, names, into, choices, description)->check(one_of(choices));
    }
    static CLI::Validator one_of(const char *choices) {
        return CLI::IsMember(CLI::detail::split(choices, '|')).description("");
    }
    template <class Value>
    static CLI::Option *argument(CLI::App *command, const char *name, Value &into, const char *description) {
        return command->add_option(name, into, description);
    }

    void add_connection() {
        connection_options &c = m_given.connection;
        const auto add = [&](const char *names, maybe_text &into, const char *type, const char *description) {
            m_app.add_option(names, into, description)->type_name(type)->group("Connection options");
        };
        add("-d,--dbname", c.dbname, "NAME", "Database, connection string or URI.");
        add("-h,--host", c.host, "NAME", "Host, or directory of the socket.");
        add("-p,--port", c.port, "PORT", "Port.");
        add("-U,--username", c.user, "NAME", "Role.");
        m_app.add_flag("-w,--no-password", c.never_ask, "Never ask for a password.")->group("Connection options");
        m_app.add_flag("-W,--password", c.ask_password, "Always ask for a password.")->group("Connection options");
    }

    void add_tasks() {
        {
            auto [command, o] = add<submit_options>(m_app, "submit",
                                                    "Submit one task or many.\n\n"
                                                    "Prints the rn of the task; with --lines, the number of tasks.",
                                                    submit_task);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "SPEC", o->spec, "What to do, as JSON. \"-\" or nothing: read it from standard input.");
            CLI::Option *lines =
                flag(command, "--lines", o->lines,
                     "Read one JSON value per line from standard input and submit a task for each: all or "
                     "none.");
            option(command, "--rn", o->rn, "NAME", "Name of the task. Default: the server generates one.")
                ->excludes(lines);
            option(command, "--priority", o->priority, "N", "0 to 127; 127 is leased first.");
            CLI::Option *not_before = option(command, "--not-before", o->not_before, "TIME",
                                             "Wait until this time, in a format of PostgreSQL.");
            option(command, "--delay", o->delay, "INTERVAL", "Wait for this long.")->excludes(not_before);
            option(command, "--max-attempts", o->max_attempts, "N", "Number of failures that abort the task.");
            option(command, "--retry", o->retry, "JSON",
                   "Delays before retries: {\"initial\": \"10 s\", \"factor\": 2, \"max\": \"1 h\"}.");
            option(command, "--depends-on", o->depends_on, "RN",
                   "Start after this task is completed. May be repeated: after all of them.")
                ->allow_extra_args(false);
            choice(command, "--on-dependency-failure", o->on_dependency_failure, "cascade|skip|ignore",
                   "If one of these fails: abort the task too, cancel it, or start it all the same.");
            option(command, "--wait-for", o->wait_for, "JSON",
                   "Start after callbacks, signals and checks: [{\"callback\": \"token\"}, {\"signal\": \"name\", "
                   "\"match\": {...}}, {\"check\": {\"queue\": \"name\", \"spec\": {...}, \"every\": \"1 min\"}}].");
            option(
                command, "--needs", o->needs, "JSON",
                "What it needs of pools: {\"cluster\": {\"cores\": 8}}, or {\"any\": [\"a\", \"b\"], \"cores\": 8}.");
            option(command, "--expected-runtime", o->expected_runtime, "INTERVAL",
                   "How long it is expected to run, for the placement of other tasks.");
            option(command, "--run-timeout", o->run_timeout, "INTERVAL",
                   "How long one run of it may take. Default: that of the queue.");
            option(command, "--plan", o->plan, "NAME", "The plan of the task.");
            CLI::Option *dedup_key =
                option(command, "--dedup-key", o->dedup_key, "KEY", "Unique among the live tasks of the queue.")
                    ->excludes(lines);
            CLI::Option *dedup_for =
                option(command, "--dedup-for", o->dedup_for, "INTERVAL",
                       "Keep the deduplication key for this long, also when the task has been completed before.")
                    ->needs(dedup_key);
            option(command, "--debounce", o->debounce, "INTERVAL",
                   "Start when nobody has submitted the deduplication key again for this long; the last spec counts.")
                ->needs(dedup_key)
                ->excludes(dedup_for);
            option(command, "--key", o->key, "KEY",
                   "The tenant, customer or host that the task is for; used by limits per key.");
            choice(command, "--on-duplicate", o->on_duplicate, "error|ignore|replace",
                   "If the rn or the deduplication key is taken: raise an error, keep the existing task unchanged, "
                   "or give it the new spec, priority and time while it waits.");
        }
        {
            auto [command, o] = add<get_options>(m_app, "get", "Show a task.", get_task);
            argument(command, "RN", o->rn, "Name of the task.")->required();
            option(command, "--field", o->field, "COLUMN", "Print only this column, unchanged: status, result, ...");
        }
        {
            auto [command, rn] =
                add<std::string>(m_app, "explain",
                                 "Show why a task does not run.\n\n"
                                 "One row for each thing that it waits for; none if it runs or has ended.",
                                 explain_waiting);
            argument(command, "RN", *rn, "Name of the task.")->required();
        }
        {
            auto [command, o] = add<list_options>(
                m_app, "list", "Show tasks, newest first; with \"--status ready\", in the order of leasing.",
                list_tasks);
            option(command, "--queue", o->queue, "QUEUE", "Only tasks of this queue.");
            choice(command, "--status", o->status, "waiting|ready|running|completed|aborted|cancelled",
                   "Only tasks in this status.");
            option(command, "--worker", o->worker, "NAME", "Only tasks of this worker.");
            option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")->default_str("100");
        }
        {
            auto [command, rns] = add<std::vector<std::string>>(
                m_app, "cancel",
                "Cancel tasks.\n\n"
                "Their workers notice at the next heartbeat. If a task does not exist or has ended, the "
                "others are cancelled all the same, and the exit status is 1.",
                cancel_tasks);
            argument(command, "RN", *rns, "Names of the tasks.")->required();
        }
        {
            auto [command, o] =
                add<not_yet_options>(m_app, "not-yet",
                                     "Answer \"not yet\" for a running task that asks for something outside.\n\n"
                                     "It is offered again later. This is no failure.",
                                     not_yet);
            held(command, *o);
            option(command, "--retry-after", o->retry_after, "INTERVAL",
                   "When to offer it again. Default: a check as often as its waiters want, others after the first "
                   "delay of their retry policy.");
        }
        {
            auto [command, o] =
                add<defer_options>(m_app, "defer",
                                   "Give up the lease of a running task until something has happened.\n\n"
                                   "Then it is ready again, for any worker, with what has come as its args.",
                                   defer_task);
            held(command, *o);
            argument(command, "WAIT_FOR", o->wait_for,
                     "What it waits for, as a JSON array: [{\"callback\": \"...\", \"timeout\": \"2 h\"}].")
                ->required();
            option(command, "--state", o->state, "JSON", "What the next worker gets. Default: the state is kept.");
        }
    }

    void add_changes() {
        {
            auto [command, o] =
                add<reschedule_options>(m_app, "reschedule",
                                        "Change when a task becomes ready. Default: now.\n\n"
                                        "The task must be ready, or wait for its time or its next attempt.",
                                        reschedule_task);
            argument(command, "RN", o->rn, "Name of the task.")->required();
            CLI::Option *not_before = option(command, "--not-before", o->not_before, "TIME",
                                             "Wait until this time, in a format of PostgreSQL.");
            option(command, "--delay", o->delay, "INTERVAL", "Wait for this long.")->excludes(not_before);
        }
        {
            auto [command, o] = add<priority_options>(
                m_app, "priority", "Give a task that waits or is ready another priority.", set_priority);
            argument(command, "RN", o->rn, "Name of the task.")->required();
            argument(command, "N", o->priority, "0 to 127; 127 is leased first.")->required();
        }
        {
            auto [command, rns] = add<std::vector<std::string>>(
                m_app, "delete", "Remove tasks that have ended, before their retention has passed: all or none.",
                delete_tasks);
            argument(command, "RN", *rns, "Names of the tasks.")->required();
        }
        {
            auto [command, o] =
                add<resubmit_options>(m_app, "resubmit",
                                      "Submit a copy of a task that has ended, or of all such tasks of a queue.\n\n"
                                      "Prints the rn of the copy; with --queue, the tasks and their copies. Tasks that "
                                      "were resubmitted already are left.",
                                      resubmit_tasks);
            CLI::Option *rn = argument(command, "RN", o->rn, "Name of the task.");
            option(command, "--rn", o->new_rn, "NAME", "Name of the copy. Default: the server generates one.");
            CLI::Option *queue = option(command, "--queue", o->queue, "QUEUE", "Tasks of this queue.")->excludes(rn);
            choice(command, "--status", o->status, "aborted|cancelled|completed", "Only tasks in this status.")
                ->default_str("aborted")
                ->needs(queue);
            option(command, "--code", o->code, "CODE", "Only tasks whose last error has this code.")->needs(queue);
            option(command, "--ended-after", o->after, "TIME", "Only tasks that ended then or later.")->needs(queue);
            option(command, "--ended-before", o->before, "TIME", "Only tasks that ended earlier.")->needs(queue);
            option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")
                ->default_str("1000")
                ->needs(queue);
            flag(command, "--preview", o->preview, "Only show which tasks would be resubmitted.")->needs(queue);
        }
        {
            auto [command, o] = add<dead_options>(
                m_app, "dead", "Show tasks that were aborted and not resubmitted, newest first.", list_dead_tasks);
            option(command, "--queue", o->queue, "QUEUE", "Only tasks of this queue.");
            option(command, "--code", o->code, "CODE", "Only tasks whose last error has this code.");
            option(command, "--limit", o->limit, "N", "Maximum number of tasks, up to 100,000.")->default_str("100");
        }
    }

    void add_work() {
        auto [command, o] =
            add<work_options>(m_app, "work",
                              "Lease tasks of queues and run a command for each.\n\n"
                              "The command reads the specification of its task from standard input. Its environment "
                              "has SCYLLA_RN, SCYLLA_QUEUE, SCYLLA_WORKER, SCYLLA_ATTEMPT, SCYLLA_FAILURES, "
                              "SCYLLA_PRIORITY, SCYLLA_PLAN, SCYLLA_KEY and SCYLLA_ARGS. Its exit status decides: 0 "
                              "completes the task, with standard output as the result; 65 (EX_DATAERR), 100 and "
                              "those of --abort-on abort it; any other status, or a signal, fails it, and it is "
                              "retried, as often as its max_attempts allow. The end "
                              "of standard error becomes the description of the error. Lines like 0.25 or 25% on "
                              "descriptor 3 (SCYLLA_PROGRESS_FD) report progress.",
                              work);
        argument(command, "QUEUE", o->queues, "The queues, up to 64. The worker takes turns between them.")->required();
        option(command, "--exec", o->command, "COMMAND",
               "The command, run by the shell. A command of plain words is run without a shell.")
            ->required();
        option(command, "-j,--jobs", o->jobs, "N", "Maximum number of commands that run at the same time.")
            ->default_str("1")
            ->check(CLI::Range(1U, 1000U).description(""));
        option(command, "--timeout", o->timeout, "TIME",
               "How long a command may run, for example 500ms, 30s, 5min or 2h. After that it gets "
               "SIGTERM, and the task fails.");
        option(command, "--grace", o->grace, "TIME",
               "How long a command may run after SIGTERM. After that it gets SIGKILL.")
            ->default_str("5s");
        option(command, "--abort-on", o->abort_on, "STATUS,...",
               "Exit statuses that abort the task, besides 65 and 100: no retry would help.")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(CLI::Range(1, 255).description(""));
        option(command, "--lease", o->lease, "TIME",
               "How long leases last without a heartbeat. If this worker dies, others wait this long "
               "for its tasks. Default: the queue's setting.");
        option(command, "--prefetch", o->prefetch, "N",
               "How many tasks to lease ahead: faster for very short commands, unfair to other workers "
               "for long ones.")
            ->default_str("0")
            ->check(CLI::Range(0U, 10000U).description(""));
        option(command, "--worker", o->worker, "NAME",
               "The worker's name, which no other worker may use. Default: the server assigns one.");
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
        command->footer("A result that is JSON is stored unchanged, other text as {\"output\": \"...\"}. "
                        "SCYLLA_ARGS is omitted when it is longer than 100,000 bytes: use --input task.\n\n"
                        "On SIGTERM, SIGINT and SIGHUP (a closed terminal) the worker sends SIGTERM to its "
                        "commands. Tasks whose command ends with status 0 within the grace are completed; all "
                        "others are yielded to other workers. Under nohup SIGHUP does nothing. If this worker is "
                        "killed, its commands are killed too, and their leases expire. The commands of tasks "
                        "that were cancelled, or lost to another worker, also get SIGTERM.");
    }

    void add_plans() {
        CLI::App *plan =
            add(m_app, "plan", "Manage plans: sets of tasks that are watched, cancelled and finished as one.");
        plan->require_subcommand(1);
        {
            auto [command, o] = add<create_plan_options>(
                *plan, "create",
                "Create a plan.\n\n"
                "Prints its name. Submit tasks with --plan, then open the plan: no task starts before.",
                create_plan);
            argument(command, "NAME", o->name, "Name of the plan. Default: the server generates one.");
            option(command, "--spec", o->spec, "JSON", "A description of the plan.");
        }
        one_plan(*plan, "open", "Open a plan: let its tasks start.", open_plan);
        add(*plan, "list", "Show plans, newest first.", list_plans);
        one_plan(*plan, "get", "Show a plan: its status, progress, tasks by state, and results.", get_plan);
        {
            auto [command, o] = add<wait_plan_options>(
                *plan, "wait", "Wait until a plan is finished, and show its status.", wait_for_plan);
            argument(command, "NAME", o->plan, "Name of the plan.")->required();
            option(command, "--timeout", o->timeout, "INTERVAL", "Wait at most for this long. Default: no limit.");
            command->footer("The exit status is 0 if the plan is completed, and 1 if it failed, was cancelled, or is "
                            "not finished in time.");
        }
        drawing(*plan, "dot", "Draw a plan for Graphviz.\n\nFor example: scylla plan dot nightly | dot -Tsvg",
                draw_plan_as_dot);
        drawing(*plan, "mermaid", "Draw a plan as a flowchart for Mermaid.", draw_plan_as_mermaid);
        one_plan(*plan, "timeline", "Show which worker ran which task of a plan, and when.", show_plan_timeline);
        one_plan(*plan, "cancel", "Cancel a plan and all its live tasks. Prints the number of cancelled tasks.",
                 cancel_plan);
        {
            auto [command, o] = add<rerun_plan_options>(
                *plan, "rerun",
                "Do a plan again that has ended: all its tasks, or its job if it is that of one.\n\n"
                "Prints the name of the new plan, which is open.",
                rerun_plan);
            argument(command, "NAME", o->plan, "Name of the plan.")->required();
            argument(command, "NEW-NAME", o->new_plan, "Name of the new plan. Default: the server generates one.");
            flag(command, "--only-failed", o->only_failed,
                 "Only the tasks that were not completed, and those that depended on them.");
        }
        {
            auto [command, o] =
                add<plan_owner_options>(*plan, "owner", "Transfer a plan to another role.", set_plan_owner);
            argument(command, "NAME", o->plan, "Name of the plan.")->required();
            argument(command, "ROLE", o->role, "The new owner.")->required();
        }
    }

    static void held(CLI::App *command, held_options &lease) {
        argument(command, "RN", lease.rn, "Name of the task.")->required();
        option(command, "--worker", lease.worker, "NAME", "The worker that holds it.")->required();
        option(command, "--attempt", lease.attempt, "N", "The attempt that holds it. Default: any.");
    }

    void add_conditions() {
        CLI::App *callback = add(m_app, "callback", "Create and end callbacks: tokens that tasks wait for.");
        callback->require_subcommand(1);
        {
            auto [command, o] = add<create_callback_options>(
                *callback, "create", "Create a callback.\n\nPrints its token.", create_callback);
            argument(command, "TOKEN", o->token, "The token. Default: the server generates one of 128 random bits.");
            option(command, "--expires", o->expires, "INTERVAL", "How long it can be ended. Default: no limit.");
        }
        end_callback(*callback, "resolve", "Resolve a callback: tasks that wait for it get the value.",
                     "The value, as JSON. Default: null.", resolve_callback);
        end_callback(*callback, "reject", "Reject a callback: tasks that wait for it do what their on_failure says.",
                     "The error, as JSON: {\"code\": \"...\", \"description\": \"...\"}.", reject_callback)
            ->required();
        CLI::App *signal = add(m_app, "signal", "Send signals, show them, and grant rights on them.");
        signal->require_subcommand(1);
        {
            auto [command, o] = add<send_signal_options>(
                *signal, "send", "Send a signal to all tasks whose conditions it matches.\n\nPrints its number.",
                send_signal);
            argument(command, "NAME", o->name, "Name of the signal.")->required();
            argument(command, "PARAMS", o->params, "What conditions compare, as a JSON object. Default: {}.");
            option(command, "--payload", o->payload, "JSON", "What else the tasks get.");
            option(command, "--request-id", o->request_id, "ID", "Send the signal once, however often this is called.");
        }
        {
            auto [command, o] = add<list_signals_options>(*signal, "list", "Show signals, newest first.", list_signals);
            argument(command, "NAME", o->name, "Only signals of this name.");
            option(command, "--limit", o->limit, "N", "Maximum number of signals.")->default_str("100");
        }
        signal_grant(*signal, "grant", "Grant a role a privilege on the signals of a name.", grant_signal);
        signal_grant(*signal, "revoke", "Revoke a privilege on the signals of a name.", revoke_signal);
        add(m_app, "conditions", "Show callbacks, conditions that wait for signals, and checks, newest first.",
            list_conditions);
        add_triggers();
    }

    void add_triggers() {
        CLI::App *trigger = add(m_app, "trigger", "Start tasks and plans by sets of signals.");
        trigger->require_subcommand(1);
        {
            auto [command, o] = add<create_trigger_options>(
                *trigger, "create",
                "Create a trigger: for every set of signals that match and join, something is done once.",
                create_trigger);
            argument(command, "NAME", o->name, "Name of the trigger.")->required();
            argument(command, "SIGNALS", o->signals,
                     "[{\"signal\": \"name\", \"match\": {...}, \"join\": [\"parameter\"]}, ...].")
                ->required();
            argument(command, "ACTION", o->action,
                     "{\"submit\": {\"queue\": ..., \"spec\": ...}} or {\"plan\": [tasks]}.")
                ->required();
            option(command, "--condition", o->condition, "JSONPATH",
                   "A predicate over the array of the signals: if it is not true, nothing is done.");
        }
        trigger_command(*trigger, "drop", "Remove a trigger.", drop_trigger);
        trigger_command(*trigger, "pause", "Pause a trigger: it collects signals.", pause_trigger);
        trigger_command(*trigger, "resume", "Resume a trigger, and try again at once what has failed.", resume_trigger);
        {
            auto [command, o] = add<clear_trigger_options>(
                *trigger, "clear",
                "Remove signals that wait for their partners, and sets for which the action has failed.\n\n"
                "Prints how many.",
                clear_trigger);
            argument(command, "NAME", o->name, "Name of the trigger.")->required();
            option(command, "--seq", o->seq, "N", "Only the signal with this number.");
        }
        add(*trigger, "list", "Show triggers.", list_triggers);
        {
            auto [command, name] = add<maybe_text>(
                *trigger, "signals", "Show the signals that wait for their partners.", list_trigger_signals);
            argument(command, "NAME", *name, "Only those of this trigger.");
        }
        {
            auto [command, name] =
                add<maybe_text>(*trigger, "failures", "Show the sets of signals for which the action has failed.",
                                list_trigger_failures);
            argument(command, "NAME", *name, "Only those of this trigger.");
        }
    }

    void trigger_command(CLI::App &parent, const char *name, const char *description,
                         command_function<std::string> function) {
        auto [command, trigger] = add(parent, name, description, function);
        argument(command, "NAME", *trigger, "Name of the trigger.")->required();
    }

    void add_pools() {
        CLI::App *pool = add(m_app, "pool", "Create pools of what tasks need, and show who holds it and who waits.");
        pool->require_subcommand(1);
        {
            auto [command, o] = add<create_pool_options>(*pool, "create", "Create a pool.", create_pool);
            argument(command, "NAME", o->pool, "Name of the pool.")->required();
            argument(command, "CAPACITY", o->capacity, "Amounts by resource: {\"memory_gb\": 2000, \"cores\": 5000}.")
                ->required();
            pool_settings(command, *o);
        }
        {
            auto [command, o] = add<set_pool_options>(*pool, "set", "Change the capacity or the settings.", set_pool);
            argument(command, "NAME", o->pool, "Name of the pool.")->required();
            option(command, "--capacity", o->capacity, "JSON", "Amounts by resource.");
            pool_settings(command, *o);
        }
        add(*pool, "list", "Show pools.", list_pools);
        of_pool(*pool, "get", "Show a pool.", get_pool);
        of_some_pool(*pool, "queue", "Show the tasks that wait for pools, and why.", show_pool_queue);
        of_some_pool(*pool, "reservations", "Show what tasks hold of pools.", show_pool_reservations);
        of_pool(*pool, "drain", "Place nothing more in a pool; what runs goes on.", drain_pool);
        of_pool(*pool, "resume", "End \"pool drain\".", resume_pool);
        of_pool(*pool, "drop", "Drop a pool that no live task needs.", drop_pool);
        {
            auto [command, o] = add<report_usage_options>(
                *pool, "report", "Report what is in use of a pool, by whomever.", report_usage);
            argument(command, "NAME", o->pool, "Name of the pool.")->required();
            argument(command, "USED", o->used, "Amounts by resource.")->required();
            option(command, "--at", o->at, "TIME", "When it was measured. Default: now.");
        }
        of_some_pool(*pool, "place", "Place the tasks that fit, where no monitor does so, and show them.", place_tasks);
        pool_grant(*pool, "grant", "Grant a role a privilege on a pool.", grant_pool);
        pool_grant(*pool, "revoke", "Revoke a privilege on a pool.", revoke_pool);
    }

    template <class Options> void pool_settings(CLI::App *command, Options &o) {
        choice(
            command, "--policy", o.policy, "strict|greedy|backfill",
            "What happens to tasks behind one that does not fit: they wait, pass it, or pass it if they do not delay "
            "its planned start. Default: backfill.");
        option(command, "--max-bypass", o.max_bypass, "N",
               "How many tasks may pass one whose start cannot be planned. Default: 100.");
        option(command, "--metrics-max-age", o.metrics_max_age, "INTERVAL",
               "Place nothing while the last report is older. Default: reports are not needed.");
    }

    void of_pool(CLI::App &parent, const char *name, const char *description, command_function<std::string> function) {
        auto [command, pool] = add(parent, name, description, function);
        argument(command, "NAME", *pool, "Name of the pool.")->required();
    }

    void of_some_pool(CLI::App &parent, const char *name, const char *description,
                      command_function<maybe_text> function) {
        auto [command, pool] = add(parent, name, description, function);
        argument(command, "NAME", *pool, "Name of the pool. Default: all.");
    }

    void pool_grant(CLI::App &parent, const char *name, const char *description,
                    command_function<pool_grant_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "NAME", o->pool, "Name of the pool.")->required();
        argument(command, "ROLE", o->role, "The role; \"public\" for every role.")->required();
        argument(command, "PRIVILEGE", o->privilege,
                 "use, report, or admin (both, and changing, placing and granting).")
            ->required()
            ->check(one_of("use|report|admin"));
    }

    void add_jobs() {
        CLI::App *job = add(m_app, "job", "Define jobs by what must be fresh before they run, and run them.");
        job->require_subcommand(1);
        {
            auto [command, file] = add(*job, "define",
                                       "Define or redefine the jobs of a file: all or none.\n\n"
                                       "The file is an object, or an array of them, in any order: {\"job\": name, "
                                       "\"queue\": name, \"settings\": {...}, \"needs\": [...]}, as for "
                                       "scylla.define_job(). It is YAML if its name ends in .yaml or .yml, JSON if "
                                       "it ends in .json, else JSON if it begins with { or [.",
                                       define_jobs);
            argument(command, "FILE", *file, "The file. \"-\": read standard input.")->required();
        }
        add(*job, "list", "Show jobs, and what they need.", list_jobs);
        of_job(*job, "get", "Show a job.", get_job);
        {
            auto [command, o] = job_request(*job, "run",
                                            "Run a job, and before it all that it needs where that is not fresh.\n\n"
                                            "Prints the name of the plan.",
                                            run_job);
            option(command, "--request-id", o->request_id, "ID", "The same again prints the plan of the first call.");
        }
        job_request(*job, "explain", "Show what \"job run\" would run and leave out now, and why.", explain_job);
        {
            auto [command, o] = add<job_schedule_options>(*job, "schedule",
                                                          "Create or change a schedule of a job.\n\n"
                                                          "Prints the first planned time. \"schedule list\" shows it, "
                                                          "\"schedule remove\" removes it.",
                                                          set_job_schedule);
            argument(command, "NAME", o->name, "Name of the schedule.")->required();
            argument(command, "CRON", o->cron, "The planned times, as for \"schedule set\".")->required();
            argument(command, "JOB", o->job, "Name of the job.")->required();
            argument(command, "SETTING", o->settings,
                     "name=value: the other arguments of scylla.schedule_job(), for example 'ids={[1,7)}' overlap=skip "
                     "options='{\"prune\": \"chunk\"}'.");
        }
        of_some_job(*job, "plans", "Show the plans of jobs, newest first.", list_job_plans);
        of_some_job(*job, "freshness", "Show when ids were last brought up to date.", show_job_freshness);
        {
            auto [command, o] = add<draw_job_options>(*job, "graph",
                                                      "Draw a job and all that it needs, with ages, for Graphviz.\n\n"
                                                      "For example: scylla job graph report | dot -Tsvg",
                                                      draw_job);
            argument(command, "JOB", o->job, "Name of the job.")->required();
            flag(command, "--mermaid", o->mermaid, "Draw a flowchart for Mermaid.");
        }
        {
            auto [command, o] = add<mark_job_options>(
                *job, "mark-fresh", "Say that ids are fresh, for data that something else has made.", mark_job_fresh);
            argument(command, "JOB", o->job, "Name of the job.")->required();
            argument(command, "IDS", o->ids, k_ids)->required();
            option(command, "--finished", o->finished, "TIME", "As of this time. Default: now.");
            option(command, "--variant", o->variant, "NAME", "That of the runs. Default: that of runs without one.");
        }
        {
            auto [command, o] = add<forget_job_options>(*job, "forget",
                                                        "Forget that ids are fresh, for data that is lost or wrong.\n\n"
                                                        "Prints how many successes that changes.",
                                                        forget_job_freshness);
            argument(command, "JOB", o->job, "Name of the job.")->required();
            argument(command, "IDS", o->ids, "1-6,9, or {[1,7),[9,10)}. Default: all.");
            option(command, "--variant", o->variant, "NAME", "Only that of this variant. Default: all.");
        }
        job_grant(*job, "grant", "Let a role run a job with the rights that its owner has on queues.", grant_job);
        job_grant(*job, "revoke", "Take that back.", revoke_job);
        of_job(*job, "drop", "Drop a job that no other needs. Its plans go on.", drop_job);
    }

    void add_workflows() {
        CLI::App *workflow = add(m_app, "workflow", "Keep versions of workflows.");
        workflow->require_subcommand(1);
        {
            auto [command, file] =
                add(*workflow, "validate",
                    "Show what is wrong with the definition of a workflow.\n\n"
                    "Prints nothing if it is sound, and a row for each problem if not; then the exit "
                    "status is 1.",
                    validate_workflow);
            argument(command, "FILE", *file, k_definition_file)->required();
        }
        {
            auto [command, o] =
                add(*workflow, "push", "Make a workflow, or a new version of one.\n\nPrints the number of the version.",
                    push_workflow);
            argument(command, "FILE", o->file, k_definition_file)->required();
            flag(command, "--inactive", o->inactive, "Leave the version that is active as it is.");
        }
        add(*workflow, "list", "Show workflows.", list_workflows);
        of_workflow(*workflow, "versions", "Show the versions of a workflow.", list_workflow_versions);
        workflow_version(*workflow, "show", "Show the definition of a workflow, as \"workflow push\" takes it.",
                         "active, latest, default (the active one, or else the latest) or a number. Default: default.",
                         show_workflow);
        workflow_version(*workflow, "activate", "Make a version the one that is run.",
                         "Its number. Default: the latest.", activate_workflow);
        of_workflow(*workflow, "deactivate", "Leave a workflow without an active version.", deactivate_workflow);
        {
            auto [command, o] = add(*workflow, "alter", "Change properties of a workflow.", alter_workflow);
            argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
            argument(command, "CHANGE", o->changes,
                     "name=value: a property, for example run_strategy=first_only step_concurrency=5 tags='[\"a\"]'; "
                     "add_tag=NAME, delete_tag=NAME, reset_run_strategy_rule=true, reset_workflow_concurrency=true, "
                     "reset_step_concurrency=true. JSON, or else a text.")
                ->required();
        }
        workflow_grant(*workflow, "grant", "Give a role a privilege on a workflow.", grant_workflow);
        workflow_grant(*workflow, "revoke", "Take a privilege on a workflow back.", revoke_workflow);
        of_workflow(*workflow, "drop", "Drop a workflow with its versions.", drop_workflow);
        of_workflow(*workflow, "unblock",
                    "Let STRICT_SEQUENTIAL start runs though others have failed.\n\nPrints how many had.",
                    unblock_workflow);
        {
            auto [command, o] = add(*workflow, "start", "Start an instance of a workflow.", start_workflow);
            argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
            option(command, "--params", o->params, "JSON", "An object with its parameters.");
            option(command, "--version", o->version, "VERSION",
                   "active, latest, default (the active one, or else the latest) or a number. Default: active.");
            option(command, "--request-id", o->request_id, "ID", "The same id starts a workflow only once.");
        }
    }

    void add_runs() {
        CLI::App *run = add(m_app, "run", "Look at runs of workflows, and end them.");
        run->require_subcommand(1);
        {
            auto [command, o] = add(*run, "list", "Show runs, the newest first.", list_runs);
            argument(command, "WORKFLOW", o->workflow, "Id of the workflow. Default: all.");
            option(command, "--status", o->status, "STATUS", "Only those with this status.");
            option(command, "--limit", o->limit, "N", "At most so many. Default: 20.");
        }
        of_run(*run, "show", "Show the steps of an instance.", show_run);
        of_run(*run, "stop", "Have the last run of an instance end as STOPPED.", stop_run);
        of_run(*run, "kill", "Have the last run of an instance end as FAILED.", kill_run);
        of_run(*run, "unblock", "Let STRICT_SEQUENTIAL start others though the last run of an instance has failed.",
               unblock_run);
    }

    void of_run(CLI::App &parent, const char *name, const char *description, command_function<run_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
        argument(command, "INSTANCE", o->instance, "The number of the instance.")->required();
    }

    void of_workflow(CLI::App &parent, const char *name, const char *description,
                     command_function<std::string> function) {
        auto [command, workflow] = add(parent, name, description, function);
        argument(command, "WORKFLOW", *workflow, "Id of the workflow.")->required();
    }

    void workflow_version(CLI::App &parent, const char *name, const char *description, const char *version,
                          command_function<workflow_version_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
        argument(command, "VERSION", o->version, version);
    }

    void workflow_grant(CLI::App &parent, const char *name, const char *description,
                        command_function<workflow_grant_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
        argument(command, "ROLE", o->role, "The role; \"public\" for every role.")->required();
        argument(command, "PRIVILEGE", o->privilege,
                 "view, run (also start it and act on its runs), or admin (both, and changing and granting).")
            ->required()
            ->check(one_of("view|run|admin"));
    }

    static constexpr const char *k_definition_file =
        "A file with JSON or YAML: YAML if its name ends in .yaml or .yml, JSON if it ends in .json, else JSON if it "
        "begins with { or [. \"-\": read standard input.";

    std::pair<CLI::App *, run_job_options *> job_request(CLI::App &parent, const char *name, const char *description,
                                                         command_function<run_job_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "JOB", o->job, "Name of the job.")->required();
        option(command, "--ids", o->ids, "IDS", "1-6,9, or {[1,7),[9,10)}. Default: the job selects them.");
        option(command, "--args", o->args, "JSON", "An object, for the job and all that it needs.");
        choice(command, "--prune", o->prune, "slice|chunk",
               "What runs of a needed job if an id is stale: all chunks of a slice, or those with a stale id. Default: "
               "slice.");
        flag(command, "--strict-order", o->strict_order,
             "Wait for a chunk that runs in this plan even if its older result is fresh enough.");
        flag(command, "--no-wait", o->no_wait,
             "Start also where an older plan is still at something that the job needs, for the same ids.");
        option(command, "--variant", o->variant, "NAME", "Freshness is kept for each variant.");
        return {command, o};
    }

    void job_grant(CLI::App &parent, const char *name, const char *description,
                   command_function<job_grant_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "JOB", o->job, "Name of the job.")->required();
        argument(command, "ROLE", o->role, "The role; \"public\" for every role.")->required();
    }

    void of_job(CLI::App &parent, const char *name, const char *description, command_function<std::string> function) {
        auto [command, job] = add(parent, name, description, function);
        argument(command, "JOB", *job, "Name of the job.")->required();
    }

    void of_some_job(CLI::App &parent, const char *name, const char *description,
                     command_function<maybe_text> function) {
        auto [command, job] = add(parent, name, description, function);
        argument(command, "JOB", *job, "Name of the job. Default: all.");
    }

    static constexpr const char *k_ids = "1-6,9, or {[1,7),[9,10)}.";

    CLI::Option *end_callback(CLI::App &parent, const char *name, const char *description, const char *value,
                              command_function<end_callback_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "TOKEN", o->token, "The token.")->required();
        CLI::Option *given = argument(command, name == std::string_view{"reject"} ? "ERROR" : "VALUE", o->value, value);
        command->footer("The exit status is 1 if the callback had been resolved or rejected before.");
        return given;
    }

    void signal_grant(CLI::App &parent, const char *name, const char *description,
                      command_function<signal_grant_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "NAME", o->name, "Name of the signals.")->required();
        argument(command, "ROLE", o->role, "The role; \"public\" for every role.")->required();
        argument(command, "PRIVILEGE", o->privilege, "send, wait, or admin (both, and granting).")
            ->required()
            ->check(one_of("send|wait|admin"));
    }

    void drawing(CLI::App &parent, const char *name, const char *description,
                 command_function<draw_plan_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "NAME", o->plan, "Name of the plan.")->required();
        option(command, "--max-tasks", o->max_tasks, "N",
               "If there are more tasks, draw similar tasks as one node. Default: 200.");
    }

    void one_plan(CLI::App &parent, const char *name, const char *description, command_function<std::string> function) {
        auto [command, plan] = add(parent, name, description, function);
        argument(command, "NAME", *plan, "Name of the plan.")->required();
    }

    void add_queues() {
        {
            auto [command, o] = add<watch_options>(
                m_app, "watch",
                "Watch queues, rates and workers.\n\n"
                "On a terminal, refreshes a screen until Ctrl-C. Elsewhere, prints a line per queue and "
                "round. With --json, prints an object per round, with the columns of scylla.stat_queue "
                "and scylla.stat_worker.",
                watch);
            argument(command, "QUEUE", o->queues, "Only these queues.");
            option(command, "--interval", o->interval, "TIME", "Time between rounds: 500ms, 2s, 1min.")
                ->default_str("2s");
            option(command, "--count", o->count, "N", "Stop after this many rounds.")
                ->check(CLI::PositiveNumber.description(""));
            command->footer("Rates are measured since the previous round. Like all counters, they need the library "
                            "to be preloaded.\n\n"
                            "Keys: s sorts the queues by the next column, r reverses the order, / filters queues and "
                            "workers by the text that follows, p pauses, q quits.");
        }
        {
            auto [command, o] =
                add<events_options>(m_app, "events",
                                    "Show changes of tasks, oldest first: of queues whose setting \"events\" is on.\n\n"
                                    "A line per event: cursor, time, queue, rn, status, attempt and worker. With "
                                    "--json, an object per event.",
                                    show_events);
            argument(command, "QUEUE", o->queues, "Only these queues.");
            option(command, "--after", o->after, "CURSOR", "Only events after this one.");
            option(command, "--since", o->since, "INTERVAL", "Only events that are not older: 10min, 1h.");
            flag(command, "-f,--follow", o->follow, "Wait for further events until Ctrl-C.");
            option(command, "--interval", o->interval, "TIME", "With --follow, time between looks.")->default_str("1s");
        }
        CLI::App *queue = add(m_app, "queue", "Create queues, change their settings, and grant rights on them.");
        queue->require_subcommand(1);
        {
            auto [command, o] =
                add<queue_options>(*queue, "create",
                                   "Create a queue.\n\n"
                                   "A queue that does not exist is created by its first task, with default settings.",
                                   create_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(
                command, "SETTING", o->settings,
                "name=value: the arguments of scylla.create_queue(), for example default_timeout=5min retention=1d.");
        }
        {
            auto [command, o] = add<queue_options>(*queue, "set", "Change settings of a queue.", set_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "SETTING", o->settings, "name=value, as for \"create\"; name= sets the default.")
                ->required();
        }
        add(*queue, "list", "Show the queues and their settings.", list_queues);
        one_queue(*queue, "get", "Show the settings of a queue.", get_queue);
        one_queue(*queue, "pause",
                  "Pause a queue: none of its tasks can be leased.\n\n"
                  "Running tasks continue, and tasks can be submitted.",
                  pause_queue);
        one_queue(*queue, "resume", "End the pause of a queue.", resume_queue);
        {
            auto [command, o] = add<drop_queue_options>(*queue, "drop", "Remove a queue.", drop_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            flag(command, "--force", o->force, "Remove its tasks too, whatever their state.");
        }
        add_grants(*queue);
    }

    void add_grants(CLI::App &queue) {
        {
            auto [command, o] = add<grant_options>(queue, "grant", "Grant a role a privilege on a queue.", grant_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "ROLE", o->role, "The role, or public for every role.")->required();
            privilege(command, o->privilege);
        }
        {
            auto [command, o] = add<grant_options>(queue, "revoke", "Revoke a privilege on a queue.", revoke_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "ROLE", o->role, "The role, or public for every role.")->required();
            privilege(command, o->privilege);
        }
        {
            auto [command, queue_name] =
                add<maybe_text>(queue, "grants", "Show the privileges of roles on queues.", list_grants);
            argument(command, "QUEUE", *queue_name, "Only privileges on this queue.");
        }
        {
            auto [command, o] =
                add<grant_options>(queue, "owner", "Transfer a queue to another role.", set_queue_owner);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "ROLE", o->role, "The new owner.")->required();
        }
    }

    static void privilege(CLI::App *command, std::string &into) {
        argument(command, "PRIVILEGE", into,
                 "submit, work, view, depend, or admin (all of these, and changing settings).")
            ->required()
            ->check(one_of("submit|work|view|depend|admin"));
    }

    void one_queue(CLI::App &parent, const char *name, const char *description,
                   command_function<std::string> function) {
        auto [command, queue] = add(parent, name, description, function);
        argument(command, "QUEUE", *queue, "Name of the queue.")->required();
    }

    void add_schedules() {
        CLI::App *schedule = add(m_app, "schedule", "Manage recurring tasks.");
        schedule->require_subcommand(1);
        {
            auto [command, o] = add<schedule_options>(*schedule, "set",
                                                      "Create or change a schedule.\n\n"
                                                      "Prints the first planned time.",
                                                      set_schedule);
            argument(command, "NAME", o->name, "Name of the schedule.")->required();
            argument(command, "CRON", o->cron, "The planned times: \"30 2 * * mon-fri\", \"@daily\", \"30 seconds\".")
                ->required();
            argument(command, "QUEUE", o->queue, "The queue of its tasks.")->required();
            argument(command, "SPEC", o->spec, "The specification of its tasks, as JSON.")->required();
            argument(
                command, "SETTING", o->settings,
                "name=value: the other arguments of scylla.schedule(), for example timezone=Europe/Berlin overlap=skip "
                "options='{\"priority\": 5}'.");
        }
        {
            auto [command, o] = add<plan_schedule_options>(*schedule, "plan",
                                                           "Create or change a schedule of a plan.\n\n"
                                                           "Prints the first planned time.",
                                                           set_plan_schedule);
            argument(command, "NAME", o->name, "Name of the schedule.")->required();
            argument(command, "CRON", o->cron, "As for \"set\".")->required();
            argument(command, "TASKS", o->tasks,
                     "The tasks of the plan, as for scylla.schedule_plan(): a JSON array of objects.")
                ->required();
            argument(command, "SETTING", o->settings, "name=value, as for \"set\".");
        }
        add(*schedule, "list", "Show schedules, their next planned times, and their last results.", list_schedules);
        one_schedule(*schedule, "get", "Show a schedule.", get_schedule);
        one_schedule(*schedule, "remove", "Remove a schedule. Its tasks stay.", remove_schedule);
        {
            auto [command, o] =
                add<next_options>(*schedule, "next", "Show the next planned times of a cron expression.", show_next);
            argument(command, "CRON", o->cron, "As for \"set\".")->required();
            option(command, "--timezone", o->timezone, "NAME", "The time zone of the planned times. Default: UTC.");
            option(command, "--count", o->count, "N", "Number of planned times.")
                ->default_str("5")
                ->check(CLI::Range(1U, 1000U).description(""));
        }
        add(*schedule, "arm", "Arm the schedules in a restored database. Prints how many were not armed.",
            arm_schedules);
        add(*schedule, "run", "Submit the tasks that are due. Prints their number.", run_schedules);
    }

    void one_schedule(CLI::App &parent, const char *name, const char *description,
                      command_function<std::string> function) {
        auto [command, schedule] = add(parent, name, description, function);
        argument(command, "NAME", *schedule, "Name of the schedule.")->required();
    }

    void add_server() {
        {
            CLI::App *command =
                add(m_app, "init", "Create the extension in the database, and report what is missing.", init_database);
            command->footer("The exit status is 1 if something is missing.");
        }
        {
            auto [command, o] =
                add<doctor_options>(m_app, "doctor",
                                    "Check the installation.\n\n"
                                    "Checks versions, preloading, the monitor, the invariants of the storage "
                                    "(scylla.check()), autovacuum, and what holds back vacuum.",
                                    examine_server);
            option(command, "--long-transaction", o->long_transaction, "INTERVAL",
                   "Report transactions older than this as a problem.")
                ->default_str("5 min");
            flag(command, "--no-check", o->skip_check, "Skip scylla.check(), which reads every task.");
            command->footer("The exit status is 1 if there is a problem.");
        }
        add_console();
    }

    void add_console() {
        auto [command, o] = add<console_options>(
            m_app, "console",
            "Serve the console: pages to look at tasks and to act on them.\n\n"
            "Prints its address, and serves it until Ctrl-C. Pages see and do what the role of the "
            "connection may.",
            serve_console);
        option(command, "--listen", o->listen, "ADDRESS:PORT", "Where to listen. Port 0: any that is free.")
            ->default_str("127.0.0.1:8450");
        flag(command, "--read-only", o->read_only, "Show everything, change nothing.");
        option(command, "--password-file", o->password_file, "FILE",
               "Ask visitors for the password in the first line of this file. Default: that in "
               "SCYLLA_CONSOLE_PASSWORD, else none.");
        option(command, "--allow-host", o->allowed_hosts, "NAME",
               "A further name under which browsers reach the console, as through a proxy. May be repeated.")
            ->allow_extra_args(false);
        option(command, "--interval", o->interval, "TIME", "Time between the looks at the server that all pages share.")
            ->default_str("2s");
        command->footer("Other addresses than those of this machine need a password or --read-only.");
    }

    void add_completion() {
        CLI::App *completion =
            add(m_app, "completion",
                "Print the completion script for a shell.\n\n"
                "For example: source <(scylla completion bash), or for fish: scylla completion fish | "
                "source");
        argument(completion, "SHELL", m_shell, "bash, zsh or fish.")->required()->check(one_of("bash|zsh|fish"));
        m_actions[completion] = [this] {
            std::cout << to_completion(m_app, m_shell);
            return 0;
        };
        CLI::App *man = add(m_app, "man",
                            "Print the man page.\n\n"
                            "For example: scylla man | man -l -");
        m_actions[man] = [this] {
            std::cout << to_man_page(m_app);
            return 0;
        };
    }

    context m_given;
    std::string m_shell;
    CLI::App m_app;
    std::map<const CLI::App *, action> m_actions;
};

int run(int argc, char **argv) {
    reserve_descriptors();
    try {
        const int status = command_line{}.run(argc, argv);
        std::cout.flush();
        if (!std::cout)
            throw failure{"could not write to standard output"};
        return status;
    } catch (const failure &error) {
        std::cerr << "scylla: " << error.what() << '\n';
        if (!error.detail().empty())
            std::cerr << "DETAIL:  " << error.detail() << '\n';
        if (!error.hint().empty())
            std::cerr << "HINT:  " << error.hint() << '\n';
        if (dynamic_cast<const usage_failure *>(&error) != nullptr)
            return k_usage;
    } catch (const std::exception &error) {
        std::cerr << "scylla: " << error.what() << '\n';
    }
    return k_refused;
}

} // namespace
} // namespace scylla::cli

int main(int argc, char **argv) { return scylla::cli::run(argc, argv); }
