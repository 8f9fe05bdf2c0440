// The command line of workflows and their runs.
#include "syntax.h"

namespace scylla::cli {
namespace {

class workflow_syntax : syntax {
public:
    using syntax::syntax;

    void add_workflows() {
        CLI::App *workflow = add(m_app, "workflow", "Manage workflows and their versions, and start them.");
        workflow->require_subcommand(1);
        add_validate(*workflow);
        add_push(*workflow);
        add(*workflow, "list", "Show workflows.", list_workflows);
        add_stat(*workflow);
        add_watch(*workflow);
        add_events(*workflow);
        of_workflow(*workflow, "versions", "Show the versions of a workflow.", list_workflow_versions);
        workflow_version(*workflow, "show", "Show the definition of a workflow, as \"workflow push\" takes it.",
                         k_any_version, show_workflow);
        workflow_version(*workflow, "dot",
                         "Draw a workflow for Graphviz.\n\nFor example: scylla workflow dot nightly | dot -Tsvg",
                         k_any_version, draw_workflow_as_dot);
        workflow_version(*workflow, "mermaid", "Draw a workflow as a flowchart for Mermaid.", k_any_version,
                         draw_workflow_as_mermaid);
        workflow_version(*workflow, "activate", "Make a version the active one.", "Its number. Default: the latest.",
                         activate_workflow);
        of_workflow(*workflow, "deactivate", "Leave a workflow without an active version.", deactivate_workflow);
        add_alter(*workflow);
        workflow_grant(*workflow, "grant", "Grant a role a privilege on a workflow.", grant_workflow);
        workflow_grant(*workflow, "revoke", "Revoke a privilege on a workflow.", revoke_workflow);
        of_workflow(*workflow, "drop", "Drop a workflow with its versions.", drop_workflow);
        of_workflow(
            *workflow, "unblock",
            "Let STRICT_SEQUENTIAL start runs although others have failed.\n\nPrints the number of failed runs.",
            unblock_workflow);
        of_workflow(*workflow, "stop", "End all runs of a workflow as STOPPED.\n\nPrints the number of runs.",
                    stop_workflow);
        of_workflow(*workflow, "kill", "End all runs of a workflow as FAILED.\n\nPrints the number of runs.",
                    kill_workflow);
        of_workflow(*workflow, "pause", "Pause a workflow: nothing more begins. Running steps continue.",
                    pause_workflow);
        of_workflow(*workflow, "resume", "Resume a paused workflow.", resume_workflow);
        add_start(*workflow);
        add_start_many(*workflow);
    }

    void add_templates() {
        CLI::App *parent =
            add(m_app, "template", "Manage job templates: parameters with which steps of workflows begin.");
        parent->require_subcommand(1);
        {
            auto [command, file] =
                add(*parent, "push", "Create a job template, or replace the one with the same job type and version.",
                    push_template);
            argument(command, "FILE", *file, k_definition_file)->required();
        }
        {
            auto [command, one] = add<maybe_text>(*parent, "list", "Show job templates.", list_templates);
            argument(command, "JOB_TYPE", *one, "Only the versions of this one.");
        }
        {
            auto [command, o] =
                add(*parent, "show", "Show the definition of a job template, as \"template push\" takes it.",
                    show_template);
            argument(command, "JOB_TYPE", o->job_type, "The sub_type of its steps.")->required();
            argument(command, "VERSION", o->version, "Its version. Default: default.");
        }
        auto [command, o] = add(*parent, "drop", "Drop a version of a job template.", drop_template);
        argument(command, "JOB_TYPE", o->job_type, "The sub_type of its steps.")->required();
        argument(command, "VERSION", o->version, "Its version.")->required();
    }

