// submit, get, list, cancel.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "commands.h"
#include "json_text.h"
#include "pace.h"

namespace scylla::cli {

namespace {

// Standard input may be closed, or a folder, which is not the same as empty.
void require_read() {
    if (std::ferror(stdin) != 0)
        throw failure{"could not read standard input"};
}

std::string read_input() {
    std::string text{std::istreambuf_iterator<char>{std::cin}, std::istreambuf_iterator<char>{}};
    require_read();
    return text;
}

// The options of submit as an object of submit_many, without the spec.
std::string task_object(const submit_options &options) {
    std::string object = "{\"queue\": " + quote(options.queue);
    const auto add = [&](const char *name, const maybe_text &given, bool number = false) {
        if (given)
            object += ", \"" + std::string{name} + "\": " + (number && is_jsonb(*given) ? *given : quote(*given));
    };
    add("priority", options.priority, true);
    add("not_before", options.not_before);
    add("max_attempts", options.max_attempts, true);
    if (options.retry) // an object: unchanged, for the server to check
        object += ", \"retry\": " + (is_jsonb(*options.retry) ? *options.retry : quote(*options.retry));
    add("on_dependency_failure", options.on_dependency_failure);
    add("plan", options.plan);
    add("key", options.key);
    if (options.wait_for) // like retry
        object += ", \"wait_for\": " + (is_jsonb(*options.wait_for) ? *options.wait_for : quote(*options.wait_for));
    if (options.needs)
        object += ", \"needs\": " + (is_jsonb(*options.needs) ? *options.needs : quote(*options.needs));
    add("expected_runtime", options.expected_runtime);
    if (!options.depends_on.empty()) {
        std::string rns;
        for (const std::string &rn : options.depends_on)
            rns += (rns.empty() ? "[" : ", ") + quote(rn);
        object += ", \"depends_on\": " + rns + "]";
    }
    return object + "}";
}

// One task per line, all or none.
int submit_lines(const context &given, session &server, const submit_options &options) {
    std::vector<std::string> specs;
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line.find_first_not_of(" \t\r") == std::string::npos)
            continue;
        if (!is_jsonb(line))
            throw failure{"line " + std::to_string(specs.size() + 1) +
                          " of standard input is not JSON: " + to_utf8(line.substr(0, 80))};
        specs.push_back(line);
    }
    require_read();
    const std::string submitted = "select rn, inserted from scylla.submit_many((select coalesce(jsonb_agg($1::jsonb || "
                                  "jsonb_build_object('spec', "
                                  "spec::jsonb) order by i), '[]') from unnest($2::text[]) with ordinality as "
                                  "line(spec, i)), on_duplicate => $3)";
    const std::vector<value> values{task_object(options), array_literal(specs), options.on_duplicate.value_or("error")};
    if (given.json)
        show(server, submitted, values, form::json);
    else
        std::cout << *server.ask("select count(*) from (" + submitted + ") as t where inserted", values) << '\n';
    return 0;
}

} // namespace

int submit_task(const context &given, const submit_options &options) {
    session server{given.connection};
    submit_options task = options;
    if (options.delay)
        task.not_before = server.ask("select (clock_timestamp() + $1::interval)::text", {options.delay});
    if (options.lines)
        return submit_lines(given, server, task);
    const call submit = call{"scylla.submit"}
                            .argument("queue", task.queue)
                            .argument("spec", !task.spec || *task.spec == "-" ? read_input() : *task.spec)
                            .argument("rn", task.rn)
                            .argument("priority", task.priority)
                            .argument("not_before", task.not_before)
                            .argument("max_attempts", task.max_attempts)
                            .argument("retry", task.retry)
                            .argument("depends_on", task.depends_on.empty() ? value{} : array_literal(task.depends_on))
                            .argument("on_dependency_failure", task.on_dependency_failure)
                            .argument("plan", task.plan)
                            .argument("dedup_key", task.dedup_key)
                            .argument("key", task.key)
                            .argument("on_duplicate", task.on_duplicate)
                            .argument("wait_for", task.wait_for)
                            .argument("needs", task.needs)
                            .argument("expected_runtime", task.expected_runtime)
                            .argument("dedup_for", task.dedup_for)
                            .argument("debounce", task.debounce)
                            .argument("run_timeout", task.run_timeout);
    if (given.json)
        show(server, "select * from " + submit.sql(), submit.values(), form::json_one);
    else
        std::cout << *server.ask("select rn from " + submit.sql(), submit.values()) << '\n';
    return 0;
}

