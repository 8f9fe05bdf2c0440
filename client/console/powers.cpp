#include "powers.h"

#include <set>
#include <string_view>

#include "json_text.h"
#include "looks.h"

namespace scylla::cli::console {

namespace {

constexpr std::string_view k_prefix = "scylla.";
constexpr std::string_view k_letters = "abcdefghijklmnopqrstuvwxyz_";

// The functions and views that a query names, as a JSON array.
std::string objects_of(std::string_view sql) {
    std::set<std::string_view> names;
    for (std::size_t at = sql.find(k_prefix); at != std::string_view::npos; at = sql.find(k_prefix, at)) {
        at += k_prefix.size();
        names.insert(sql.substr(at, sql.find_first_not_of(k_letters, at) - at));
    }
    std::string list;
    for (const std::string_view name : names)
        list += (list.empty() ? "" : ", ") + quote(name);
    return "[" + list + "]";
}

// {"name": [functions and views]} of looks or changes, as a constant.
template <class All> std::string needs_of(const All &all) {
    std::string members;
    for (const auto &each : all)
        members += (members.empty() ? "" : ", ") + quote(each.name) + ": " + objects_of(each.sql);
    return "'{" + members + "}'";
}

// The names of those that the role may use, of needs such as needs_of() returns.
std::string usable(const std::string &needs) {
    return "(select coalesce(json_agg(n.key), '[]') from json_each(" + needs +
           ") n where not exists (select from json_array_elements_text(n.value) o (name) "
           "left join allowed a using (name) where a.name is null))";
}

} // namespace

std::string powers_query() {
    return "with allowed as materialized ("
           "select proname::text as name from pg_proc p where pronamespace = to_regnamespace('scylla') and "
           "has_function_privilege(p.oid, 'execute') union all "
           "select relname::text from pg_class c where relnamespace = to_regnamespace('scylla') and relkind = 'v' and "
           "has_table_privilege(c.oid, 'select')) "
           "select json_build_object('sees', " +
           usable(needs_of(looks())) + ", 'may', " + usable(needs_of(changes())) +
           ") where has_schema_privilege('scylla', 'usage') "
           "union all select '{\"sees\": [], \"may\": []}' where not has_schema_privilege('scylla', 'usage')";
}

} // namespace scylla::cli::console
