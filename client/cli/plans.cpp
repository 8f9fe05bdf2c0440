// plan: create, open, list, get, wait, cancel, dot, mermaid, timeline.
#include <iostream>

#include "commands.h"

namespace scylla::cli {

int create_plan(const context &given, const create_plan_options &options) {
    session server{given.connection};
    const call create = call{"scylla.create_plan"}.argument("name", options.name).argument("spec", options.spec);
    std::cout << *server.ask("select " + create.sql(), create.values()) << '\n';
    return 0;
}

int open_plan(const context &given, const std::string &plan) {
    session{given.connection}.query("select scylla.open_plan($1)", {plan});
    return 0;
}

int rerun_plan(const context &given, const rerun_plan_options &options) {
    std::cout << *session{given.connection}.ask(
                     "select scylla.rerun_plan($1, $2, $3)",
                     {options.plan, options.only_failed ? "true" : "false", options.new_plan})
              << '\n';
    return 0;
}

int cancel_plan(const context &given, const std::string &plan) {
    std::cout << *session{given.connection}.ask("select scylla.cancel_plan($1)", {plan}) << '\n';
    return 0;
}

int list_plans(const context &given) {
    session server{given.connection};
    show(server,
         given.json ? "select * from scylla.plan order by created desc"
                    : "select name, status, round(100 * progress::numeric) || ' %' as progress, waiting, ready, "
                      "running, completed, "
                      "aborted, cancelled, date_trunc('second', created) as created from scylla.plan as p order by "
                      "p.created desc",
         {}, given.rows());
    return 0;
}

int set_plan_owner(const context &given, const plan_owner_options &options) {
    session{given.connection}.query("select scylla.set_plan_owner($1, $2)", {options.plan, options.role});
    return 0;
}

namespace {

constexpr const char *k_one_plan = "select * from scylla.plan where name = $1";

// The call raises the error if the plan does not exist.
void require_plan(session &server, const std::string &plan) {
    server.query("select scylla.plan_completed($1)", {plan});
}

} // namespace

int get_plan(const context &given, const std::string &plan) {
    session server{given.connection};
    require_plan(server, plan);
    show(server, k_one_plan, {plan}, given.record());
    return 0;
}

int wait_for_plan(const context &given, const wait_plan_options &options) {
    session server{given.connection};
    const bool finished =
        options.timeout ? server.ask("call scylla.wait_plan($1, $2)", {options.plan, options.timeout}) == "t" : [&] {
            while (server.ask("call scylla.wait_plan($1, '1 min')", {options.plan}) != "t")
                ;
            return true;
        }();
    show(server, given.json ? k_one_plan : "select name, status, progress, result from scylla.plan where name = $1",
         {options.plan}, given.record());
    return finished && server.ask("select scylla.plan_completed($1)", {options.plan}) == "t" ? 0 : 1;
}

int draw_plan_as_dot(const context &given, const draw_plan_options &options) {
    const call draw = call{"scylla.plan_dot"}.argument("plan", options.plan).argument("max_tasks", options.max_tasks);
    std::cout << *session{given.connection}.ask("select " + draw.sql(), draw.values()) << '\n';
    return 0;
}

int draw_plan_as_mermaid(const context &given, const draw_plan_options &options) {
    const call draw =
        call{"scylla.plan_mermaid"}.argument("plan", options.plan).argument("max_tasks", options.max_tasks);
    std::cout << *session{given.connection}.ask("select " + draw.sql(), draw.values()) << '\n';
    return 0;
}

int show_plan_timeline(const context &given, const std::string &plan) {
    session server{given.connection};
    show(server, "select * from scylla.plan_timeline($1)", {plan}, given.rows());
    return 0;
}

} // namespace scylla::cli