int get_task(const context &given, const get_options &options) {
    session server{given.connection};
    if (!options.field) {
        show(server, "select * from scylla.get_task($1)", {options.rn}, given.record());
        return 0;
    }
    const rows answer = server.query("select case when to_jsonb(t) ? $2 then to_jsonb(t) ->> $2 end, to_jsonb(t) ? $2 "
                                     "from scylla.get_task($1) as t",
                                     {options.rn, options.field});
    if (answer.cells.at(0).at(1) != "t")
        throw failure{"a task has no column \"" + *options.field + "\""};
    std::cout << answer.cells[0][0].value_or("") << '\n';
    return 0;
}

int explain_waiting(const context &given, const std::string &rn) {
    session server{given.connection};
    show(server, "select ord, waits_for, since, until, detail from scylla.explain_waiting($1)", {rn}, given.rows());
    return 0;
}

int set_output(const context &given, const set_output_options &options) {
    session server{given.connection};
    server.query("select scylla.set_output($1, $2::jsonb, $3::jsonb, $4, $5::int)",
                 {options.rn, options.params, options.artifacts, options.worker, options.attempt});
    return 0;
}

int not_yet(const context &given, const not_yet_options &options) {
    session server{given.connection};
    const call answer = call{"scylla.not_yet"}
                            .argument("rn", options.rn)
                            .argument("worker", options.worker)
                            .argument("retry_after", options.retry_after)
                            .argument("attempt", options.attempt);
    static_cast<void>(server.ask("select rn from " + answer.sql(), answer.values()));
    return 0;
}

int defer_task(const context &given, const defer_options &options) {
    session server{given.connection};
    const call defer = call{"scylla.defer"}
                           .argument("rn", options.rn)
                           .argument("worker", options.worker)
                           .argument("wait_for", options.wait_for)
                           .argument("state", options.state)
                           .argument("attempt", options.attempt);
    static_cast<void>(server.ask("select rn from " + defer.sql(), defer.values()));
    return 0;
}

int list_tasks(const context &given, const list_options &options) {
    session server{given.connection};
    const call list = call{"scylla.list_tasks"}
                          .argument("queue", options.queue)
                          .argument("status", options.status)
                          .argument("worker", options.worker)
                          .argument("max_tasks", options.limit);
    const std::string columns = given.json ? "*"
                                           : "rn, queue, status, priority, round(100 * progress::numeric) || ' %' as "
                                             "progress, attempt, failures, owner, "
                                             "date_trunc('second', updated) as updated";
    show(server, "select " + columns + " from " + list.sql(), list.values(), given.rows());
    return 0;
}

int reschedule_task(const context &given, const reschedule_options &options) {
    session server{given.connection};
    value time = options.not_before;
    if (options.delay)
        time = server.ask("select (clock_timestamp() + $1::interval)::text", {options.delay});
    const call reschedule = call{"scylla.reschedule"}.argument("rn", options.rn).argument("not_before", time);
    show(server, std::string{"select "} + (given.json ? "*" : "rn, status, not_before") + " from " + reschedule.sql(),
         reschedule.values(), given.record());
    return 0;
}

int set_priority(const context &given, const priority_options &options) {
    session server{given.connection};
    const call change = call{"scylla.set_priority"}.argument("rn", options.rn).argument("priority", options.priority);
    show(server, std::string{"select "} + (given.json ? "*" : "rn, status, priority") + " from " + change.sql(),
         change.values(), given.record());
    return 0;
}

