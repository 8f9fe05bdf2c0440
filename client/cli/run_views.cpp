// workflow: dot, mermaid; run: tree, failed, rollup, timeline, dot, mermaid, gantt, lineage.
#include <iostream>

#include "commands.h"

namespace scylla::cli {

namespace {

int print(const context &given, const call &draw) {
    std::cout << *session{given.connection}.ask("select " + draw.sql(), draw.values()) << '\n';
    return 0;
}

} // namespace

int show_run_tree(const context &given, const view_run_options &options) {
    session server{given.connection};
    const std::string columns =
        "repeat('  ', depth) || case kind when 'iteration' then 'iteration ' || name || coalesce(' ' "
        "|| (params - 'loop_index')::text, '') when 'iterations' then count || ' iterations' else "
        "name end as step, status, attempt, started, "
        "date_trunc('second', coalesce(ended, now()) - started) as time, "
        "coalesce(nullif(error ->> 'message', ''), error ->> 'code') as error";
    show(server,
         "select " + (given.json ? "*" : columns) + " from scylla.run_tree($1, $2::bigint, $3::int, $4::boolean)",
         {options.workflow, options.instance, options.max_iterations, options.failed_first ? "true" : "false"},
         given.rows());
    return 0;
}

int show_failed_steps(const context &given, const failed_steps_options &options) {
    session server{given.connection};
    const std::string columns =
        "workflow_id || '/' || instance_id as run, step, iterations, attempt, status, ended, task, "
        "concat_ws(' ', error_message, coalesce(error ->> 'log_url', params ->> 'log_url')) as error";
    show(server, "select " + (given.json ? "*" : columns) + " from scylla.failed_steps($1, $2::bigint, $3::int)",
         {options.workflow, options.instance, options.limit}, given.rows());
    return 0;
}

int explain_run(const context &given, const explain_run_options &options) {
    session server{given.connection};
    const std::string columns =
        "workflow_id || '/' || instance_id as run, step_id as step, iterations, waits_for, since, until, detail";
    show(server, "select " + (given.json ? "*" : columns) + " from scylla.explain_run($1, $2::bigint, $3, $4::int)",
         {options.workflow, options.instance, options.step, options.limit}, given.rows());
    return 0;
}

int show_run_rollup(const context &given, const run_options &options) {
    session server{given.connection};
    require_run(server, options);
    const std::string rollup = " from scylla.workflow_rollup r";
    const std::string of = " where r.workflow = $1 and r.instance = $2::bigint";
    // The names of leaves, without the instance if they are of this one.
    const std::string leaves =
        "(select string_agg(case when f.key = r.workflow || ':' || r.run then split_part(n, ':', 2) || ':' || "
        "split_part(n, ':', 3) else f.key || ' ' || n end, ' ') from jsonb_each(s.value -> 'ref') f, "
        "jsonb_array_elements_text(f.value) n)";
    show(server,
         given.json ? "select *" + rollup + of
                    : "select s.key as status, s.value ->> 'cnt' as leaves, concat_ws(' ', " + leaves +
                          ", '(' || (s.value ->> 'more') || ' more)') as which" + rollup +
                          ", jsonb_each(r.overview) s" + of + " order by s.key",
         {options.workflow, options.instance}, given.rows());
    return 0;
}

int show_run_timeline(const context &given, const timeline_options &options) {
    session server{given.connection};
    require_run(server, options);
    const std::string columns = given.json ? "*" : "at, run, step, iterations, attempt, type, message";
    show(server,
         "select " + columns +
             " from (select * from scylla.workflow_timeline where workflow = $1 and instance = $2::bigint and "
             "step is not distinct from coalesce($3, step) order by at desc, step desc nulls last, iterations desc, "
             "attempt desc limit $4::int) t order by at, step nulls first, iterations, attempt",
         {options.workflow, options.instance, options.step, options.limit.value_or("1000")}, given.rows());
    return 0;
}

int draw_run_as_dot(const context &given, const run_options &options) {
    return print(given,
                 call{"scylla.run_dot"}.argument("workflow", options.workflow).argument("instance", options.instance));
}

int draw_run_as_mermaid(const context &given, const run_options &options) {
    return print(
        given,
        call{"scylla.run_mermaid"}.argument("workflow", options.workflow).argument("instance", options.instance));
}

int draw_run_as_gantt(const context &given, const view_run_options &options) {
    return print(given, call{"scylla.run_gantt"}
                            .argument("workflow", options.workflow)
                            .argument("instance", options.instance)
                            .argument("max_iterations", options.max_iterations));
}

int draw_lineage(const context &given, const lineage_options &options) {
    return print(given, call{options.mermaid ? "scylla.lineage_mermaid" : "scylla.lineage_dot"}
                            .argument("workflow", options.workflow)
                            .argument("instance", options.instance)
                            .argument("max_signals", options.max_signals));
}

int draw_workflow_as_dot(const context &given, const workflow_version_options &options) {
    return print(
        given, call{"scylla.workflow_dot"}.argument("workflow", options.workflow).argument("version", options.version));
}

int draw_workflow_as_mermaid(const context &given, const workflow_version_options &options) {
    return print(
        given,
        call{"scylla.workflow_mermaid"}.argument("workflow", options.workflow).argument("version", options.version));
}

} // namespace scylla::cli
