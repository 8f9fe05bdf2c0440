// The command line of schedules.
#include "syntax.h"

namespace scylla::cli {
namespace {

class schedule_syntax : syntax {
public:
    using syntax::syntax;

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
        {
            auto [command, file] =
                add<std::string>(*schedule, "sync",
                                 "Set the schedules of a file, and remove all others of this role: all, or none.\n\n"
                                 "Prints what it has set, with the first planned time, and removed.",
                                 sync_schedules);
            argument(command, "FILE", *file,
                     "YAML or JSON: an array of objects with name, cron, and queue and spec, tasks, or job, and other "
                     "arguments of scylla.schedule(), schedule_plan() or schedule_job(). \"-\" is standard input.")
                ->required();
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

private:
    void one_schedule(CLI::App &parent, const char *name, const char *description,
                      command_function<std::string> function) {
        auto [command, schedule] = add(parent, name, description, function);
        argument(command, "NAME", *schedule, "Name of the schedule.")->required();
    }
};

} // namespace

void describe_schedules(tool &of) {
    schedule_syntax own{of};
    own.add_schedules();
}

} // namespace scylla::cli