int delete_tasks(const context &given, const std::vector<std::string> &rns) {
    session{given.connection}.query("select scylla.delete_task(rn) from unnest($1::text[]) as rn",
                                    {array_literal(rns)});
    return 0;
}

int list_dead_tasks(const context &given, const dead_options &options) {
    session server{given.connection};
    const call dead = call{"scylla.dead_tasks"}
                          .argument("queue", options.queue)
                          .argument("code", options.code)
                          .argument("max_tasks", options.limit);
    const std::string columns =
        given.json ? "*"
                   : "rn, queue, errors -> -1 ->> 'code' as code, concat_ws(' ', error_message, errors -> -1 ->> "
                     "'log_url') as message, attempt, owner, date_trunc('second', updated) as updated";
    show(server, "select " + columns + " from " + dead.sql(), dead.values(), given.rows());
    return 0;
}

namespace {

constexpr const char *k_portion = "500";

// The filter for find_tasks.
value filter_of(session &server, const filter_options &options) {
    return server.ask("select (jsonb_strip_nulls(jsonb_build_object('queue', $1::text, 'status', $2::text, 'worker', "
                      "$3::text, 'key', $4::text, 'code', $5::text, 'created_after', $6::text, 'created_before', "
                      "$7::text)) || case when $8::text is null then '{}' else jsonb_build_object('spec', $8::jsonb) "
                      "end)::text",
                      {options.queue, options.status, options.worker, options.key, options.code, options.created_after,
                       options.created_before, options.spec});
}

// Calls the function for all matching tasks, portion by portion. Failures are reported on standard error.
int do_many(session &server, const std::string &function, const value &filter, bool dry_run) {
    value after;
    std::size_t done = 0;
    int status = 0;
    do {
        const auto begin = std::chrono::steady_clock::now();
        const rows portion = server.query("select cursor, rn, problem from " + function +
                                              "($1::jsonb, $2::int, $3, preview => $4::bool, max_looks => 100000)",
                                          {filter, k_portion, after, dry_run ? "true" : "false"});
        after.reset();
        for (const auto &row : portion.cells) {
            if (!row[1])
                after = row[0];
            else if (!row[2])
                done++;
            else {
                std::cerr << "scylla: task \"" << *row[1] << "\": " << *row[2] << '\n';
                status = 1;
            }
        }
        if (after && !dry_run)
            pause_after_portion(begin);
    } while (after);
    std::cout << done << '\n';
    return status;
}

int cancel_named(const context &given, session &server, const std::vector<std::string> &rns) {
    int status = 0;
    for (const std::string &rn : rns) {
        try {
            show(server, given.json ? "select * from scylla.cancel($1)" : "select rn, status from scylla.cancel($1)",
                 {rn}, given.json ? form::json_one : form::record);
        } catch (const failure &error) {
            if (error.sqlstate() != "P0002" && error.sqlstate() != "55000")
                throw;
            std::cerr << "scylla: " << error.what() << '\n';
            if (!error.detail().empty())
                std::cerr << "DETAIL:  " << error.detail() << '\n';
            status = 1; // the others are still done
        }
    }
    return status;
}

} // namespace

