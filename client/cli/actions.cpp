// workflow: stop, kill; step: stop, kill, skip.
#include <iostream>

#include "commands.h"
#include "output.h"

namespace scylla::cli {
namespace {

int on_runs(const context &given, const std::string &function, const std::string &workflow) {
    std::cout << *session{given.connection}.ask("select scylla." + function + "($1)", {workflow}) << '\n';
    return 0;
}

// Prints the id of the action; nothing if the step is already so.
int on_step(const context &given, const std::string &function, const step_options &options) {
    std::string iterations;
    for (const std::string &number : options.iterations)
        iterations += (iterations.empty() ? "" : ",") + number;
    const auto action =
        session{given.connection}.ask("select scylla." + function + "($1, $2::bigint, $3, $4::bigint[])",
                                      {options.workflow, options.instance, options.step, "{" + iterations + "}"});
    if (action)
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

} // namespace scylla::cli