    void add_runs() {
        CLI::App *run = add(m_app, "run", "Show runs of workflows, restart and end them.");
        run->require_subcommand(1);
        {
            auto [command, o] = add(*run, "list", "Show runs, the newest first.", list_runs);
            argument(command, "WORKFLOW", o->workflow, "Id of the workflow. Default: all.");
            CLI::Option *status = option(command, "--status", o->status, "STATUS", "Only runs with this status.");
            flag(command, "--failed", o->failed,
                 "Only the last runs of instances that have failed and were not repaired.")
                ->excludes(status);
            option(command, "--limit", o->limit, "N", "Maximum number of runs. Default: 20.");
        }
        of_run(*run, "show", "Show the steps of an instance.", show_run);
        {
            auto [command, o] = add(*run, "restart",
                                    "Run an instance again whose last run has ended.\n\nWithout an option: the steps "
                                    "that are not complete, and what follows them. If a step of another run has "
                                    "started it and waits for it, that step runs again.\n\n"
                                    "Shows the run that has been started: of this instance, or of the topmost one "
                                    "above it. Code 2: that run has not ended, and continues.",
                                    restart_run);
            argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
            argument(command, "INSTANCE", o->instance, "The number of the instance.")->required();
            CLI::Option *all = flag(command, "--from-beginning", o->from_beginning, "All steps.");
            option(command, "--from", o->from, "STEP", "This step, and what follows it.")->excludes(all);
            option(command, "--params", o->params, "JSON",
                   "An object with parameters, which override those of the last run.");
            option(command, "--step-params", o->step_params, "JSON",
                   "An object that has such an object for each step to override.");
            option(command, "--skip", o->skipped, "STEP", "Skip this step. May be given several times.");
            flag(command, "--alone", o->alone, k_alone);
        }
        of_run(*run, "stop", "End the last run of an instance as STOPPED.", stop_run);
        of_run(*run, "kill", "End the last run of an instance as FAILED.", kill_run);
        of_run(*run, "unblock",
               "Let STRICT_SEQUENTIAL start other runs although the last run of an instance has failed.", unblock_run);
        view_runs(*run);
    }

    void add_backfills() {
        CLI::App *backfill =
            add(m_app, "backfill", "Run workflows for many dates, ids or parameters, and show the progress.");
        backfill->require_subcommand(1);
        {
            auto [command, o] = add<backfill_options>(*backfill, "start",
                                                      "Run a workflow once for each item.\n\n"
                                                      "Prints the number of the backfill.",
                                                      start_backfill);
            argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
            argument(command, "ITEMS", o->items,
                     "An array of objects, the parameters of each run; or lists and ranges of which all combinations "
                     "run: {\"region\": [\"eu\", \"us\"], \"day\": {\"from\": \"2026-01-01\", \"to\": "
                     "\"2026-01-31\"}}.")
                ->required();
            option(command, "--version", o->version, "VERSION",
                   "active, latest, default, or a number. Default: active.");
            option(command, "--concurrency", o->concurrency, "N",
                   "Maximum number of runs at the same time. Default: 1.");
            flag(command, "--newest-first", o->newest_first, "From the last item to the first.");
            choice(command, "--existing", o->existing, "start|skip|skip_all",
                   "If there is a run with the same parameters: start another, skip the item if that run has succeeded "
                   "or has not ended, or skip it in any case. Default: start.");
            flag(command, "--yields", o->yields, "Other runs of the workflow go first.");
            flag(command, "--preview", o->preview, "Only show what would be started.");
        }
        {
            auto [command, workflow] =
                add<maybe_text>(*backfill, "list", "Show backfills, the newest first.", list_backfills);
            argument(command, "WORKFLOW", *workflow, "Id of the workflow. Default: all.");
        }
        {
            auto [command, o] = add<show_backfill_options>(
                *backfill, "show", "Show the items of a backfill, and their runs.", show_backfill);
            argument(command, "BACKFILL", o->backfill, "Its number.")->required();
            option(command, "--status", o->status, "STATUS", "Only items with this status.");
        }
        of_backfill(*backfill, "pause", "Pause a backfill: nothing more starts. Its runs continue.", pause_backfill);
        of_backfill(*backfill, "resume", "Resume a paused backfill.", resume_backfill);
        {
            auto [command, o] = add<cancel_backfill_options>(*backfill, "cancel",
                                                             "Cancel a backfill: nothing more starts.\n\n"
                                                             "Prints the number of items that were not started.",
                                                             cancel_backfill);
            argument(command, "BACKFILL", o->backfill, "Its number.")->required();
            flag(command, "--stop-runs", o->stop_runs, "Also stop its runs.");
        }
    }

