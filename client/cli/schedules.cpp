// job schedule. schedule: set, plan, list, get, remove, next, arm, run.
#include <iostream>

#include "commands.h"
#include "settings.h"

namespace scylla::cli {

int set_schedule(const context &given, const schedule_options &options) {
    session server{given.connection};
    call schedule{"scylla.schedule"};
    schedule.argument("name", options.name)
        .argument("cron", options.cron)
        .argument("queue", options.queue)
        .argument("spec", options.spec);
    add_settings(schedule, options.settings);
    std::cout << server.ask("select " + schedule.sql(), schedule.values()).value_or("never") << '\n';
    return 0;
}

int set_plan_schedule(const context &given, const plan_schedule_options &options) {
    session server{given.connection};
    call schedule{"scylla.schedule_plan"};
    schedule.argument("name", options.name).argument("cron", options.cron).argument("tasks", options.tasks);
    add_settings(schedule, options.settings);
    std::cout << server.ask("select " + schedule.sql(), schedule.values()).value_or("never") << '\n';
    return 0;
}

int set_job_schedule(const context &given, const job_schedule_options &options) {
    session server{given.connection};
    call schedule{"scylla.schedule_job"};
    schedule.argument("name", options.name).argument("cron", options.cron).argument("job", options.job);
    add_settings(schedule, options.settings);
    std::cout << server.ask("select " + schedule.sql(), schedule.values()).value_or("never") << '\n';
    return 0;
}

int list_schedules(const context &given) {
    session server{given.connection};
    show(server,
         given.json
             ? "select * from scylla.schedules order by name"
             : "select name, cron, timezone, queue, armed, next_run, last_run, runs, skipped, missed, last_error "
               "from scylla.schedules order by name",
         {}, given.rows());
    return 0;
}

int get_schedule(const context &given, const std::string &name) {
    session server{given.connection};
    if (server.ask("select exists (select from scylla.schedules where name = $1)", {name}) != "t")
        throw failure{"schedule \"" + name + "\" does not exist"};
    show(server, "select * from scylla.schedules where name = $1", {name}, given.record());
    return 0;
}

int remove_schedule(const context &given, const std::string &name) {
    session{given.connection}.query("select scylla.unschedule($1)", {name});
    return 0;
}

int show_next(const context &given, const next_options &options) {
    session server{given.connection};
    show(server,
         "with recursive times(i, planned) as ("
         "  select 1, scylla.cron_next($1, timezone => coalesce($2, 'UTC')) "
         "  union all select i + 1, scylla.cron_next($1, planned, coalesce($2, 'UTC')) from times where i < $3 and "
         "planned is not null"
         ") select planned from times where planned is not null order by i",
         {options.cron, options.timezone, std::to_string(options.count)}, given.rows());
    return 0;
}

int arm_schedules(const context &given) {
    std::cout << *session{given.connection}.ask("select scylla.arm_schedules()") << '\n';
    return 0;
}

int run_schedules(const context &given) {
    std::cout << *session{given.connection}.ask("select scylla.run_schedules()") << '\n';
    return 0;
}

} // namespace scylla::cli
