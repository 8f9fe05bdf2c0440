// The expression language by itself.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

std::string client::sel_eval(const std::string &expression, const json &params) {
    const pqxx::result rows =
        m_executor->run(sql::sel_eval, {checked(expression, "expression"), checked(params.text(), "params")});
    return std::string{text_of(rows[0][0])};
}

std::string client::interpolate(const std::string &text, const json &params) {
    const pqxx::result rows =
        m_executor->run(sql::interpolate, {checked(text, "text"), checked(params.text(), "params")});
    return std::string{text_of(rows[0][0])};
}

} // namespace scylla
