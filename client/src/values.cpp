#include "values.h"

namespace scylla::detail {

std::string to_json(const retry_policy &policy) {
    std::string text;
    const auto add = [&](const char *key, const std::string &value) {
        text += (text.empty() ? "{\"" : ", \"") + std::string{key} + "\": " + value;
    };
    if (policy.initial)
        add("initial", '"' + interval(*policy.initial) + '"');
    if (policy.factor)
        add("factor", json_number(*policy.factor));
    if (policy.max)
        add("max", '"' + interval(*policy.max) + '"');
    if (policy.jitter)
        add("jitter", json_number(*policy.jitter));
    return text.empty() ? "{}" : text + '}';
}

param attempt_array::value() const {
    if (m_with > 0 && m_without > 0) {
        error_info info;
        info.message = "some tasks come with an attempt, and some without";
        throw invalid_argument{std::move(info)};
    }
    return m_with > 0 ? param{m_array.str()} : std::nullopt;
}

completion_params to_params(const std::vector<completion> &tasks) {
    completion_params arrays;
    for (const completion &task : tasks) {
        arrays.rns.add(text(task.rn, "rns"));
        add(arrays.results, text(task.result, "results"));
        arrays.attempts.add(task.attempt);
    }
    return arrays;
}

} // namespace scylla::detail
