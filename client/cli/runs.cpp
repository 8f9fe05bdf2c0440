// workflow: start, start-many, unblock; run: list, show, restart, stop, kill, unblock.
#include <iostream>

#include "commands.h"
#include "output.h"
#include "yaml.h"

namespace scylla::cli {

int start_workflow(const context &given, const start_workflow_options &options) {
    session server{given.connection};
    show(
        server,
        "select code, instance, run, status from scylla.start_workflow($1, $2::jsonb, version => $3, request_id => $4)",
        {options.workflow, options.params.value_or("{}"), options.version.value_or("active"), options.request_id},
        given.record());
    return 0;
}

int start_workflows(const context &given, const std::string &file) {
    const std::string requests = read_definition(file);
    session server{given.connection};
    show(server, "select code, workflow, instance, run, status from scylla.start_workflows($1::jsonb)", {requests},
         given.rows());
    return 0;
}

int list_runs(const context &given, const list_runs_options &options) {
    session server{given.connection};
    const std::string columns = given.json ? "*"
                                           : "workflow, instance, run, version, status, date_trunc('second', created) "
                                             "as created, date_trunc('second', ended) as ended";
    show(server,
         "select " + columns +
             " from scylla.workflow_run where ($1::text is null or workflow = $1) and ($2::text is null or status = "
             "upper($2)) order by created desc, instance desc limit $3::bigint",
         {options.workflow, options.status, options.limit.value_or("20")}, given.rows());
    return 0;
}

void require_run(session &server, const run_options &options) {
    const auto there =
        server.ask("select exists (select from scylla.workflow_run where workflow = $1 and instance = $2::bigint)",
                   {options.workflow, options.instance});
    if (there != "t")
        throw failure{"workflow \"" + options.workflow + "\" has no instance " + options.instance};
}

int show_run(const context &given, const run_options &options) {
    session server{given.connection};
    require_run(server, options);
    const std::string columns = given.json ? "*"
                                           : "run, step, iterations, attempt, status, started, ended, coalesce(error "
                                             "->> 'message', error ->> 'description', error ->> 'code') as error";
    show(server,
         "select " + columns +
             " from scylla.workflow_step where workflow = $1 and instance = $2::bigint order by run, created, step, "
             "iterations",
         {options.workflow, options.instance}, given.rows());
    return 0;
}

int restart_run(const context &given, const restart_run_options &options) {
    const char *policy = options.from_beginning ? "RESTART_FROM_BEGINNING"
                         : options.from         ? "RESTART_FROM_SPECIFIC"
                                                : "RESTART_FROM_INCOMPLETE";
    session server{given.connection};
    show(server,
         "select code, of_workflow as workflow, of_instance as instance, run, status from scylla.restart_run($1, "
         "$2::bigint, $3, $4::jsonb, $5::jsonb, $6::text[], $7, $8::bool)",
         {options.workflow, options.instance, policy, options.params.value_or("{}"), options.step_params.value_or("{}"),
          array_literal(options.skipped), options.from, std::string{options.alone ? "t" : "f"}},
         given.record());
    return 0;
}

int stop_run(const context &given, const run_options &options) {
    session{given.connection}.query("select scylla.stop_run($1, $2::bigint)", {options.workflow, options.instance});
    return 0;
}

int kill_run(const context &given, const run_options &options) {
    session{given.connection}.query("select scylla.kill_run($1, $2::bigint)", {options.workflow, options.instance});
    return 0;
}

int unblock_run(const context &given, const run_options &options) {
    session{given.connection}.query("select scylla.unblock_run($1, $2::bigint)", {options.workflow, options.instance});
    return 0;
}

int unblock_workflow(const context &given, const std::string &workflow) {
    std::cout << *session{given.connection}.ask("select scylla.unblock_workflow($1)", {workflow}) << '\n';
    return 0;
}

} // namespace scylla::cli
