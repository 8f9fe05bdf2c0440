// queue: create, list, get, set, pause, resume, drop, grant, revoke, grants, owner.
#include "commands.h"
#include "json_text.h"
#include "settings.h"

namespace scylla::cli {

int create_queue(const context &given, const queue_options &options) {
    call create{"scylla.create_queue"};
    create.argument("queue", options.queue);
    add_settings(create, options.settings);
    session{given.connection}.query("select " + create.sql(), create.values());
    return 0;
}

int list_queues(const context &given) {
    session server{given.connection};
    show(server,
         given.json
             ? "select * from scylla.queue_settings order by queue"
             : "select queue, paused, nullif(jsonb_strip_nulls(to_jsonb(q) - '{queue,created,paused}'::text[]), '{}') "
               "as settings from scylla.queue_settings as q order by queue",
         {}, given.rows());
    return 0;
}

int get_queue(const context &given, const std::string &queue) {
    session server{given.connection};
    if (server.ask("select exists (select from scylla.queue_settings where queue = $1)", {queue}) != "t")
        throw failure{"queue \"" + queue + "\" does not exist"};
    show(server, "select * from scylla.queue_settings where queue = $1", {queue}, given.record());
    return 0;
}

int set_queue(const context &given, const queue_options &options) {
    std::string settings;
    for (const std::string &word : options.settings) {
        const setting wanted = parse_setting(word);
        const bool is_list = !wanted.text.empty() && (wanted.text[0] == '{' || wanted.text[0] == '[');
        settings += (settings.empty() ? "{" : ", ") + quote(wanted.name) + ": " +
                    (wanted.text.empty()                ? "null"
                     : is_list && is_jsonb(wanted.text) ? wanted.text
                                                        : quote(wanted.text));
    }
    // The view determines the types: "5" is five seconds for one setting, a number for another.
    session{given.connection}.query(
        "select scylla.alter_queue($1, (select jsonb_object_agg(name, to_jsonb(typed) -> name) from "
        "jsonb_object_keys($2::jsonb) as name, jsonb_populate_record(null::scylla.queue_settings, $2::jsonb) as "
        "typed))",
        {options.queue, settings + "}"});
    return 0;
}

int pause_queue(const context &given, const std::string &queue) {
    session{given.connection}.query("select scylla.pause_queue($1)", {queue});
    return 0;
}

int resume_queue(const context &given, const std::string &queue) {
    session{given.connection}.query("select scylla.resume_queue($1)", {queue});
    return 0;
}

int drop_queue(const context &given, const drop_queue_options &options) {
    session{given.connection}.query("select scylla.drop_queue($1, force => $2)",
                                    {options.queue, options.force ? "t" : "f"});
    return 0;
}

int grant_queue(const context &given, const grant_options &options) {
    session{given.connection}.query("select scylla.grant_queue($1, $2, $3)",
                                    {options.queue, options.role, options.privilege});
    return 0;
}

int revoke_queue(const context &given, const grant_options &options) {
    session{given.connection}.query("select scylla.revoke_queue($1, $2, $3)",
                                    {options.queue, options.role, options.privilege});
    return 0;
}

int list_grants(const context &given, const maybe_text &queue) {
    session server{given.connection};
    show(server,
         "select * from scylla.queue_grants where $1::text is null or queue = $1 order by queue, role, privilege",
         {queue}, given.rows());
    return 0;
}

int set_queue_owner(const context &given, const grant_options &options) {
    session{given.connection}.query("select scylla.set_queue_owner($1, $2)", {options.queue, options.role});
    return 0;
}

} // namespace scylla::cli
