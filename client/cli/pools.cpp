// pool: create, set, list, get, queue, reservations, drain, resume, drop, report, place, grant, revoke.
#include "commands.h"
#include "json_text.h"

namespace scylla::cli {

namespace {

// Calls a function whose only argument is the pool.
int call_for_pool(const context &given, const std::string &function, const std::string &pool) {
    session{given.connection}.query("select scylla." + function + "($1)", {pool});
    return 0;
}

// JSON is sent as it is, for the server to check; anything else as a string. Nothing after "=" is the default.
std::string member(const char *name, const maybe_text &given) {
    if (!given)
        return "";
    const std::string value = given->empty() ? "null" : is_jsonb(*given) ? *given : quote(*given);
    return quote(name) + ": " + value;
}

std::string object(const std::vector<std::string> &members) {
    std::string text;
    for (const std::string &each : members)
        if (!each.empty())
            text += (text.empty() ? "" : ", ") + each;
    return "{" + text + "}";
}

} // namespace

int create_pool(const context &given, const create_pool_options &options) {
    const call create = call{"scylla.create_pool"}
                            .argument("pool", options.pool)
                            .argument("capacity", options.capacity)
                            .argument("policy", options.policy)
                            .argument("settings", object({member("max_bypass", options.max_bypass),
                                                          member("metrics_max_age", options.metrics_max_age)}));
    session{given.connection}.query("select " + create.sql(), create.values());
    return 0;
}

int set_pool(const context &given, const set_pool_options &options) {
    const std::string changes =
        object({member("capacity", options.capacity), member("policy", options.policy),
                member("max_bypass", options.max_bypass), member("metrics_max_age", options.metrics_max_age)});
    session{given.connection}.query("select scylla.alter_pool($1, $2::jsonb)", {options.pool, changes});
    return 0;
}

int list_pools(const context &given) {
    session server{given.connection};
    show(server,
         given.json ? "select * from scylla.pool order by pool"
                    : "select pool, policy, capacity, free, waiting, placed, case when drained then 'drained' "
                      "when stale then 'no fresh report' else 'open' end as state from scylla.pool order by pool",
         {}, given.rows());
    return 0;
}

int get_pool(const context &given, const std::string &pool) {
    session server{given.connection};
    if (server.ask("select exists (select from scylla.pool where pool = $1)", {pool}) != "t")
        throw failure{"pool \"" + pool + "\" does not exist"};
    show(server, "select * from scylla.pool where pool = $1", {pool}, given.record());
    return 0;
}

int show_pool_history(const context &given, const maybe_text &pool) {
    session server{given.connection};
    const std::string columns =
        given.json ? "*" : "date_trunc('second', changed) as changed, pool, author, settings, previous";
    show(server,
         "select " + columns + " from scylla.pool_history h where $1::text is null or pool = $1 order by h.changed",
         {pool}, given.rows());
    return 0;
}

int show_pool_queue(const context &given, const pool_queue_options &options) {
    session server{given.connection};
    if (options.limit)
        show(server, "select * from scylla.list_pool_queue($1, $2::int)", {options.pool, options.limit}, given.rows());
    else
        show(server,
             "select * from scylla.pool_queue where $1::text is null or pool = $1 order by pool, priority desc, "
             "created",
             {options.pool}, given.rows());
    return 0;
}

int show_pool_reservations(const context &given, const maybe_text &pool) {
    session server{given.connection};
    show(server, "select * from scylla.pool_reservation where $1::text is null or pool = $1 order by pool, since",
         {pool}, given.rows());
    return 0;
}

int drain_pool(const context &given, const std::string &pool) { return call_for_pool(given, "drain_pool", pool); }

int resume_pool(const context &given, const std::string &pool) { return call_for_pool(given, "resume_pool", pool); }

int drop_pool(const context &given, const std::string &pool) { return call_for_pool(given, "drop_pool", pool); }

int report_usage(const context &given, const report_usage_options &options) {
    session{given.connection}.query("select scylla.report_usage($1, $2::jsonb, $3::timestamptz)",
                                    {options.pool, options.used, options.at});
    return 0;
}

int place_tasks(const context &given, const maybe_text &pool) {
    session server{given.connection};
    show(server, "select rn, chosen as pool from scylla.place($1)", {pool}, given.rows());
    return 0;
}

int grant_pool(const context &given, const pool_grant_options &options) {
    session{given.connection}.query("select scylla.grant_pool($1, $2, $3)",
                                    {options.pool, options.role, options.privilege});
    return 0;
}

int revoke_pool(const context &given, const pool_grant_options &options) {
    session{given.connection}.query("select scylla.revoke_pool($1, $2, $3)",
                                    {options.pool, options.role, options.privilege});
    return 0;
}

} // namespace scylla::cli