    void add_steps() {
        CLI::App *step = add(m_app, "step", "Act on steps of runs.");
        step->require_subcommand(1);
        of_step(*step, "stop",
                "End a step as STOPPED. Steps that do not depend on it continue.\n\n"
                "Prints the id of the action in the view scylla.workflow_action; nothing if the step already has this "
                "status.",
                stop_step);
        of_step(*step, "kill",
                "End a step as FATALLY_FAILED. Its failure mode applies.\n\n"
                "Prints the id of the action in the view scylla.workflow_action; nothing if the step already has this "
                "status.",
                kill_step);
        of_step(*step, "skip",
                "Set a step to SKIPPED. Steps that follow it continue, as its conditions say.\n\n"
                "Prints the id of the action in the view scylla.workflow_action; nothing if the step already has this "
                "status.",
                skip_step);
        {
            auto [command, o] =
                add(*step, "restart",
                    "Give another attempt to a step that has ended. If its run has also ended, the instance runs again "
                    "from the step, as with \"run restart\".\n\n"
                    "Prints the id of the action in the view scylla.workflow_action.",
                    restart_step);
            name_step(command, *o);
            flag(command, "--alone", o->alone, k_alone);
        }
        of_step(*step, "bypass",
                "Let a step that is WAITING_FOR_SIGNALS continue without the missing signals.\n\n"
                "Prints the id of the action in the view scylla.workflow_action.",
                bypass_step);
        of_step(*step, "pause", "Pause a step before it begins, until \"step resume\".", pause_step);
        of_step(*step, "resume",
                "Resume a PAUSED step.\n\n"
                "Prints the id of the action in the view scylla.workflow_action; nothing if the step had not been "
                "PAUSED yet.",
                resume_step);
    }

    void add_breakpoints() {
        CLI::App *breakpoint = add(m_app, "breakpoint", "Pause steps of workflows before they begin.");
        breakpoint->require_subcommand(1);
        {
            auto [command, o] =
                add(*breakpoint, "set", "Pause each attempt of a step before it begins.", set_breakpoint);
            name_breakpoint(command, *o);
        }
        {
            auto [command, o] = add(
                *breakpoint, "drop",
                "Remove a breakpoint.\n\nGive the same options as when it was set. Steps that are PAUSED stay PAUSED.",
                drop_breakpoint);
            name_breakpoint(command, o->key);
            flag(command, "--resume", o->resume, "Resume all steps that it may have stopped.");
        }
        auto [command, workflow] = add<maybe_text>(*breakpoint, "list", "Show breakpoints.", list_breakpoints);
        argument(command, "WORKFLOW", *workflow, "Id of the workflow. Default: all.");
    }

private:
    void add_validate(CLI::App &workflow) {
        auto [command, file] = add(workflow, "validate",
                                   "Show what is wrong with the definition of a workflow.\n\n"
                                   "Prints nothing if it is sound, and a row for each problem if not; then the exit "
                                   "status is 1.",
                                   validate_workflow);
        argument(command, "FILE", *file, k_definition_file)->required();
    }

    void add_push(CLI::App &workflow) {
        auto [command, o] =
            add(workflow, "push", "Create a workflow, or a new version of one.\n\nPrints the number of the version.",
                push_workflow);
        argument(command, "FILE", o->file, k_definition_file)->required();
        flag(command, "--inactive", o->inactive, "Do not make the new version the active one.");
    }

    void add_stat(CLI::App &workflow) {
        auto [command, one] = add<maybe_text>(
            workflow, "stat",
            "Count runs and steps that have not ended.\n\nWith --json, prints the columns of scylla.stat_workflow.",
            stat_workflows);
        argument(command, "WORKFLOW", *one, "Id of the workflow. Default: all.");
    }

    void add_watch(CLI::App &workflow) {
        auto [command, o] = add<watch_options>(
            workflow, "watch",
            "Watch workflows, and their runs that have not ended.\n\n"
            "On a terminal, refreshes a screen until Ctrl-C. Elsewhere, prints a line per workflow and round. With "
            "--json, prints an object per round: workflows, with the columns of scylla.stat_workflow, and runs.",
            watch_workflows);
        argument(command, "WORKFLOW", o->of, "Only these workflows.");
        how_to_watch(command, *o);
        command->footer(
            "Of each workflow up to 20 runs are shown, the oldest first, of its 1000 newest instances; 100 in "
            "all. Leaves are steps that contain no other steps, including those of subworkflows that are waited "
            "for.\n\n"
            "Keys: s sorts the workflows by the next column, r reverses the order, / filters workflows and runs "
            "by the text that follows, p pauses, q quits.");
    }

