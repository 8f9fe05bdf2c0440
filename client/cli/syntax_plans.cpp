// The command line of plans.
#include "syntax.h"

namespace scylla::cli {
namespace {

class plan_syntax : syntax {
public:
    using syntax::syntax;

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
            duration(command, "--timeout", o->timeout, "Wait at most for this long. Default: no limit.");
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
                "Run a plan again that has ended: all its tasks, or its job if it belongs to one.\n\n"
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

private:
    void one_plan(CLI::App &parent, const char *name, const char *description, command_function<std::string> function) {
        auto [command, plan] = add(parent, name, description, function);
        argument(command, "NAME", *plan, "Name of the plan.")->required();
    }

    void drawing(CLI::App &parent, const char *name, const char *description,
                 command_function<draw_plan_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "NAME", o->plan, "Name of the plan.")->required();
        option(command, "--max-tasks", o->max_tasks, "N",
               "If there are more tasks, draw similar tasks as one node. Default: 200.");
    }
};

} // namespace

void describe_plans(tool &of) {
    plan_syntax own{of};
    own.add_plans();
}

} // namespace scylla::cli
