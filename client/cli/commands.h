// The commands, without their command line: syntax_*.cpp fill the options in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "output.h"
#include "session.h"

namespace scylla::cli {

using maybe_text = std::optional<std::string>;

// Passed to every command.
struct context {
    connection_options connection;
    bool json = false;
    [[nodiscard]] form rows() const { return json ? form::json : form::table; }
    [[nodiscard]] form record() const { return json ? form::json_one : form::record; }
};

// ---- tasks ---------------------------------------------------------------------------------------------------------

struct submit_options {
    std::string queue;
    maybe_text spec;
    bool lines = false;
    maybe_text rn;
    maybe_text priority;
    maybe_text not_before;
    maybe_text delay;
    maybe_text max_attempts;
    maybe_text retry;
    std::vector<std::string> depends_on;
    maybe_text on_dependency_failure;
    maybe_text plan;
    maybe_text dedup_key;
    maybe_text dedup_for;
    maybe_text debounce;
    maybe_text run_timeout;
    maybe_text key;
    maybe_text on_duplicate;
    maybe_text wait_for;
    maybe_text needs;
    maybe_text expected_runtime;
};
int submit_task(const context &, const submit_options &);

struct get_options {
    std::string rn;
    maybe_text field;
};
int get_task(const context &, const get_options &);
int explain_waiting(const context &, const std::string &rn);

struct held_options { // a lease, and how it ends
    std::string rn;
    std::string worker;
    maybe_text attempt;
};
struct not_yet_options : held_options {
    maybe_text retry_after;
};
struct defer_options : held_options {
    std::string wait_for;
    maybe_text state;
};
struct set_output_options {
    std::string rn;
    maybe_text params;
    maybe_text artifacts;
    maybe_text worker;
    maybe_text attempt;
};
int set_output(const context &, const set_output_options &);
int not_yet(const context &, const not_yet_options &);
int defer_task(const context &, const defer_options &);

struct list_options {
    maybe_text queue;
    maybe_text status;
    maybe_text worker;
    std::string limit = "100";
};
int list_tasks(const context &, const list_options &);

// Selects tasks.
struct filter_options {
    maybe_text queue, status, worker, key, code, spec, created_after, created_before;
};
struct find_options {
    filter_options filter;
    std::string limit = "100";
    maybe_text after;
};
int find_tasks(const context &, const find_options &);

struct cancel_options {
    std::vector<std::string> rns;
    filter_options filter;
    bool all = false;
    bool dry_run = false;
};
int cancel_tasks(const context &, const cancel_options &);

struct yield_many_options {
    filter_options filter;
    bool dry_run = false;
};
int yield_tasks(const context &, const yield_many_options &);

struct reschedule_options {
    std::string rn;
    maybe_text not_before;
    maybe_text delay;
};
int reschedule_task(const context &, const reschedule_options &);
struct priority_options {
    std::string rn;
    std::string priority;
};
int set_priority(const context &, const priority_options &);
int delete_tasks(const context &, const std::vector<std::string> &rns);

struct resubmit_options {
    maybe_text rn;
    maybe_text new_rn;
    filter_options filter;
    maybe_text after;
    maybe_text before;
    std::string limit = "1000";
    bool preview = false;
};
int resubmit_tasks(const context &, const resubmit_options &);

struct dead_options {
    maybe_text queue;
    maybe_text code;
    std::string limit = "100";
};
int list_dead_tasks(const context &, const dead_options &);

// ---- plans ---------------------------------------------------------------------------------------------------------

struct create_plan_options {
    maybe_text name;
    maybe_text spec;
};
int create_plan(const context &, const create_plan_options &);
int open_plan(const context &, const std::string &plan);
int cancel_plan(const context &, const std::string &plan);

struct rerun_plan_options {
    std::string plan;
    bool only_failed = false;
    maybe_text new_plan;
};
int rerun_plan(const context &, const rerun_plan_options &);
struct plan_owner_options {
    std::string plan;
    std::string role;
};
int set_plan_owner(const context &, const plan_owner_options &);
int list_plans(const context &);
int get_plan(const context &, const std::string &plan);

struct wait_plan_options {
    std::string plan;
    maybe_text timeout;
};
int wait_for_plan(const context &, const wait_plan_options &);

struct draw_plan_options {
    std::string plan;
    maybe_text max_tasks;
};
int draw_plan_as_dot(const context &, const draw_plan_options &);
int draw_plan_as_mermaid(const context &, const draw_plan_options &);
int show_plan_timeline(const context &, const std::string &plan);

// ---- queues --------------------------------------------------------------------------------------------------------

struct queue_options {
    std::string queue;
    std::vector<std::string> settings; // "name=value"
};
int create_queue(const context &, const queue_options &);
int set_queue(const context &, const queue_options &);
int list_queues(const context &);
int get_queue(const context &, const std::string &queue);
int pause_queue(const context &, const std::string &queue);
int resume_queue(const context &, const std::string &queue);

struct drop_queue_options {
    std::string queue;
    bool force = false;
};
int drop_queue(const context &, const drop_queue_options &);

struct grant_options {
    std::string queue;
    std::string role;
    std::string privilege;
};
int grant_queue(const context &, const grant_options &);
int revoke_queue(const context &, const grant_options &);
int list_grants(const context &, const maybe_text &queue);
int set_queue_owner(const context &, const grant_options &);

// ---- conditions ----------------------------------------------------------------------------------------------------

struct create_callback_options {
    maybe_text token;
    maybe_text expires;
};
int create_callback(const context &, const create_callback_options &);
struct end_callback_options {
    std::string token;
    maybe_text value; // or the error
};
int resolve_callback(const context &, const end_callback_options &);
int reject_callback(const context &, const end_callback_options &);

struct send_signal_options {
    std::string name;
    maybe_text params;
    maybe_text payload;
    maybe_text request_id;
};
int send_signal(const context &, const send_signal_options &);
struct list_signals_options {
    maybe_text name;
    std::string limit = "100";
};
int list_signals(const context &, const list_signals_options &);
struct signal_grant_options {
    std::string name;
    std::string role;
    std::string privilege;
};
int grant_signal(const context &, const signal_grant_options &);
int revoke_signal(const context &, const signal_grant_options &);
int list_conditions(const context &);
struct create_trigger_options {
    std::string name;
    std::string signals;
    std::string action;
    maybe_text condition;
    maybe_text grace;
};
int create_trigger(const context &, const create_trigger_options &);
int drop_trigger(const context &, const std::string &name);
int pause_trigger(const context &, const std::string &name);
int resume_trigger(const context &, const std::string &name);
struct clear_trigger_options {
    std::string name;
    maybe_text seq;
};
int clear_trigger(const context &, const clear_trigger_options &);
int list_triggers(const context &);
int list_trigger_signals(const context &, const maybe_text &name);
int list_trigger_failures(const context &, const maybe_text &name);

// ---- pools ---------------------------------------------------------------------------------------------------------

struct create_pool_options {
    std::string pool;
    std::string capacity;
    maybe_text policy;
    maybe_text max_bypass;
    maybe_text metrics_max_age;
};
int create_pool(const context &, const create_pool_options &);
struct set_pool_options {
    std::string pool;
    maybe_text capacity;
    maybe_text policy;
    maybe_text max_bypass;
    maybe_text metrics_max_age;
};
int set_pool(const context &, const set_pool_options &);
int list_pools(const context &);
int get_pool(const context &, const std::string &pool);
struct pool_queue_options {
    maybe_text pool;
    maybe_text limit;
};
int show_pool_queue(const context &, const pool_queue_options &);
int show_pool_history(const context &, const maybe_text &pool);
int show_pool_reservations(const context &, const maybe_text &pool);
int drain_pool(const context &, const std::string &pool);
int resume_pool(const context &, const std::string &pool);
int drop_pool(const context &, const std::string &pool);
struct report_usage_options {
    std::string pool;
    std::string used;
    maybe_text at;
};
int report_usage(const context &, const report_usage_options &);
int place_tasks(const context &, const maybe_text &pool);
struct pool_grant_options {
    std::string pool;
    std::string role;
    std::string privilege;
};
int grant_pool(const context &, const pool_grant_options &);
int revoke_pool(const context &, const pool_grant_options &);

// ---- workflows -----------------------------------------------------------------------------------------------------

int validate_workflow(const context &, const std::string &file);
struct push_workflow_options {
    std::string file;
    bool inactive = false;
};
int push_workflow(const context &, const push_workflow_options &);
int list_workflows(const context &);
int stat_workflows(const context &, const maybe_text &workflow);
int list_workflow_versions(const context &, const std::string &workflow);
struct workflow_version_options {
    std::string workflow;
    maybe_text version;
};
int show_workflow(const context &, const workflow_version_options &);
int activate_workflow(const context &, const workflow_version_options &);
int deactivate_workflow(const context &, const std::string &workflow);
struct alter_workflow_options {
    std::string workflow;
    std::vector<std::string> changes;
};
int alter_workflow(const context &, const alter_workflow_options &);
int push_template(const context &, const std::string &file);
int list_templates(const context &, const maybe_text &job_type);
struct template_options {
    std::string job_type;
    std::string version = "default";
};
int show_template(const context &, const template_options &);
int drop_template(const context &, const template_options &);
struct workflow_grant_options {
    std::string workflow;
    std::string role;
    std::string privilege;
};
int grant_workflow(const context &, const workflow_grant_options &);
int revoke_workflow(const context &, const workflow_grant_options &);
int drop_workflow(const context &, const std::string &workflow);
struct start_workflow_options {
    std::string workflow;
    std::vector<std::string> given; // name=value
    maybe_text params;
    maybe_text step_params;
    maybe_text version;
    maybe_text request_id;
};
int start_workflow(const context &, const start_workflow_options &);
int start_workflows(const context &, const std::string &file);

// ---- runs ----------------------------------------------------------------------------------------------------------

struct list_runs_options {
    maybe_text workflow;
    maybe_text status;
    bool failed = false;
    maybe_text limit;
};
int list_runs(const context &, const list_runs_options &);
struct run_options {
    std::string workflow;
    std::string instance;
};
struct restart_run_options {
    std::string workflow;
    std::string instance;
    bool from_beginning = false;
    maybe_text from;
    maybe_text params;
    maybe_text step_params;
    std::vector<std::string> skipped;
    bool alone = false;
};
int restart_run(const context &, const restart_run_options &);
void require_run(session &server, const run_options &options); // the run exists, and may be viewed
int show_run(const context &, const run_options &);
int show_run_rollup(const context &, const run_options &);
int show_run_actions(const context &, const run_options &);
struct timeline_options : run_options {
    maybe_text step;
    maybe_text limit;
};
int show_run_timeline(const context &, const timeline_options &);
int stop_run(const context &, const run_options &);
int kill_run(const context &, const run_options &);
int unblock_run(const context &, const run_options &);
int unblock_workflow(const context &, const std::string &workflow);
struct view_run_options : run_options {
    maybe_text max_iterations;
    bool failed_first = false;
};
int show_run_tree(const context &, const view_run_options &);
int draw_run_as_gantt(const context &, const view_run_options &);
struct lineage_options : run_options {
    maybe_text max_signals;
    bool mermaid = false;
};
int draw_lineage(const context &, const lineage_options &);
struct failed_steps_options : run_options {
    maybe_text limit;
};
int show_failed_steps(const context &, const failed_steps_options &);
struct explain_run_options : failed_steps_options {
    maybe_text step;
};
int explain_run(const context &, const explain_run_options &);
int draw_run_as_dot(const context &, const run_options &);
int draw_run_as_mermaid(const context &, const run_options &);
int draw_workflow_as_dot(const context &, const workflow_version_options &);
int draw_workflow_as_mermaid(const context &, const workflow_version_options &);

struct backfill_options {
    std::string workflow;
    std::string items;
    maybe_text version;
    maybe_text concurrency;
    bool newest_first = false;
    maybe_text existing;
    bool yields = false;
    bool preview = false;
};
int start_backfill(const context &, const backfill_options &);
int list_backfills(const context &, const maybe_text &workflow);
struct show_backfill_options {
    std::string backfill;
    maybe_text status;
};
int show_backfill(const context &, const show_backfill_options &);
int pause_backfill(const context &, const std::string &backfill);
int resume_backfill(const context &, const std::string &backfill);
struct cancel_backfill_options {
    std::string backfill;
    bool stop_runs = false;
};
int cancel_backfill(const context &, const cancel_backfill_options &);

int stop_workflow(const context &, const std::string &workflow);
int kill_workflow(const context &, const std::string &workflow);

struct step_options {
    std::string workflow;
    std::string instance;
    std::string step;
    std::vector<std::string> iterations;
};
int stop_step(const context &, const step_options &);
int kill_step(const context &, const step_options &);
int skip_step(const context &, const step_options &);
struct restart_step_options : step_options {
    bool alone = false;
};
int restart_step(const context &, const restart_step_options &);
int bypass_step(const context &, const step_options &);
int pause_step(const context &, const step_options &);
int resume_step(const context &, const step_options &);

int pause_workflow(const context &, const std::string &workflow);
int resume_workflow(const context &, const std::string &workflow);

struct breakpoint_options {
    std::string workflow;
    std::string step;
    maybe_text version;
    maybe_text instance;
    maybe_text run;
};
struct drop_breakpoint_options {
    breakpoint_options key;
    bool resume = false;
};
int set_breakpoint(const context &, const breakpoint_options &);
int drop_breakpoint(const context &, const drop_breakpoint_options &);
int list_breakpoints(const context &, const maybe_text &workflow);

// ---- jobs ----------------------------------------------------------------------------------------------------------

int define_jobs(const context &, const std::string &file);
int drop_job(const context &, const std::string &job);
struct job_grant_options {
    std::string job;
    std::string role;
};
int grant_job(const context &, const job_grant_options &);
int revoke_job(const context &, const job_grant_options &);
int list_jobs(const context &);
int get_job(const context &, const std::string &job);
struct run_job_options {
    std::string job;
    maybe_text ids;
    maybe_text args;
    maybe_text prune;
    bool strict_order = false;
    bool no_wait = false;
    maybe_text variant;
    maybe_text request_id;
};
int run_job(const context &, const run_job_options &);
int explain_job(const context &, const run_job_options &);
int list_job_plans(const context &, const maybe_text &job);
int show_job_freshness(const context &, const maybe_text &job);
struct draw_job_options {
    std::string job;
    bool mermaid = false;
};
int draw_job(const context &, const draw_job_options &);
struct mark_job_options {
    std::string job;
    std::string ids;
    maybe_text finished;
    maybe_text variant;
};
int mark_job_fresh(const context &, const mark_job_options &);
struct forget_job_options {
    std::string job;
    maybe_text ids;
    maybe_text variant;
};
int forget_job_freshness(const context &, const forget_job_options &);

// ---- watching ------------------------------------------------------------------------------------------------------

struct watch_options {
    std::vector<std::string> of; // queues, or workflows
    std::string interval = "2s";
    unsigned count = 0; // 0: endless
};
int watch(const context &, const watch_options &);
int watch_workflows(const context &, const watch_options &);

struct events_options {
    std::vector<std::string> of; // queues, or workflows
    maybe_text after;
    maybe_text since;
    bool follow = false;
    std::string interval = "1s";
};
int show_events(const context &, const events_options &);
int show_workflow_events(const context &, const events_options &);

// ---- schedules -----------------------------------------------------------------------------------------------------

struct schedule_options {
    std::string name;
    std::string cron;
    std::string queue;
    std::string spec;
    std::vector<std::string> settings;
};
int set_schedule(const context &, const schedule_options &);

struct plan_schedule_options {
    std::string name;
    std::string cron;
    std::string tasks;
    std::vector<std::string> settings;
};
int sync_schedules(const context &, const std::string &file);
int set_plan_schedule(const context &, const plan_schedule_options &);
struct job_schedule_options {
    std::string name;
    std::string cron;
    std::string job;
    std::vector<std::string> settings;
};
int set_job_schedule(const context &, const job_schedule_options &);
int list_schedules(const context &);
int get_schedule(const context &, const std::string &name);
int remove_schedule(const context &, const std::string &name);

struct next_options {
    std::string cron;
    maybe_text timezone;
    unsigned count = 5;
};
int show_next(const context &, const next_options &);
int arm_schedules(const context &);
int run_schedules(const context &);

// ---- the server ----------------------------------------------------------------------------------------------------

int init_database(const context &);
struct role_options {
    std::string kind;
    std::string role;
};
int grant_role(const context &, const role_options &);
int revoke_role(const context &, const role_options &);

struct doctor_options {
    std::string long_transaction = "5 min";
    bool skip_check = false;
};
int examine_server(const context &, const doctor_options &);

// ---- working -------------------------------------------------------------------------------------------------------

struct work_options {
    std::vector<std::string> queues;
    std::string command;
    unsigned jobs = 1;
    unsigned prefetch = 0;
    maybe_text timeout;
    maybe_text lease;
    maybe_text worker;
    std::string grace = "5s";
    std::string input = "spec";
    std::vector<int> abort_on;
    std::size_t max_output = 1 << 20;
    bool until_empty = false;
    bool quiet = false;
    bool verbose = false;
};
int work(const context &, const work_options &);

} // namespace scylla::cli
