// Kinds of roles, and the functions and views that each of them may use. grant_role() grants by this table, and the
// hint of an error says by it which kinds may do what was refused. On which queues, workflows, pools and signals a role
// may use them is said by the privileges on these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace scylla::model {

// In the order in which a hint names them: the one that may do least comes first.
enum class RoleKind : std::uint8_t {
    worker,
    reader,
    client,
    scheduler,
    author,
    operating,
    queue_owner,
    event_reader,
    monitoring,
    console_reader,
    console_operator
};

inline constexpr std::array<std::string_view, 11> k_role_kinds = {
    "worker",      "reader",       "client",     "scheduler",      "author",          "operator",
    "queue_owner", "event_reader", "monitoring", "console_reader", "console_operator"};

// A set of kinds.
using RoleKinds = std::uint16_t;

constexpr RoleKinds set_of(RoleKind kind) noexcept { return static_cast<RoleKinds>(1U << static_cast<unsigned>(kind)); }
constexpr bool has(RoleKinds kinds, RoleKind one) noexcept { return (kinds & set_of(one)) != 0; }

// A function, procedure or view of the schema scylla, and the kinds that may use it; none: only the owner of the
// extension and roles to which it is granted by name. No function is overloaded.
struct Grantable {
    std::string_view name;
    RoleKinds kinds;
};

namespace kinds {

// The console shows what a reader and an operator see, and the second one also makes tasks and plans: it runs
// schedules.
inline constexpr RoleKinds k_worker = set_of(RoleKind::worker);
inline constexpr RoleKinds k_client = set_of(RoleKind::client);
inline constexpr RoleKinds k_scheduler = set_of(RoleKind::scheduler);
inline constexpr RoleKinds k_author = set_of(RoleKind::author);
inline constexpr RoleKinds k_console = set_of(RoleKind::console_operator);
inline constexpr RoleKinds k_operator = set_of(RoleKind::operating) | k_console;
inline constexpr RoleKinds k_queue_owner = set_of(RoleKind::queue_owner);
inline constexpr RoleKinds k_event_reader = set_of(RoleKind::event_reader);
inline constexpr RoleKinds k_monitoring = set_of(RoleKind::monitoring);
// Whoever may see everything on which it has a privilege.
inline constexpr RoleKinds k_reader =
    set_of(RoleKind::reader) | set_of(RoleKind::console_reader) | k_author | k_operator;
// Whoever may see numbers; without pg_monitor those of what it may see.
inline constexpr RoleKinds k_watcher = set_of(RoleKind::console_reader) | k_operator | k_monitoring;
// Whoever runs workflows and acts on their runs.
inline constexpr RoleKinds k_runner = k_author | k_operator;

} // namespace kinds

