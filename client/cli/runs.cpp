// workflow: start, start-many, unblock; run: list, show, actions, restart, stop, kill, unblock.
#include <iostream>

#include "commands.h"
#include "json_text.h"
#include "output.h"
#include "yaml.h"

namespace scylla::cli {
namespace {

// The arrays of two equal sizes of which `k_given_params` makes an object.
struct given_params {
    std::vector<std::string> names;
    std::vector<std::string> texts;
};

given_params parse_params(const std::vector<std::string> &words) {
    given_params given;
    for (const std::string &word : words) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            throw usage_failure{
                "\"" + word + "\" is no parameter", {}, "Write a parameter as name=value, for example day=20260301."};
        given.names.push_back(word.substr(0, equals));
        given.texts.push_back(word.substr(equals + 1));
        for (std::size_t i = 0; i + 1 < given.names.size(); i++)
            if (given.names[i] == given.names.back())
                throw usage_failure{"the parameter \"" + given.names.back() + "\" is given twice"};
    }
    return given;
}

// The type in the definition decides whether 20260301 is a number or a text. What is not in the definition, or no
// STRING there, is JSON where $3 says so.
constexpr const char *k_given_params = R"(
    select coalesce(jsonb_object_agg(g.name, case when g.is_json and t.type is distinct from 'STRING' then g.text::jsonb else to_jsonb(g.text) end), '{}')
    from unnest($3::text[], $4::text[], $5::bool[]) g (name, text, is_json)
    left join lateral (
        select upper(v.definition #>> array['params', g.name, 'type']) as type
        from scylla.workflow w join scylla.workflow_version v on v.workflow = w.id
        where w.id = $1 and v.version::text = case lower($2) when 'active' then w.active_version::text when 'latest' then w.latest_version::text
            when 'default' then coalesce(w.active_version, w.latest_version)::text else $2 end) t on true)";

std::string params_of(session &server, const start_workflow_options &options, const std::string &version) {
    const std::string object = options.params.value_or("{}");
    if (options.given.empty())
        return object;
    const given_params given = parse_params(options.given);
    std::vector<std::string> is_json;
    for (const std::string &text : given.texts)
        is_json.emplace_back(is_jsonb(text) ? "t" : "f");
    const auto words = server.ask(k_given_params, {options.workflow, version, array_literal(given.names),
                                                   array_literal(given.texts), array_literal(is_json)});
    return *server.ask("select $1::jsonb || $2::jsonb", {object, words});
}

} // namespace

int start_workflow(const context &given, const start_workflow_options &options) {
    session server{given.connection};
    const std::string version = options.version.value_or("active");
    show(
        server,
        "select code, instance, run, status from scylla.start_workflow($1, $2::jsonb, version => $3, request_id => $4, "
        "step_params => $5::jsonb)",
        {options.workflow, params_of(server, options, version), version, options.request_id,
         options.step_params.value_or("{}")},
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
                                             "as created, date_trunc('second', ended) as ended, "
                                             "nullif(request, '{}') as params";
    show(server,
         "select " + columns +
             " from scylla.workflow_run r where ($1::text is null or workflow = $1) and ($2::text is null or status = "
             "upper($2)) and (not $3::bool or instance_status in ('FAILED', 'TIMED_OUT') and not exists (select from "
             "scylla.workflow_run l where l.workflow = r.workflow and l.instance = r.instance and l.run > r.run)) "
             "order by created desc, instance desc limit $4::bigint",
         {options.workflow, options.status, std::string{options.failed ? "t" : "f"}, options.limit.value_or("20")},
         given.rows());
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
                                           : "run, step, iterations, attempt, status, started, ended, "
                                             "error_message as error";
    show(server,
         "select " + columns +
             " from scylla.workflow_step where workflow = $1 and instance = $2::bigint order by run, created, step, "
             "iterations",
         {options.workflow, options.instance}, given.rows());
    return 0;
}

int show_run_actions(const context &given, const run_options &options) {
    session server{given.connection};
    require_run(server, options);
    const std::string columns =
        given.json ? "*" : "id, run, step, iterations, attempt, action, role, created, done, outcome";
    show(server,
         "select " + columns +
             " from scylla.workflow_action where workflow = $1 and instance = $2::bigint order by id desc",
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
