// template: push, list, show, drop.
#include <iostream>

#include "commands.h"
#include "output.h"
#include "yaml.h"

namespace scylla::cli {

int push_template(const context &given, const std::string &file) {
    session{given.connection}.query("select scylla.create_job_template($1::jsonb)", {read_definition(file)});
    return 0;
}

int list_templates(const context &given, const maybe_text &job_type) {
    session server{given.connection};
    const std::string columns =
        given.json ? "*"
                   : "job_type, version, type, status, (select string_agg(key || ' ' || value, ', ' order by key) from "
                     "jsonb_each_text(inherit_from)) as \"inherits from\", owner, date_trunc('second', modified) as "
                     "modified";
    show(server,
         "select " + columns +
             " from scylla.job_template where $1::text is null or job_type = $1 order by job_type, version",
         {job_type}, given.rows());
    return 0;
}

int show_template(const context &given, const template_options &options) {
    const auto found = session{given.connection}
                           .query("select jsonb_pretty(case when metadata = '{}' then definition else metadata || "
                                  "jsonb_build_object('definition', definition) end) from scylla.job_template where "
                                  "job_type = $1 and version = $2",
                                  {options.job_type, options.version})
                           .cells;
    if (found.empty())
        throw failure{"job template \"" + options.job_type + "\" of version \"" + options.version +
                      "\" does not exist"};
    std::cout << *found[0][0] << '\n';
    return 0;
}

int drop_template(const context &given, const template_options &options) {
    session{given.connection}.query("select scylla.drop_job_template($1, $2)", {options.job_type, options.version});
    return 0;
}

} // namespace scylla::cli