inline constexpr auto k_grantable_functions = [] {
    using namespace kinds;
    return std::to_array<Grantable>({
        // tasks
        {"submit", k_client},
        {"submit_bulk", k_client},
        {"submit_many", k_client | k_scheduler | k_author | k_console},
        {"cancel", k_client | k_scheduler | k_operator},
        {"cancel_many", k_client | k_operator},
        {"reschedule", k_client | k_operator},
        {"set_priority", k_client | k_operator},
        {"resubmit", k_client | k_operator},
        {"resubmit_many", k_client | k_operator},
        {"resubmit_matching", k_client | k_operator},
        {"yield_many", k_operator},
        {"delete_task", k_queue_owner},
        {"get_task", k_client | k_reader},
        {"list_tasks", k_client | k_reader},
        {"find_tasks", k_client | k_reader},
        {"dead_tasks", k_client | k_reader},
        {"explain_waiting", k_client | k_reader},
        {"has_live_tasks", k_worker | k_client | k_reader},
        {"count_tasks", k_reader | k_monitoring},
        // leases
        {"lease", k_worker},
        {"lease_task", k_worker},
        {"heartbeat", k_worker},
        {"heartbeat_many", k_worker},
        {"complete", k_worker},
        {"complete_many", k_worker},
        {"complete_and_lease", k_worker},
        {"abort", k_worker},
        {"fail", k_worker},
        {"yield", k_worker},
        {"not_yet", k_worker},
        {"defer", k_worker},
        {"set_output", k_worker},
        {"wait", k_worker},
        {"wait_any", k_worker},
        {"work", k_worker},
        {"register_worker", k_worker},
        {"backoff", k_worker},
        {"report_usage", k_worker},
        // plans
        {"create_plan", k_client | k_scheduler | k_author | k_console},
        {"open_plan", k_client | k_scheduler | k_runner},
        {"cancel_plan", k_client | k_scheduler | k_runner},
        {"rerun_plan", k_client | k_runner},
        {"wait_plan", k_client},
        {"set_plan_owner", k_client | k_author},
        {"plan_completed", k_client | k_reader},
        {"plan_dot", k_client | k_reader},
        {"plan_mermaid", k_client | k_reader},
        {"plan_timeline", k_client | k_reader},
        // conditions
        {"create_callback", k_client},
        {"resolve_callback", k_client},
        {"reject_callback", k_client},
        {"send_signal", k_client},
        {"grant_signal", k_author | k_queue_owner},
        {"revoke_signal", k_author | k_queue_owner},
        {"set_signal_owner", k_author | k_queue_owner},
        {"create_trigger", k_author},
        {"drop_trigger", k_author},
        {"pause_trigger", k_runner},
        {"resume_trigger", k_runner},
        {"clear_trigger", k_runner},
        // jobs
        {"define_job", k_author},
        {"drop_job", k_author},
        {"grant_job", k_author},
        {"revoke_job", k_author},
        {"run_job", k_client | k_scheduler | k_runner},
        {"explain_job", k_client | k_reader},
        {"mark_fresh", k_runner},
        {"forget_freshness", k_runner},
        {"job_dot", k_reader},
        {"job_mermaid", k_reader},
        // schedules
        {"schedule", k_scheduler},
        {"schedule_plan", k_scheduler},
        {"schedule_job", k_scheduler},
        {"unschedule", k_scheduler},
        {"arm_schedules", k_scheduler},
        {"cron_next", k_scheduler | k_reader},
        // workflows
        {"validate_workflow", k_author},
        {"sel_eval", k_author},
        {"interpolate", k_author},
        {"create_workflow", k_author},
        {"alter_workflow", k_author},
        {"drop_workflow", k_author},
        {"grant_workflow", k_author},
        {"revoke_workflow", k_author},
        {"create_job_template", k_author},
        {"drop_job_template", k_author},
        {"activate_workflow", k_runner},
        {"deactivate_workflow", k_runner},
        {"start_workflow", k_client | k_runner},
        {"start_workflows", k_client | k_runner},
        {"stop_run", k_client | k_runner},
        {"kill_run", k_runner},
        {"restart_run", k_runner},
        {"unblock_run", k_runner},
        {"stop_workflow", k_runner},
        {"kill_workflow", k_runner},
        {"pause_workflow", k_runner},
        {"resume_workflow", k_runner},
        {"unblock_workflow", k_runner},
        {"stop_step", k_runner},
        {"kill_step", k_runner},
        {"skip_step", k_runner},
        {"restart_step", k_runner},
        {"bypass_step", k_runner},
        {"pause_step", k_runner},
        {"resume_step", k_runner},
        {"set_breakpoint", k_runner},
        {"drop_breakpoint", k_runner},
        {"backfill", k_runner},
        {"preview_backfill", k_runner},
        {"pause_backfill", k_runner},
        {"resume_backfill", k_runner},
        {"cancel_backfill", k_runner},
        {"explain_run", k_client | k_reader},
        {"failed_steps", k_client | k_reader},
        {"run_tree", k_reader},
        {"workflow_dot", k_reader},
        {"workflow_mermaid", k_reader},
        {"run_dot", k_reader},
        {"run_mermaid", k_reader},
        {"run_gantt", k_reader},
        {"lineage_dot", k_reader},
        {"lineage_mermaid", k_reader},
        // queues and pools
        {"create_queue", k_queue_owner},
        {"alter_queue", k_queue_owner},
        {"drop_queue", k_queue_owner},
        {"grant_queue", k_queue_owner},
        {"revoke_queue", k_queue_owner},
        {"set_queue_owner", k_queue_owner},
        {"pause_queue", k_operator | k_queue_owner},
        {"resume_queue", k_operator | k_queue_owner},
        {"run_sql", k_queue_owner},
        {"create_pool", k_queue_owner},
        {"alter_pool", k_queue_owner},
        {"drop_pool", k_queue_owner},
        {"grant_pool", k_queue_owner},
        {"revoke_pool", k_queue_owner},
        {"place", k_queue_owner},
        {"drain_pool", k_operator | k_queue_owner},
        {"resume_pool", k_operator | k_queue_owner},
        {"list_pool_queue", k_reader | k_queue_owner},
        // events and statistics; functions with _ are called by the views as their reader
        {"read_events", k_event_reader},
        {"read_workflow_events", k_event_reader},
        {"stat_reset", k_queue_owner},
        {"quantile", k_reader | k_monitoring},
        {"metrics", k_watcher},
        {"_stat_queues", k_watcher},
        {"_stat_waits", k_watcher},
        {"_stat_monitor", k_watcher},
        {"_failing_duties", k_watcher},
        {"_heads", k_watcher},
        {"_server_workers", k_monitoring},
        {"_databases", k_monitoring},
        // what acts on the whole database, whoever owns what is in it
        {"advance", 0},
        {"maintain", 0},
        {"purge", 0},
        {"reset_expired", 0},
        {"run_schedules", 0}, // and may hold up the schedules of others
        {"check", 0},         // reads every row, of all owners
        // what decides on the rights of roles
        {"grant_role", 0},
        {"revoke_role", 0},
        {"role_kinds", 0},
    });
}();

