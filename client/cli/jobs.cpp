// job: define, list, get, run, explain, plans, freshness, graph, mark-fresh, forget, drop.
#include <algorithm>
#include <array>
#include <iostream>
#include <set>

#include "commands.h"
#include "json_text.h"
#include "yaml.h"

namespace scylla::cli {

namespace {

// ---- definitions
// -----------------------------------------------------------------------------------------------------

struct definition {
    std::string job;
    std::string queue;
    std::string settings;
    std::string needs;
    std::vector<std::string> needed; // of the same file
};

// The file is one definition or an array of them. The server parses it.
constexpr const char *k_definitions = R"(
    with file as (select case jsonb_typeof($1::jsonb) when 'array' then $1::jsonb else jsonb_build_array($1::jsonb) end as all_of_it),
         each as (select e.value, e.ordinality from file, jsonb_array_elements(all_of_it) with ordinality e),
         sound as (select each.*, jsonb_typeof(value) = 'object' and jsonb_typeof(value -> 'job') = 'string' and jsonb_typeof(value -> 'queue') = 'string'
                   and not exists (select from jsonb_object_keys(case jsonb_typeof(value) when 'object' then value else '{}' end) k
                                   where k not in ('job', 'queue', 'settings', 'needs')) as is_sound
                   from each)
    select ordinality, is_sound, value ->> 'job', value ->> 'queue', coalesce(value -> 'settings', '{}'), coalesce(value -> 'needs', '[]'),
           (select string_agg(distinct n ->> 'job', E'\n')
            from jsonb_array_elements(case jsonb_typeof(value -> 'needs') when 'array' then value -> 'needs' else '[]' end) n
            where exists (select from each other where other.value ->> 'job' = n ->> 'job'))
    from sound order by ordinality)";

std::vector<std::string> lines_of(const value &text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; text && at <= text->size();) {
        const std::size_t end = std::min(text->find('\n', at), text->size());
        lines.push_back(text->substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

std::vector<definition> read_definitions(session &server, const std::string &file) {
    std::vector<definition> definitions;
    for (const auto &row : server.query(k_definitions, {read_definition(file)}).cells) {
        if (row[1] != "t")
            throw failure{"definition " + row[0].value_or("") + " of \"" + file + "\" is not one of a job",
                          {},
                          R"(It must be {"job": name, "queue": name, "settings": {...}, "needs": [...]}.)"};
        definitions.push_back({*row[2], *row[3], *row[4], *row[5], lines_of(row[6])});
    }
    return definitions;
}

// Each definition after those that it needs.
std::vector<definition> in_order(std::vector<definition> rest) {
    std::vector<definition> ordered;
    std::set<std::string> waiting;
    for (const definition &each : rest)
        if (!waiting.insert(each.job).second)
            throw failure{"job \"" + each.job + "\" is defined twice"};
    while (!rest.empty()) {
        const auto next = std::find_if(rest.begin(), rest.end(), [&](const definition &each) {
            return std::none_of(each.needed.begin(), each.needed.end(),
                                [&](const std::string &needed) { return waiting.count(needed) != 0; });
        });
        if (next == rest.end())
            throw failure{"jobs need each other: job \"" + rest.front().job + "\" and what it needs"};
        waiting.erase(next->job);
        ordered.push_back(std::move(*next));
        rest.erase(next);
    }
    return ordered;
}

// ---- ids
// -------------------------------------------------------------------------------------------------------------

// "1-6,9" as a multirange: {[1,6],[9,9]}. A text that begins with a brace is one already.
std::string multirange(const std::string &ids) {
    if (!ids.empty() && ids.front() == '{')
        return ids;
    const auto refuse = [&] {
        throw usage_failure{"\"" + ids + "\" is no list of ids", {}, "Write 1-6,9, or {[1,7),[9,10)}."};
    };
    const auto is_number = [](const std::string &text) {
        return !text.empty() &&
               std::all_of(text.begin(), text.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
    };
    std::string text = "{";
    for (std::size_t at = 0; at <= ids.size();) {
        const std::size_t end = std::min(ids.find(',', at), ids.size());
        const std::string part = ids.substr(at, end - at);
        const std::size_t dash = part.find('-');
        const std::string first = part.substr(0, dash);
        const std::string last = dash == std::string::npos ? first : part.substr(dash + 1);
        if (!is_number(first) || !is_number(last))
            refuse();
        text += (text.size() > 1 ? ",[" : "[") + first + "," + last + "]";
        at = end + 1;
    }
    return text + "}";
}
maybe_text multirange(const maybe_text &ids) { return ids ? maybe_text{multirange(*ids)} : std::nullopt; }

// ---- runs
// ------------------------------------------------------------------------------------------------------------

std::string options_of(const run_job_options &options) {
    std::string text;
    const auto add = [&](const char *name, const maybe_text &given) {
        if (given)
            text += (text.empty() ? "" : ", ") + quote(name) + ": " + quote(*given);
    };
    add("prune", options.prune);
    add("variant", options.variant);
    add("request_id", options.request_id);
    if (options.strict_order)
        text += (text.empty() ? "" : ", ") + std::string{R"("strict_order": true)"};
    if (options.no_wait)
        text += (text.empty() ? "" : ", ") + std::string{R"("wait": false)"};
    return "{" + text + "}";
}

call call_for_request(const char *function, const run_job_options &options) {
    return call{function}
        .argument("job", options.job)
        .argument("ids", multirange(options.ids))
        .argument("args", options.args)
        .argument("options", options_of(options));
}

} // namespace

int define_jobs(const context &given, const std::string &file) {
    session server{given.connection};
    const auto definitions = in_order(read_definitions(server, file));
    std::array<std::vector<std::string>, 4> columns;
    for (const definition &each : definitions) {
        columns[0].push_back(each.job);
        columns[1].push_back(each.queue);
        columns[2].push_back(each.settings);
        columns[3].push_back(each.needs);
    }
    server.query(
        "select scylla.define_job(d.job, d.queue, d.settings, d.needs) "
        "from unnest($1::text[], $2::text[], $3::jsonb[], $4::jsonb[]) d (job, queue, settings, needs)",
        {array_literal(columns[0]), array_literal(columns[1]), array_literal(columns[2]), array_literal(columns[3])});
    return 0;
}

int drop_job(const context &given, const std::string &job) {
    session{given.connection}.query("select scylla.drop_job($1)", {job});
    return 0;
}

int grant_job(const context &given, const job_grant_options &options) {
    session{given.connection}.query("select scylla.grant_job($1, $2, 'run')", {options.job, options.role});
    return 0;
}

int revoke_job(const context &given, const job_grant_options &options) {
    session{given.connection}.query("select scylla.revoke_job($1, $2, 'run')", {options.job, options.role});
    return 0;
}

int list_jobs(const context &given) {
    session server{given.connection};
    show(server,
         given.json
             ? "select * from scylla.job_type order by name"
             : "select name as job, queue, owner, settings ->> 'chunk_size' as chunk_size, (select string_agg(format("
               "'%s (%s)', n ->> 'job', n ->> 'max_lag'), ', ') from jsonb_array_elements(needs) n) as needs "
               "from scylla.job_type order by name",
         {}, given.rows());
    return 0;
}

int get_job(const context &given, const std::string &job) {
    session server{given.connection};
    if (server.ask("select exists (select from scylla.job_type where name = $1)", {job}) != "t")
        throw failure{"job \"" + job + "\" does not exist"};
    show(server, "select * from scylla.job_type where name = $1", {job}, given.record());
    return 0;
}

int run_job(const context &given, const run_job_options &options) {
    const call run = call_for_request("scylla.run_job", options);
    std::cout << *session{given.connection}.ask("select " + run.sql(), run.values()) << '\n';
    return 0;
}

int explain_job(const context &given, const run_job_options &options) {
    session server{given.connection};
    const call explain = call_for_request("scylla.explain_job", options);
    const std::string columns =
        given.json ? "*" : "job, chunk as ids, runs, reason, array_to_string(depends_on, ', ') as depends_on";
    show(server, "select " + columns + " from " + explain.sql(), explain.values(), given.rows());
    return 0;
}

int list_job_plans(const context &given, const maybe_text &job) {
    session server{given.connection};
    const std::string columns = given.json
                                    ? "*"
                                    : "plan, job, variant, ids, args, status || case when overdue then ', overdue' "
                                      "else '' end as status, tasks, date_trunc('second', resolved) as resolved";
    show(server,
         "select " + columns + " from scylla.job_plan p where $1::text is null or job = $1 order by p.resolved desc",
         {job}, given.rows());
    return 0;
}

int show_job_freshness(const context &given, const maybe_text &job) {
    session server{given.connection};
    const std::string columns =
        given.json ? "*" : "job, variant, ids, began, date_trunc('second', now() - began) as age";
    show(server,
         "select " + columns +
             " from scylla.job_freshness where $1::text is null or job = $1 order by job, variant, lower(ids)",
         {job}, given.rows());
    return 0;
}

int draw_job(const context &given, const draw_job_options &options) {
    const std::string function = options.mermaid ? "scylla.job_mermaid" : "scylla.job_dot";
    std::cout << *session{given.connection}.ask("select " + function + "($1)", {options.job}) << '\n';
    return 0;
}

int mark_job_fresh(const context &given, const mark_job_options &options) {
    const call mark = call{"scylla.mark_fresh"}
                          .argument("job", options.job)
                          .argument("ids", multirange(options.ids))
                          .argument("finished", options.finished)
                          .argument("variant", options.variant);
    session{given.connection}.query("select " + mark.sql(), mark.values());
    return 0;
}

int forget_job_freshness(const context &given, const forget_job_options &options) {
    const call forget = call{"scylla.forget_freshness"}
                            .argument("job", options.job)
                            .argument("ids", multirange(options.ids))
                            .argument("variant", options.variant);
    std::cout << *session{given.connection}.ask("select " + forget.sql(), forget.values()) << '\n';
    return 0;
}

} // namespace scylla::cli
