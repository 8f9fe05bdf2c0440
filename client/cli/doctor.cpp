// init, grant, revoke, and doctor, which checks what the server has, and what is missing.
#include <iostream>

#include "commands.h"
#include "doctor.h"
#include "json_text.h"

namespace scylla::cli {

namespace {

void add(findings &found, bool good, std::string what, std::string advice = {}) {
    found.push_back({good ? "ok" : "problem", std::move(what), good ? std::string{} : std::move(advice)});
}

bool holds(session &server, const std::string &condition, const std::vector<value> &parameters = {}) {
    return server.ask("select coalesce((" + condition + "), false)", parameters) == "t";
}

bool may_see_sessions(session &server) { return holds(server, "select pg_has_role('pg_read_all_stats', 'usage')"); }

// The setting exists only if the library was loaded at server start.
bool is_preloaded(session &server) {
    return holds(server, "select exists (select from pg_settings where name = 'scylla.max_queues')");
}

constexpr const char *k_preload_advice = "Add scylla to shared_preload_libraries in postgresql.conf, after others "
                                         "separated by commas, and restart the server.";

void check_server(session &server, findings &found) {
    add(found, holds(server, "select current_setting('server_version_num')::int between 150000 and 199999"),
        "PostgreSQL " + *server.ask("show server_version"), "Scylla needs PostgreSQL 15 to 19.");
    if (holds(server, "select pg_is_in_recovery()"))
        found.push_back({"note", "a standby: tasks can be looked at, not submitted or leased", ""});
    if (is_preloaded(server))
        add(found, true, "the library is preloaded");
    else
        add(found, false, "the library is not preloaded: no monitor, and workers are woken late", k_preload_advice);
}

// Whether there is a usable extension: the library refuses calls if the versions do not match.
bool check_extension(session &server, findings &found) {
    const rows answer = server.query("select extversion, (select default_version from pg_available_extensions a "
                                     "where a.name = 'scylla') from pg_extension where extname = 'scylla'");
    if (answer.cells.empty()) {
        add(found, false, "database \"" + server.database() + "\" does not have the extension",
            "As a superuser: scylla init, or CREATE EXTENSION scylla.");
        return false;
    }
    const std::string version = answer.cells[0][0].value_or("");
    const std::string installed = answer.cells[0][1].value_or("none");
    if (version == installed)
        add(found, true, "extension version " + version);
    else
        add(found, false, "the database has version " + version + " of the extension, the server version " + installed,
            "ALTER EXTENSION scylla UPDATE, or install that version on the server.");
    return version == installed;
}

// What the monitor cannot do now.
void check_failing(session &server, findings &found) {
    const rows failing =
        server.query("select array_to_string(failing, ', '), failing_since, last_error from scylla.stat_monitor "
                     "where failing is not null");
    for (const auto &row : failing.cells)
        add(found, false,
            "the monitor fails at: " + row[0].value_or("") + "; since " + row[1].value_or("") +
                ", last with: " + row[2].value_or(""),
            "It tries again by itself. Remove the cause; the server log has the whole message.");
}

// Since when something has been due in this database without a monitor, if that is long. With more such databases than
// monitors, each waits for a turn of some seconds.
std::string waits_for_monitor(session &server) {
    return *server.ask(
        "select coalesce((select 'no monitor has come to this database since ' || date_trunc('second', waits_since) "
        "from scylla.stat_database where database = current_database() and "
        "waits_since < clock_timestamp() - interval '1 min'), '')");
}

void check_monitor(session &server, findings &found) {
    if (!is_preloaded(server))
        return; // reported already
    if (holds(server, "select current_setting('scylla.monitor') = 'off'")) {
        add(found, false, "the monitor is switched off: leases do not expire, delayed tasks do not become ready",
            "ALTER SYSTEM SET scylla.monitor = on, and SELECT pg_reload_conf().");
        return;
    }
    if (holds(server, "select pg_is_in_recovery()"))
        return;
    if (!may_see_sessions(server)) {
        found.push_back({"note", "this role cannot see whether a monitor runs", "Grant it pg_monitor."});
        return;
    }
    const bool here =
        holds(server, "select exists (select from pg_stat_activity where datname = current_database() and "
                      "backend_type = 'scylla monitor')");
    const bool is_known = !here &&
                          holds(server, std::string{"select has_schema_privilege('scylla', 'usage') and "} +
                                            "has_table_privilege('scylla.stat_database', 'select')") &&
                          holds(server, "select exists (select from scylla.stat_database "
                                        "where database = current_database())");
    const std::string late = is_known ? waits_for_monitor(server) : "";
    if (here)
        add(found, true, "a monitor runs in this database");
    else if (is_known)
        add(found, late.empty(), late.empty() ? "a monitor comes to this database when something is due" : late,
            "The server log tells why none comes. Are max_worker_processes and scylla.max_monitors large enough?");
    else
        add(found, false, "no monitor runs in this database",
            "The server log tells why it does not. Are max_worker_processes and scylla.max_monitors large enough?");
    if (here && holds(server, "select has_schema_privilege('scylla', 'usage') and "
                              "has_table_privilege('scylla.stat_monitor', 'select') and "
                              "has_function_privilege('scylla._failing_duties()', 'execute')"))
        check_failing(server, found);
}

// Reports handlers that keep all others from running.
void check_server_workers(session &server, findings &found) {
    if (!is_preloaded(server) || !holds(server, "select has_schema_privilege('scylla', 'usage')") ||
        !holds(server, "select to_regclass('scylla.stat_server_worker') is not null") ||
        !holds(server, "select has_table_privilege('scylla.stat_server_worker', 'select') and "
                       "has_function_privilege('scylla._server_workers()', 'execute')"))
        return;
    const rows busy = server.query(
        "select format('all %s server workers have been busy since %s', count(*), max(since)), "
        "       string_agg(format('%s of role %s in database %s since %s', coalesce('task ' || task || ' of queue ' || "
        "queue, "
        "                  'schedule ' || schedule || ' of job ' || job), role, database, since), '; ' order by "
        "since), "
        "       max(since) > clock_timestamp() - interval '10 s' "
        "  from scylla.stat_server_worker where state = 'running' "
        "having count(*) >= nullif(current_setting('scylla.max_server_workers')::int, 0)");
    if (busy.cells.empty())
        add(found, true, "a server worker is free for handlers");
    else
        add(found, busy.cells[0][2] == "t", busy.cells[0][0].value_or(""),
            "They run " + busy.cells[0][1].value_or("") +
                ". Cancel what hangs, set a run_timeout for its queue, or increase scylla.max_server_workers.");
}

// What was changed at times that are still to come: the clock was ahead.
void check_clock(session &server, findings &found) {
    if (!holds(server, "select to_regclass('scylla.stat_clock') is not null") ||
        !holds(server, "select has_table_privilege('scylla.stat_clock', 'select')"))
        return;
    const rows ahead = server.query("select ahead || ' ' || what, what = 'tasks', date_trunc('second', latest) "
                                    "from scylla.stat_clock where ahead > 0 order by what");
    for (const auto &row : ahead.cells)
        add(found, false,
            row[0].value_or("") + " were changed at a time that is still to come, up to " + row[2].value_or(""),
            row[1] == "t"
                ? "The clock was ahead: docs/operations.md says what to do (A clock that was wrong)."
                : "The clock was ahead. The monitor sets them right, or scylla.maintain() and scylla.run_schedules().");
}

// Runs of jobs that wait for older plans for longer than their jobs say.
void check_jobs(session &server, findings &found) {
    if (!holds(server, "select to_regclass('scylla.job_plan') is not null and exists (select from pg_attribute "
                       "where attrelid = to_regclass('scylla.job_plan') and attname = 'overdue')") ||
        !holds(server, "select has_table_privilege('scylla.job_plan', 'select')"))
        return;
    const rows overdue = server.query("select format('plan %s of job %s has waited since %s', plan, job, "
                                      "       date_trunc('second', resolved)), array_to_string(waits_for, ', ') "
                                      "from scylla.job_plan where overdue order by resolved limit 10");
    for (const auto &row : overdue.cells)
        add(found, false, row[0].value_or(""),
            "It waits for " + row[1].value_or("") + ", for longer than the max_wait of the job.");
}

void check_tasks(session &server, const doctor_options &options, findings &found) {
    if (!holds(server, "select has_schema_privilege('scylla', 'usage')")) {
        found.push_back({"note", "this role may not use the schema scylla", ""});
        return;
    }
    if (holds(server,
              "select has_function_privilege('scylla.list_tasks(text, scylla.task_status, text, int)', 'execute')")) {
        // Unlike the view, this reads running tasks only.
        const std::string overdue =
            *server.ask("select count(*) from scylla.list_tasks(status => 'running', max_tasks => 100000) "
                        "where deadline < clock_timestamp() - interval '30 s'");
        if (overdue == "0")
            add(found, true, "no expired lease is left over");
        else
            add(found, false, overdue + " leases expired more than 30 s ago and nobody has ended them",
                "Nothing does the monitor's work: SELECT scylla.maintain() does one round.");
    }
    check_clock(server, found);
    check_jobs(server, found);
    if (options.skip_check || holds(server, "select pg_is_in_recovery()"))
        return;
    if (!holds(server, "select has_function_privilege('scylla.check()', 'execute')")) {
        found.push_back({"note", "this role may not call scylla.check()", ""});
        return;
    }
    const rows problems =
        server.query("select coalesce('task ' || rn || ': ', '') || problem from scylla.check() limit 20");
    if (problems.cells.empty())
        add(found, true, "scylla.check() finds nothing wrong");
    for (const auto &problem : problems.cells)
        add(found, false, problem[0].value_or(""),
            "A bug, or somebody wrote to the internal tables: please report it.");
}

// The result of pg_cron's last run of schedules, if this role may see it.
std::string pg_cron_failure(session &server) {
    if (!holds(server, "select to_regclass('cron.job_run_details') is not null") ||
        !holds(server, "select has_schema_privilege('cron', 'usage') and has_table_privilege('cron.job_run_details', "
                       "'select')"))
        return {};
    return server
        .ask("select (select case when d.status = 'failed' then coalesce(d.return_message, '') else '' end "
             "  from cron.job_run_details d where d.command = 'select scylla.run_schedules()' "
             "   and d.database = current_database() order by d.runid desc limit 1)")
        .value_or("");
}

// What to do when nothing runs schedules.
std::string ticking_advice(session &server) {
    const std::string mode = server.ask("select current_setting('scylla.schedules', true)").value_or("auto");
    if (mode == "off")
        return "scylla.schedules is off.";
    if (mode == "manual")
        return "scylla.schedules is manual: whatever else there is has to call scylla.run_schedules() every minute.";
    if (mode == "auto" && is_preloaded(server) && !holds(server, "select current_setting('scylla.monitor') = 'off'"))
        return "The monitor should: the server log tells why it does not.";
    const std::string failure = pg_cron_failure(server);
    return (failure.empty() ? std::string{"Does pg_cron run? cron.job_run_details tells. "}
                            : "The job of pg_cron has failed: " + failure + ". ") +
           "Where it cannot connect, set cron.use_background_workers = on in postgresql.conf and restart the server. "
           "The monitor needs no pg_cron: preload scylla, and set scylla.schedules = auto.";
}

// Reports schedules that nothing runs before one of them is late: a nightly one would be late only after a day.
bool check_ticks(session &server, findings &found) {
    const bool tells = holds(server, "select exists (select from pg_attribute where attname = 'ticked' "
                                     "and attrelid = 'scylla.schedules'::regclass)"); // since version 0.2
    if (!tells || holds(server, "select pg_is_in_recovery()"))
        return true;
    const rows late = server.query("select coalesce('nothing has looked for due schedules since ' || max(ticked), "
                                   "                'nothing has ever looked for due schedules') "
                                   "  from scylla.schedules where armed and next_run is not null "
                                   "having greatest(max(ticked), min(created)) < clock_timestamp() - interval '2 min'");
    for (const auto &row : late.cells)
        add(found, false, row[0].value_or(""), ticking_advice(server));
    return late.cells.empty();
}

void check_schedules(session &server, findings &found) {
    if (!holds(server,
               "select has_schema_privilege('scylla', 'usage') and has_table_privilege('scylla.schedules', 'select')"))
        return;
    const bool ticks = check_ticks(server, found);
    const rows schedules = server.query(
        "select case when not armed then 'schedule ' || quote_literal(name) || ' does not run in this database' "
        "            when last_error is not null then 'schedule ' || quote_literal(name) || ' could not submit a task: "
        "' || last_error "
        "            else 'schedule ' || quote_literal(name) || ' should have come at ' || next_run end, "
        "       case when not armed then 'After a restore: scylla schedule arm.' "
        "            when last_error is not null then 'It is tried again, unless the name was taken.' end "
        "  from scylla.schedules "
        " where not armed or last_error is not null or next_run < clock_timestamp() - interval '2 min' order by name");
    for (const auto &schedule : schedules.cells)
        add(found, false, schedule[0].value_or(""),
            schedule[1] ? *schedule[1] : ticking_advice(server) + " scylla schedule run does it by hand.");
    if (ticks && schedules.cells.empty() && holds(server, "select exists (select from scylla.schedules)"))
        add(found, true, "schedules come in time");
}

void check_vacuum(session &server, const doctor_options &options, findings &found) {
    if (holds(server, "select current_setting('autovacuum') = 'off'"))
        add(found, false, "autovacuum is off", "Switch it on: every step of a task leaves a dead row.");
    else
        add(found, true, "autovacuum is on");
    const rows tables = server.query(
        "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'scylla' and "
        "c.relkind = 'r' and c.reloptions && '{autovacuum_enabled=false,autovacuum_enabled=off}' order by 1");
    for (const auto &table : tables.cells)
        add(found, false, "autovacuum is off for scylla." + *table[0],
            "ALTER TABLE scylla." + *table[0] + " RESET (autovacuum_enabled).");

    // Everything that holds back the removal of dead rows.
    const std::size_t before = found.size();
    const rows holders = server.query(
        "select 'session ' || pid || ' of ' || coalesce(usename, backend_type) || ' has had a transaction open for ' "
        "|| "
        "       date_trunc('second', clock_timestamp() - xact_start), "
        "       'End it, or ask its application: SELECT pg_terminate_backend(' || pid || ').' "
        "  from pg_stat_activity where (backend_xmin is not null or backend_xid is not null) and pid <> "
        "pg_backend_pid() "
        "   and clock_timestamp() - xact_start > $1::interval "
        "union all "
        "select 'prepared transaction ' || quote_literal(gid) || ' is ' || date_trunc('second', clock_timestamp() - "
        "prepared) || "
        "       ' old', 'COMMIT PREPARED or ROLLBACK PREPARED.' "
        "  from pg_prepared_xacts where clock_timestamp() - prepared > $1::interval "
        "union all "
        "select 'replication slot ' || quote_ident(slot_name) || ' is not used and holds back vacuum', "
        "       'If nobody will use it again: SELECT pg_drop_replication_slot(' || quote_literal(slot_name) || ').' "
        "  from pg_replication_slots where not active and coalesce(xmin, catalog_xmin) is not null "
        "union all "
        "select 'standby ' || coalesce(application_name, '') || ' holds back vacuum by hot_standby_feedback: ' || "
        "       age(backend_xmin) || ' transactions', 'End its long queries.' "
        "  from pg_stat_replication where age(backend_xmin) > 10000000",
        {options.long_transaction});
    for (const auto &holder : holders.cells)
        add(found, false, holder[0].value_or("a transaction has been open for long"), holder[1].value_or(""));
    if (!may_see_sessions(server))
        found.push_back({"note", "this role cannot see how long other sessions' transactions have been open",
                         "Grant it pg_monitor."});
    else if (found.size() == before)
        add(found, true, "nothing holds back vacuum");
}

int report(const context &given, const findings &found) {
    bool good = true;
    for (const finding &f : found) {
        good = good && f.level != "problem";
        if (given.json)
            continue;
        std::cout << f.level << std::string(9 - f.level.size(), ' ') << f.what << '\n';
        if (!f.advice.empty())
            std::cout << std::string(9, ' ') << f.advice << '\n';
    }
    if (given.json)
        std::cout << to_json(found) << '\n';
    return good ? 0 : 1;
}

} // namespace

std::string to_json(const findings &found) {
    std::string json = "[";
    for (const finding &f : found)
        json += (json.size() == 1 ? "" : ", \n ") + std::string{"{\"level\": "} + quote(f.level) +
                ", \"what\": " + quote(f.what) + ", \"advice\": " + (f.advice.empty() ? "null" : quote(f.advice)) + "}";
    return json + "]";
}

findings examine(session &server, const doctor_options &options) {
    findings found;
    check_server(server, found);
    if (check_extension(server, found)) {
        check_monitor(server, found);
        check_server_workers(server, found);
        check_tasks(server, options, found);
        check_schedules(server, found);
    }
    check_vacuum(server, options, found);
    return found;
}

int init_database(const context &given) {
    session server{given.connection};
    findings found;
    check_server(server, found);
    if (holds(server, "select exists (select from pg_extension where extname = 'scylla')")) {
        found.push_back({"ok", "database \"" + server.database() + "\" has the extension already", ""});
    } else if (!holds(server, "select exists (select from pg_available_extensions where name = 'scylla')")) {
        add(found, false, "the extension is not installed on the server",
            "In Scylla's source on the server's machine: make && sudo make install.");
        return report(given, found);
    } else if (!holds(server, "select rolsuper from pg_roles where rolname = current_user")) {
        add(found, false,
            "role \"" + server.ask("select current_user").value_or("") + "\" may not create the extension",
            "Only a superuser can: its functions are C code.");
        return report(given, found);
    } else {
        server.query("set client_min_messages = error"); // a missing preload is reported below
        server.query("create extension scylla");
        found.push_back({"ok", "created the extension in database \"" + server.database() + "\"", ""});
    }
    check_extension(server, found);
    return report(given, found);
}

int grant_role(const context &given, const role_options &options) {
    session{given.connection}.query("select scylla.grant_role($1, $2)", {options.kind, options.role});
    return 0;
}

int revoke_role(const context &given, const role_options &options) {
    session{given.connection}.query("select scylla.revoke_role($1, $2)", {options.kind, options.role});
    return 0;
}

int examine_server(const context &given, const doctor_options &options) {
    session server{given.connection};
    return report(given, examine(server, options));
}

} // namespace scylla::cli
