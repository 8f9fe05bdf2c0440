// workflow: validate, push, list, stat, versions, show, activate, deactivate, alter, grant, revoke, drop.
#include <iostream>

#include "commands.h"
#include "json_text.h"
#include "output.h"
#include "settings.h"
#include "workflow_dsl.h"
#include "yaml.h"

namespace scylla::cli {

int validate_workflow(const context &given, const std::string &file) {
    constexpr const char *k_problems = "select place, problem from scylla.validate_workflow($1::jsonb)";
    const std::string definition = expand_workflow(read_definition(file), file);
    session server{given.connection};
    const bool sound = server.query(k_problems, {definition}).cells.empty();
    if (given.json || !sound)
        show(server, k_problems, {definition}, given.rows());
    return sound ? 0 : 1;
}

int push_workflow(const context &given, const push_workflow_options &options) {
    const std::string definition = expand_workflow(read_definition(options.file), options.file);
    std::cout << *session{given.connection}.ask("select scylla.create_workflow($1::jsonb, $2::bool)",
                                                {definition, options.inactive ? "f" : "t"})
              << '\n';
    return 0;
}

int list_workflows(const context &given) {
    session server{given.connection};
    show(server,
         given.json ? "select * from scylla.workflow order by id"
                    : "select id, active_version as active, latest_version as latest, strategy || case when strategy = "
                      "'PARALLEL' then '(' || concurrency || ')' else '' end as strategy, owner, date_trunc('second', "
                      "modified) as modified from scylla.workflow order by id",
         {}, given.rows());
    return 0;
}

int stat_workflows(const context &given, const maybe_text &workflow) {
    session server{given.connection};
    show(server,
         given.json ? "select * from scylla.stat_workflow where $1::text is null or workflow = $1 order by workflow"
                    : "select workflow, queued, running, failed, steps_running as \"steps running\", "
                      "steps_waiting_for_signals + steps_waiting_for_permits + steps_paused as waiting, "
                      "steps_retrying as retrying, steps_failed as \"steps failed\", agenda from scylla.stat_workflow "
                      "where $1::text is null or workflow = $1 order by workflow",
         {workflow}, given.rows());
    return 0;
}

namespace {

void require_workflow(session &server, const std::string &workflow) {
    if (server.ask("select exists (select from scylla.workflow where id = $1)", {workflow}) != "t")
        throw failure{"workflow \"" + workflow + "\" does not exist"};
}

} // namespace

int list_workflow_versions(const context &given, const std::string &workflow) {
    session server{given.connection};
    require_workflow(server, workflow);
    show(server,
         given.json ? "select * from scylla.workflow_version where workflow = $1 order by version"
                    : "select version, is_active as active, author, date_trunc('second', created) as created from "
                      "scylla.workflow_version where workflow = $1 order by version",
         {workflow}, given.rows());
    return 0;
}

int show_workflow(const context &given, const workflow_version_options &options) {
    constexpr const char *k_document = R"(
        select jsonb_pretty(v.metadata || jsonb_build_object('properties', w.properties, 'workflow', v.definition))
        from scylla.workflow w join scylla.workflow_version v on v.workflow = w.id
        where w.id = $1 and v.version::text = case lower($2) when 'active' then w.active_version::text when 'latest' then w.latest_version::text
            when 'default' then coalesce(w.active_version, w.latest_version)::text else $2 end)";
    session server{given.connection};
    require_workflow(server, options.workflow);
    const std::string version = options.version.value_or("default");
    const auto found = server.query(k_document, {options.workflow, version}).cells;
    if (found.empty())
        throw failure{"workflow \"" + options.workflow + "\" has no version \"" + version + "\""};
    std::cout << *found[0][0] << '\n';
    return 0;
}

int activate_workflow(const context &given, const workflow_version_options &options) {
    session{given.connection}.query("select scylla.activate_workflow($1, $2::int)",
                                    {options.workflow, options.version});
    return 0;
}

int deactivate_workflow(const context &given, const std::string &workflow) {
    session{given.connection}.query("select scylla.deactivate_workflow($1)", {workflow});
    return 0;
}

int alter_workflow(const context &given, const alter_workflow_options &options) {
    std::string changes;
    for (const std::string &word : options.changes) {
        const setting wanted = parse_setting(word);
        changes += (changes.empty() ? "{" : ", ") + quote(wanted.name) + ": " +
                   (is_jsonb(wanted.text) ? wanted.text : quote(wanted.text));
    }
    session{given.connection}.query("select scylla.alter_workflow($1, $2::jsonb)", {options.workflow, changes + "}"});
    return 0;
}

int grant_workflow(const context &given, const workflow_grant_options &options) {
    session{given.connection}.query("select scylla.grant_workflow($1, $2, $3)",
                                    {options.workflow, options.role, options.privilege});
    return 0;
}

int revoke_workflow(const context &given, const workflow_grant_options &options) {
    session{given.connection}.query("select scylla.revoke_workflow($1, $2, $3)",
                                    {options.workflow, options.role, options.privilege});
    return 0;
}

int drop_workflow(const context &given, const std::string &workflow) {
    session{given.connection}.query("select scylla.drop_workflow($1)", {workflow});
    return 0;
}

} // namespace scylla::cli