inline constexpr auto k_grantable_views = [] {
    using namespace kinds;
    return std::to_array<Grantable>({
        {"task", k_client | k_reader},
        {"resubmissions", k_client | k_reader},
        {"plan", k_client | k_reader},
        {"plan_task", k_client | k_reader},
        {"queue_settings", k_client | k_reader | k_queue_owner},
        {"queue_grants", k_client | k_reader | k_queue_owner},
        {"condition", k_reader},
        {"signal", k_reader},
        {"signal_grants", k_reader | k_queue_owner},
        {"trigger", k_reader},
        {"trigger_signal", k_reader},
        {"trigger_failure", k_reader},
        {"pool", k_reader | k_queue_owner},
        {"pool_history", k_reader | k_queue_owner},
        {"pool_queue", k_reader | k_queue_owner},
        {"pool_reservation", k_reader | k_queue_owner},
        {"job_type", k_reader},
        {"job_freshness", k_reader},
        {"job_plan", k_reader},
        {"schedules", k_scheduler | k_reader},
        {"workflow", k_client | k_reader},
        {"workflow_version", k_reader},
        {"workflow_properties_history", k_reader},
        {"job_template", k_reader},
        {"workflow_run", k_client | k_reader},
        {"workflow_step", k_client | k_reader},
        {"workflow_step_attempt", k_client | k_reader},
        {"workflow_loop_iteration", k_reader},
        {"workflow_param", k_client | k_reader},
        {"workflow_rollup", k_client | k_reader},
        {"workflow_timeline", k_reader},
        {"workflow_lineage", k_reader},
        {"workflow_action", k_reader},
        {"workflow_breakpoint", k_reader},
        {"workflow_backfill", k_reader},
        {"workflow_backfill_item", k_reader},
        {"stat_queue", k_watcher},
        {"stat_worker", k_watcher},
        {"stat_waiting", k_watcher},
        {"stat_trigger", k_watcher},
        {"stat_workflow", k_watcher},
        {"stat_pool", k_watcher},
        {"stat_heads", k_watcher},
        {"stat_monitor", k_watcher},
        {"stat_clock", k_watcher},
        {"stat_server_worker", k_monitoring},
        {"stat_database", k_monitoring},
    });
}();

constexpr const Grantable *find(std::span<const Grantable> among, std::string_view name) noexcept {
    for (const Grantable &one : among)
        if (one.name == name)
            return &one;
    return nullptr;
}

} // namespace scylla::model
