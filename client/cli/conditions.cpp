// callback: create, resolve, reject; signal: send, list, grant, revoke; conditions; trigger.
#include <iostream>

#include "commands.h"

namespace scylla::cli {

int create_callback(const context &given, const create_callback_options &options) {
    session server{given.connection};
    const call create =
        call{"scylla.create_callback"}.argument("token", options.token).argument("expires", options.expires);
    std::cout << *server.ask("select " + create.sql(), create.values()) << '\n';
    return 0;
}

namespace {

// 1 if it had ended before.
int end_callback(const context &given, const std::string &sql, const end_callback_options &options) {
    session server{given.connection};
    return *server.ask(sql, {options.token, options.value}) == "t" ? 0 : 1;
}

} // namespace

int resolve_callback(const context &given, const end_callback_options &options) {
    return end_callback(given, "select scylla.resolve_callback($1, $2::jsonb)", options);
}

int reject_callback(const context &given, const end_callback_options &options) {
    return end_callback(given, "select scylla.reject_callback($1, $2::jsonb)", options);
}

int send_signal(const context &given, const send_signal_options &options) {
    session server{given.connection};
    const call send = call{"scylla.send_signal"}
                          .argument("name", options.name)
                          .argument("params", options.params)
                          .argument("payload", options.payload)
                          .argument("request_id", options.request_id);
    std::cout << *server.ask("select " + send.sql(), send.values()) << '\n';
    return 0;
}

int list_signals(const context &given, const list_signals_options &options) {
    session server{given.connection};
    show(server, "select * from scylla.signal where $1::text is null or name = $1 order by seq desc limit $2::bigint",
         {options.name, options.limit}, given.rows());
    return 0;
}

int grant_signal(const context &given, const signal_grant_options &options) {
    session{given.connection}.query("select scylla.grant_signal($1, $2, $3)",
                                    {options.name, options.role, options.privilege});
    return 0;
}

int revoke_signal(const context &given, const signal_grant_options &options) {
    session{given.connection}.query("select scylla.revoke_signal($1, $2, $3)",
                                    {options.name, options.role, options.privilege});
    return 0;
}

int list_conditions(const context &given) {
    session server{given.connection};
    show(server, "select * from scylla.condition order by created desc", {}, given.rows());
    return 0;
}

int create_trigger(const context &given, const create_trigger_options &options) {
    session{given.connection}.query(
        "select scylla.create_trigger($1, $2::jsonb, $3::jsonb, $4::jsonpath, $5::interval)",
        {options.name, options.signals, options.action, options.condition, options.grace});
    return 0;
}

int drop_trigger(const context &given, const std::string &name) {
    session{given.connection}.query("select scylla.drop_trigger($1)", {name});
    return 0;
}

int pause_trigger(const context &given, const std::string &name) {
    session{given.connection}.query("select scylla.pause_trigger($1)", {name});
    return 0;
}

int resume_trigger(const context &given, const std::string &name) {
    session{given.connection}.query("select scylla.resume_trigger($1)", {name});
    return 0;
}

int clear_trigger(const context &given, const clear_trigger_options &options) {
    session server{given.connection};
    std::cout << *server.ask("select scylla.clear_trigger($1, $2::int8)", {options.name, options.seq}) << '\n';
    return 0;
}

int list_triggers(const context &given) {
    session server{given.connection};
    show(server,
         given.json
             ? "select * from scylla.trigger order by name"
             : "select name, owner, paused, waiting, failing, fired, skipped, missed, last_error from scylla.trigger "
               "order by name",
         {}, given.rows());
    return 0;
}

int list_trigger_signals(const context &given, const maybe_text &name) {
    session server{given.connection};
    show(server, "select * from scylla.trigger_signal where $1::text is null or trigger = $1 order by trigger, seq",
         {name}, given.rows());
    return 0;
}

int list_trigger_failures(const context &given, const maybe_text &name) {
    session server{given.connection};
    show(server, "select * from scylla.trigger_failure where $1::text is null or trigger = $1 order by trigger, failed",
         {name}, given.rows());
    return 0;
}

} // namespace scylla::cli
