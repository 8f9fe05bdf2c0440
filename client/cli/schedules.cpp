// job schedule. schedule: set, plan, sync, list, get, remove, next, arm, run.
#include <algorithm>
#include <iostream>

#include "commands.h"
#include "duration.h"
#include "json_tree.h"
#include "settings.h"
#include "yaml.h"

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

namespace {

using kind = json_node::kind;

[[noreturn]] void refuse_entry(const std::string &file, std::size_t place, const std::string &what) {
    throw failure{
        "schedule " + std::to_string(place + 1) + " of \"" + file + "\" " + what,
        {},
        "It must have name, cron, one of queue, tasks and job, and may have other arguments of scylla.schedule(), "
        "schedule_plan() or schedule_job()."};
}

// The call that sets the schedule of an entry: of a job, a plan or a task.
call call_of(session &server, const json_node &entry, const std::string &file, std::size_t place) {
    const auto has_text = [&](const char *name) {
        const json_node *found = entry.type == kind::object ? entry.given(name) : nullptr;
        return found != nullptr && found->type == kind::string;
    };
    if (!has_text("name") || !has_text("cron"))
        refuse_entry(file, place, "has no name, or no cron");
    const std::string function = entry.find("job") != nullptr     ? "scylla.schedule_job"
                                 : entry.find("tasks") != nullptr ? "scylla.schedule_plan"
                                                                  : "scylla.schedule";
    if (function == "scylla.schedule" && entry.find("queue") == nullptr)
        refuse_entry(file, place, "has none of queue, tasks and job");
    if (function == "scylla.schedule" && entry.find("spec") == nullptr)
        refuse_entry(file, place, "has no spec");
    call schedule{function};
    for (std::size_t i = 0; i < entry.names.size(); i++) {
        const std::string &name = entry.names[i];
        const json_node &given = entry.elements[i];
        if (server.ask("select $1 = any (proargnames) from pg_catalog.pg_proc where oid = $2::regproc",
                       {name, function}) != "t")
            refuse_entry(file, place, "has the member \"" + name + "\", which " + function + "() does not know");
        const bool is_json = name == "spec" || name == "tasks" || name == "args" || name == "options";
        if (given.type == kind::null)
            schedule.null(name.c_str());
        else if (is_json)
            schedule.argument(name.c_str(), to_json(given));
        else if (name == "grace" || name == "jitter")
            schedule.argument(name.c_str(), to_interval(name, given.text));
        else
            schedule.argument(name.c_str(), given.text);
    }
    return schedule;
}

} // namespace

// In one transaction, which a failure rolls back.
int sync_schedules(const context &given, const std::string &file) {
    const json_node document = parse_json(read_definition(file));
    if (document.type != kind::array)
        throw failure{"\"" + file + "\" is no array of schedules"};
    session server{given.connection};
    std::vector<std::string> names;
    std::vector<call> calls;
    for (std::size_t i = 0; i < document.elements.size(); i++) {
        calls.push_back(call_of(server, document.elements[i], file, i));
        names.push_back(document.elements[i].find("name")->text);
        if (std::count(names.begin(), names.end(), names.back()) > 1)
            throw failure{"schedule \"" + names.back() + "\" is there twice in \"" + file + "\""};
    }
    server.query("begin");
    std::string done;
    for (std::size_t i = 0; i < calls.size(); i++)
        done += "set " + names[i] + ' ' + server.ask("select " + calls[i].sql(), calls[i].values()).value_or("never") +
                '\n';
    const rows removed = server.query(
        "select s.name, scylla.unschedule(s.name) from scylla.schedules s "
        "where s.owner = current_user and s.workflow is null and s.name <> all ($1::text[]) order by s.name",
        {array_literal(names)});
    server.query("commit");
    for (const auto &row : removed.cells)
        done += "removed " + row[0].value_or("") + '\n';
    std::cout << done;
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
