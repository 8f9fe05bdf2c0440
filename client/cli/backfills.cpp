// backfill: start, list, show, pause, resume, cancel.
#include <iostream>

#include "commands.h"
#include "output.h"

namespace scylla::cli {

int start_backfill(const context &given, const backfill_options &options) {
    session server{given.connection};
    const std::string version = options.version.value_or("active");
    const std::string newest_first = options.newest_first ? "t" : "f";
    const std::string existing = options.existing.value_or("start");
    if (options.preview) {
        show(
            server,
            "select number, params, action, instance, status from scylla.preview_backfill($1, $2::jsonb, $3, $4::bool, "
            "$5)",
            {options.workflow, options.items, version, newest_first, existing}, given.rows());
        return 0;
    }
    std::cout << *server.ask("select scylla.backfill($1, $2::jsonb, $3, $4::int, $5::bool, $6, $7::bool)",
                             {options.workflow, options.items, version, options.concurrency.value_or("1"), newest_first,
                              existing, std::string{options.yields ? "t" : "f"}})
              << '\n';
    return 0;
}

int list_backfills(const context &given, const maybe_text &workflow) {
    session server{given.connection};
    const std::string columns = given.json ? "*"
                                           : "backfill, workflow, version, status, items, pending, live, succeeded, "
                                             "failed, date_trunc('second', created) as created";
    show(server,
         "select " + columns +
             " from scylla.workflow_backfill where $1::text is null or workflow = $1 order by backfill desc",
         {workflow}, given.rows());
    return 0;
}

int show_backfill(const context &given, const show_backfill_options &options) {
    session server{given.connection};
    const auto there = server.ask("select exists (select from scylla.workflow_backfill where backfill = $1::bigint)",
                                  {options.backfill});
    if (there != "t")
        throw failure{"backfill " + options.backfill + " does not exist"};
    const std::string columns =
        given.json ? "*" : "number, params, status, instance, run, started, ended, error ->> 'message' as error";
    show(server,
         "select " + columns +
             " from scylla.workflow_backfill_item where backfill = $1::bigint and ($2::text is null or status = "
             "upper($2)) order by number",
         {options.backfill, options.status}, given.rows());
    return 0;
}

int pause_backfill(const context &given, const std::string &backfill) {
    session{given.connection}.query("select scylla.pause_backfill($1::bigint)", {backfill});
    return 0;
}

int resume_backfill(const context &given, const std::string &backfill) {
    session{given.connection}.query("select scylla.resume_backfill($1::bigint)", {backfill});
    return 0;
}

int cancel_backfill(const context &given, const cancel_backfill_options &options) {
    std::cout << *session{given.connection}.ask("select scylla.cancel_backfill($1::bigint, $2::bool)",
                                                {options.backfill, std::string{options.stop_runs ? "t" : "f"}})
              << '\n';
    return 0;
}

} // namespace scylla::cli
