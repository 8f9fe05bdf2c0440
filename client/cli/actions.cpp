// workflow: stop, kill, pause, resume; step: stop, kill, skip, restart, bypass, pause, resume; breakpoint: set, drop,
// list.
#include <iostream>

#include "commands.h"
#include "output.h"

namespace scylla::cli {
namespace {

int on_runs(const context &given, const std::string &function, const std::string &workflow) {
    std::cout << *session{given.connection}.ask("select scylla." + function + "($1)", {workflow}) << '\n';
    return 0;
}

std::string numbers_of(const step_options &options) {
    std::string iterations;
    for (const std::string &number : options.iterations)
        iterations += (iterations.empty() ? "" : ",") + number;
    return "{" + iterations + "}";
}

// Prints the id of the action, if there is one.
int on_step(const context &given, const std::string &function, const step_options &options) {
    const auto action =
        session{given.connection}.ask("select scylla." + function + "($1, $2::bigint, $3, $4::bigint[])",
                                      {options.workflow, options.instance, options.step, numbers_of(options)});
    if (action && !action->empty())
        std::cout << *action << '\n';
    return 0;
}

} // namespace

int stop_workflow(const context &given, const std::string &workflow) {
    return on_runs(given, "stop_workflow", workflow);
}
int kill_workflow(const context &given, const std::string &workflow) {
    return on_runs(given, "kill_workflow", workflow);
}

int stop_step(const context &given, const step_options &options) { return on_step(given, "stop_step", options); }
int kill_step(const context &given, const step_options &options) { return on_step(given, "kill_step", options); }
int skip_step(const context &given, const step_options &options) { return on_step(given, "skip_step", options); }
int restart_step(const context &given, const restart_step_options &options) {
    std::cout << *session{given.connection}.ask(
                     "select scylla.restart_step($1, $2::bigint, $3, $4::bigint[], $5::bool)",
                     {options.workflow, options.instance, options.step, numbers_of(options),
                      std::string{options.alone ? "t" : "f"}})
              << '\n';
    return 0;
}
int bypass_step(const context &given, const step_options &options) { return on_step(given, "bypass_step", options); }
int pause_step(const context &given, const step_options &options) { return on_step(given, "pause_step", options); }
int resume_step(const context &given, const step_options &options) { return on_step(given, "resume_step", options); }

int pause_workflow(const context &given, const std::string &workflow) {
    session{given.connection}.query("select scylla.pause_workflow($1)", {workflow});
    return 0;
}
int resume_workflow(const context &given, const std::string &workflow) {
    session{given.connection}.query("select scylla.resume_workflow($1)", {workflow});
    return 0;
}

int set_breakpoint(const context &given, const breakpoint_options &options) {
    session{given.connection}.query("select scylla.set_breakpoint($1, $2, $3::int, $4::bigint, $5::int)",
                                    {options.workflow, options.step, options.version, options.instance, options.run});
    return 0;
}
int drop_breakpoint(const context &given, const drop_breakpoint_options &options) {
    const breakpoint_options &key = options.key;
    session{given.connection}.query(
        "select scylla.drop_breakpoint($1, $2, $3::int, $4::bigint, $5::int, $6::bool)",
        {key.workflow, key.step, key.version, key.instance, key.run, std::string{options.resume ? "t" : "f"}});
    return 0;
}
int list_breakpoints(const context &given, const maybe_text &workflow) {
    session server{given.connection};
    const std::string columns = given.json ? "*"
                                           : "workflow, step, version, instance, run, iterations, kind, author, "
                                             "date_trunc('second', created) as created";
    show(
        server,
        "select " + columns +
            " from scylla.workflow_breakpoint where $1::text is null or workflow = $1 order by workflow, step, created",
        {workflow}, given.rows());
    return 0;
}

} // namespace scylla::cli
