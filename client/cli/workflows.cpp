// workflow: validate.
#include "commands.h"
#include "json_text.h"
#include "output.h"
#include "text_file.h"

namespace scylla::cli {

int validate_workflow(const context &given, const std::string &file) {
    constexpr const char *k_problems = "select place, problem from scylla.validate_workflow($1::jsonb)";
    const std::string definition = read_all(file);
    if (!is_jsonb(definition))
        throw failure{"\"" + file + "\" is not JSON"};
    session server{given.connection};
    const bool sound = server.query(k_problems, {definition}).cells.empty();
    if (given.json || !sound)
        show(server, k_problems, {definition}, given.rows());
    return sound ? 0 : 1;
}

} // namespace scylla::cli
