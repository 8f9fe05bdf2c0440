// The command line of job types.
#include "syntax.h"

namespace scylla::cli {
namespace {

class job_syntax : syntax {
public:
    using syntax::syntax;

    void add_jobs() {
        CLI::App *job = add(m_app, "job", "Define jobs by what must be fresh before they run, and run them.");
        job->require_subcommand(1);
        add_define(*job);
        add(*job, "list", "Show jobs, and what they need.", list_jobs);
        of_job(*job, "get", "Show a job.", get_job);
        add_run(*job);
        job_request(*job, "explain", "Show what \"job run\" would now run and leave out, and why.", explain_job);
        add_schedule(*job);
        of_some_job(*job, "plans", "Show the plans of jobs, newest first.", list_job_plans);
        of_some_job(*job, "freshness", "Show when ids were last brought up to date.", show_job_freshness);
        add_graph(*job);
        add_mark_fresh(*job);
        add_forget(*job);
        job_grant(*job, "grant", "Let a role run a job, with the rights of the job's owner on queues.", grant_job);
        job_grant(*job, "revoke", "Revoke that.", revoke_job);
        of_job(*job, "drop", "Drop a job that no other job needs. Its plans continue.", drop_job);
    }

private:
    void add_define(CLI::App &job) {
        auto [command, file] = add(job, "define",
                                   "Define or redefine the jobs of a file: all or none.\n\n"
                                   "The file is an object, or an array of them, in any order: {\"job\": name, "
                                   "\"queue\": name, \"settings\": {...}, \"needs\": [...]}, as for "
                                   "scylla.define_job(). It is YAML if its name ends in .yaml or .yml, JSON if "
                                   "it ends in .json, else JSON if it begins with { or [.",
                                   define_jobs);
        argument(command, "FILE", *file, "The file. \"-\": read standard input.")->required();
    }

    void add_run(CLI::App &job) {
        auto [command, o] = job_request(job, "run",
                                        "Run a job, and before it everything that it needs and that is not fresh.\n\n"
                                        "Prints the name of the plan.",
                                        run_job);
        option(command, "--request-id", o->request_id, "ID", "A repeated id prints the plan of the first call.");
    }

    void add_schedule(CLI::App &job) {
        auto [command, o] = add<job_schedule_options>(job, "schedule",
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

    void add_graph(CLI::App &job) {
        auto [command, o] = add<draw_job_options>(job, "graph",
                                                  "Draw a job and all that it needs, with ages, for Graphviz.\n\n"
                                                  "For example: scylla job graph report | dot -Tsvg",
                                                  draw_job);
        argument(command, "JOB", o->job, "Name of the job.")->required();
        flag(command, "--mermaid", o->mermaid, "Draw a flowchart for Mermaid.");
    }

    void add_mark_fresh(CLI::App &job) {
        auto [command, o] = add<mark_job_options>(
            job, "mark-fresh", "Record that ids are fresh, for data that was produced in another way.", mark_job_fresh);
        argument(command, "JOB", o->job, "Name of the job.")->required();
        argument(command, "IDS", o->ids, k_ids)->required();
        option(command, "--finished", o->finished, "TIME", "They are fresh as of this time. Default: now.");
        option(command, "--variant", o->variant, "NAME", "The variant of the runs. Default: runs without one.");
    }

    void add_forget(CLI::App &job) {
        auto [command, o] = add<forget_job_options>(job, "forget",
                                                    "Forget that ids are fresh, for data that is lost or wrong.\n\n"
                                                    "Prints the number of successes that this changes.",
                                                    forget_job_freshness);
        argument(command, "JOB", o->job, "Name of the job.")->required();
        argument(command, "IDS", o->ids, "1-6,9, or {[1,7),[9,10)}. Default: all.");
        option(command, "--variant", o->variant, "NAME", "Only the freshness of this variant. Default: all.");
    }

    std::pair<CLI::App *, run_job_options *> job_request(CLI::App &parent, const char *name, const char *description,
                                                         command_function<run_job_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "JOB", o->job, "Name of the job.")->required();
        option(command, "--ids", o->ids, "IDS", "1-6,9, or {[1,7),[9,10)}. Default: the job selects them.");
        option(command, "--args", o->args, "JSON", "An object, for the job and all that it needs.");
        choice(command, "--prune", o->prune, "slice|chunk",
               "What runs of a needed job if an id is stale: all chunks of a slice, or only chunks with a stale id. "
               "Default: "
               "slice.");
        flag(command, "--strict-order", o->strict_order,
             "Wait for a chunk that runs in this plan even if its older result is fresh enough.");
        flag(command, "--no-wait", o->no_wait,
             "Start even if an older plan is still working on something that the job needs, for the same ids.");
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
};

} // namespace

void describe_jobs(tool &of) {
    job_syntax own{of};
    own.add_jobs();
}

} // namespace scylla::cli
