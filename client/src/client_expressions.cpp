// The expression language by itself.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

std::string client::sel_eval(const std::string &expression, const json &params) {
    return text_of(
        m_executor->run(sql::sel_eval, {checked(expression, "expression"), checked(params.text(), "params")})[0][0]);
}

std::string client::interpolate(const std::string &text, const json &params) {
    return text_of(m_executor->run(sql::interpolate, {checked(text, "text"), checked(params.text(), "params")})[0][0]);
}

} // namespace scylla