namespace {

// Resubmits the tasks that the filter finds, portion by portion, up to the limit.
void resubmit_matching(const context &given, session &server, const resubmit_options &options) {
    std::vector<std::string> names;
    std::vector<std::string> copies;
    const value filter = filter_of(server, options.filter);
    std::size_t left = std::strtoul(options.limit.c_str(), nullptr, 10);
    value after;
    do {
        const auto begin = std::chrono::steady_clock::now();
        const rows portion = server.query(
            "select cursor, rn, coalesce(new_rn, '') from scylla.resubmit_matching($1::jsonb, least($2::int, 500), $3, "
            "$4::bool, 100000)",
            {filter, names.empty() ? options.limit : std::to_string(left), after, options.preview ? "true" : "false"});
        after.reset();
        for (const auto &row : portion.cells) {
            if (!row[1]) {
                after = row[0];
                continue;
            }
            names.push_back(*row[1]);
            copies.push_back(*row[2]);
            left--;
        }
        if (after && left > 0 && !options.preview)
            pause_after_portion(begin);
    } while (after && left > 0);
    show(server,
         std::string{"select rn"} + (options.preview ? "" : ", new_rn") +
             " from unnest($1::text[], $2::text[]) as t (rn, new_rn)",
         {array_literal(names), array_literal(copies)}, given.rows());
}

} // namespace

int resubmit_tasks(const context &given, const resubmit_options &options) {
    const filter_options &f = options.filter;
    if (options.rn.has_value() == f.queue.has_value())
        throw failure{"either RN or --queue is needed"};
    const bool by_content = f.worker || f.key || f.spec || f.created_after || f.created_before;
    if (by_content && (options.after || options.before))
        throw usage_failure{"--ended-after and --ended-before go with --queue, --status and --code only"};
    session server{given.connection};
    if (options.rn) {
        const call again = call{"scylla.resubmit"}.argument("rn", options.rn).argument("new_rn", options.new_rn);
        if (given.json)
            show(server, "select * from " + again.sql(), again.values(), form::json_one);
        else
            std::cout << *server.ask("select rn from " + again.sql(), again.values()) << '\n';
        return 0;
    }
    if (by_content) {
        resubmit_matching(given, server, options);
        return 0;
    }
    const call again = call{"scylla.resubmit_many"}
                           .argument("queue", f.queue)
                           .argument("status", f.status)
                           .argument("code", f.code)
                           .argument("ended_after", options.after)
                           .argument("ended_before", options.before)
                           .argument("max_tasks", options.limit)
                           .argument("preview", options.preview ? value{"true"} : value{});
    show(server, std::string{"select rn"} + (options.preview ? "" : ", new_rn") + " from " + again.sql(),
         again.values(), given.rows());
    return 0;
}

int find_tasks(const context &given, const find_options &options) {
    session server{given.connection};
    const value filter = filter_of(server, options.filter);
    const std::vector<value> values{filter, options.limit, options.after};
    const std::string found = "scylla.find_tasks($1::jsonb, $2::int, $3, 100000)";
    const std::string columns = given.json ? "(task).*"
                                           : "(task).rn, (task).queue, (task).status, (task).priority, (task).key, "
                                             "(task).attempt, (task).owner, (task).errors -> -1 ->> 'code' as code, "
                                             "date_trunc('second', (task).created) as created";
    show(server, "select " + columns + " from " + found + " where task is distinct from null", values, given.rows());
    const rows more = server.query("select cursor from " + found + " where task is not distinct from null", values);
    if (!more.cells.empty())
        std::cerr << "scylla: there may be more: --after " << *more.cells[0][0] << '\n';
    return 0;
}

int cancel_tasks(const context &given, const cancel_options &options) {
    const filter_options &f = options.filter;
    const bool filters = options.all || f.queue || f.status || f.worker || f.key || f.code || f.spec ||
                         f.created_after || f.created_before;
    if (filters == !options.rns.empty())
        throw usage_failure{"either RN, options that say which tasks, or --all is needed"};
    if (options.dry_run && !filters)
        throw usage_failure{"--dry-run goes with options that say which tasks"};
    session server{given.connection};
    if (filters)
        return do_many(server, "scylla.cancel_many", filter_of(server, f), options.dry_run);
    return cancel_named(given, server, options.rns);
}

int yield_tasks(const context &given, const yield_many_options &options) {
    session server{given.connection};
    return do_many(server, "scylla.yield_many", filter_of(server, options.filter), options.dry_run);
}

} // namespace scylla::cli
