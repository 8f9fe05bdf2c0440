// callback: create, resolve, reject; signal: send, list, grant, revoke; conditions.
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

} // namespace scylla::cli