    void add_events(CLI::App &workflow) {
        auto [command, o] = add<events_options>(
            workflow, "events",
            "Show the events of workflows whose property \"events\" is on, oldest first.\n\n"
            "A line per event: cursor, time, workflow, kind, instance/run, step, attempt, status and version, "
            "if there is one. With --json, an object per event.",
            show_workflow_events);
        argument(command, "WORKFLOW", o->of, "Only these workflows.");
        how_to_follow(command, *o);
    }

    void add_alter(CLI::App &workflow) {
        auto [command, o] = add(workflow, "alter", "Change properties of a workflow.", alter_workflow);
        argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
        argument(command, "CHANGE", o->changes,
                 "name=value: a property, for example run_strategy=first_only step_concurrency=5 tags='[\"a\"]'; "
                 "add_tag=NAME, delete_tag=NAME, reset_run_strategy_rule=true, reset_workflow_concurrency=true, "
                 "reset_step_concurrency=true. JSON, or else a text.")
            ->required();
    }

    void add_start(CLI::App &workflow) {
        auto [command, o] = add(workflow, "start", "Start an instance of a workflow.", start_workflow);
        argument(command, "WORKFLOW", o->workflow, "Id of the workflow.")->required();
        argument(command, "PARAMETER", o->given,
                 "name=value: a parameter, for example day=20260301 regions='[\"eu\"]'. JSON, or else a text; always a "
                 "text if the workflow has a STRING of that name.");
        option(command, "--params", o->params, "JSON", "An object with parameters.");
        option(command, "--step-params", o->step_params, "JSON",
               "An object with an object of parameters for each step.");
        option(command, "--version", o->version, "VERSION",
               "active, latest, default (the active one, or else the latest) or a number. Default: active.");
        option(command, "--request-id", o->request_id, "ID", "The same id starts a workflow only once.");
    }

    void add_start_many(CLI::App &workflow) {
        auto [command, file] =
            add(workflow, "start-many",
                "Start many instances, all or none.\n\nThe file has an array of requests, for example "
                "[{\"workflow\": \"nightly\", \"params\": {\"day\": 3}}]; they may also have "
                "step_params, version and request_id.",
                start_workflows);
        argument(command, "FILE", *file, k_definition_file)->required();
    }

    void add_tree(CLI::App &run) {
        auto [command, o] = add(run, "tree",
                                "Show an instance with the contents of its loops and subworkflows.\n\n"
                                "If a loop has many iterations, only their numbers are shown.",
                                show_run_tree);
        name_run(command, *o);
        option(command, "--max-iterations", o->max_iterations, "N",
               "Show only the numbers of iterations of loops that have more than N. Default: 10.");
        flag(command, "--failed-first", o->failed_first,
             "Show failed steps before others, and of a loop with many iterations the failed ones.");
    }

    void add_failed(CLI::App &run) {
        auto [command, o] = add(run, "failed",
                                "Show the steps because of which an instance has failed.\n\n"
                                "Includes those in its loops and subworkflows, in the order in which they failed.",
                                show_failed_steps);
        name_run(command, *o);
        option(command, "--limit", o->limit, "N", "Maximum number of steps. Default: 1000.");
    }

    void add_why(CLI::App &run) {
        auto [command, o] =
            add(run, "why",
                "Show what a run, or one of its steps, waits for.\n\n"
                "Signals, permits, pools, workers, breakpoints, pauses, retries, the run strategy; also "
                "in its loops and subworkflows. No rows: it has succeeded.",
                explain_run);
        name_run(command, *o);
        argument(command, "STEP", o->step, "Only this step, and what is in it.");
        option(command, "--limit", o->limit, "N", "Maximum number of rows. Default: 100.");
    }

    void add_timeline(CLI::App &run) {
        auto [command, o] = add(run, "timeline",
                                "Show the events of an instance and its steps.\n\n"
                                "The 32 newest events are kept for the run and for each step.",
                                show_run_timeline);
        name_run(command, *o);
        option(command, "--step", o->step, "STEP", "Only events of this step.");
        option(command, "--limit", o->limit, "N", "Maximum number of events; the newest are shown. Default: 1000.");
    }

    void add_lineage(CLI::App &run) {
        auto [command, o] = add(run, "lineage",
                                "Draw the senders and users of the signals of an instance, for Graphviz.\n\n"
                                "These are the signals that started it, that its steps waited for, and that they sent.",
                                draw_lineage);
        name_run(command, *o);
        option(command, "--max-signals", o->max_signals, "N",
               "Maximum number of signals; the newest are shown. Default: 50.");
        flag(command, "--mermaid", o->mermaid, "Draw a flowchart for Mermaid instead.");
    }

    void of_backfill(CLI::App &parent, const char *name, const char *description,
                     command_function<std::string> function) {
        auto [command, backfill] = add(parent, name, description, function);
        argument(command, "BACKFILL", *backfill, "Its number.")->required();
    }

    void view_runs(CLI::App &run) {
        add_tree(run);
        add_failed(run);
        add_why(run);
        of_run(run, "rollup",
               "Show the number of leaf steps of an instance by status.\n\n"
               "Up to ten of those that are running, waiting or failed are named: step[iterations]:attempt.",
               show_run_rollup);
        add_timeline(run);
        of_run(run, "actions", "Show who has acted on an instance and its steps, the newest action first.",
               show_run_actions);
        of_run(run, "dot", "Draw an instance for Graphviz.\n\nFor example: scylla run dot nightly 7 | dot -Tsvg",
               draw_run_as_dot);
        of_run(run, "mermaid", "Draw an instance as a flowchart for Mermaid.", draw_run_as_mermaid);
        add_lineage(run);
        auto [command, o] =
            add(run, "gantt", "Draw when the steps of an instance ran, for Mermaid.", draw_run_as_gantt);
        name_run(command, *o);
        option(command, "--max-iterations", o->max_iterations, "N",
               "Let the iterations of loops that have more than N share bars. Default: 10.");
    }

    void name_run(CLI::App *command, run_options &o) {
        argument(command, "WORKFLOW", o.workflow, "Id of the workflow.")->required();
        argument(command, "INSTANCE", o.instance, "The number of the instance.")->required();
    }

    // Of the last run of an instance.
    void of_step(CLI::App &parent, const char *name, const char *description, command_function<step_options> function) {
        auto [command, o] = add(parent, name, description, function);
        name_step(command, *o);
    }
    void name_step(CLI::App *command, step_options &o) {
        argument(command, "WORKFLOW", o.workflow, "Id of the workflow.")->required();
        argument(command, "INSTANCE", o.instance, "The number of the instance.")->required();
        argument(command, "STEP", o.step, "Id of the step.")->required();
        argument(command, "ITERATION", o.iterations,
                 "The numbers of the iterations that the step is in, the outer one first.");
    }

    void name_breakpoint(CLI::App *command, breakpoint_options &o) {
        argument(command, "WORKFLOW", o.workflow, "Id of the workflow.")->required();
        argument(command, "STEP", o.step, "Id of the step.")->required();
        option(command, "--version", o.version, "N", "Only in runs of this version.");
        option(command, "--instance", o.instance, "N", "Only in this instance.");
        option(command, "--run", o.run, "N", "Only in this run of the instance.");
    }

    void of_run(CLI::App &parent, const char *name, const char *description, command_function<run_options> function) {
        auto [command, o] = add(parent, name, description, function);
        name_run(command, *o);
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

    static constexpr const char *k_any_version =
        "active, latest, default (the active one, or else the latest) or a number. Default: default.";
    static constexpr const char *k_alone =
        "If a step of another run started the instance and waited for it, that step does not run again.";
    static constexpr const char *k_definition_file =
        "A file with JSON or YAML: YAML if its name ends in .yaml or .yml, JSON if it ends in .json, else JSON if it "
        "begins with { or [. \"-\": read standard input.";
};

} // namespace

void describe_workflows(tool &of) {
    workflow_syntax own{of};
    own.add_workflows();
    own.add_templates();
    own.add_runs();
    own.add_backfills();
    own.add_steps();
    own.add_breakpoints();
}

} // namespace scylla::cli
