// Conversion of typed values to parameters, and of rows to typed values, for all calls.
#ifndef SCYLLA_SRC_VALUES_H
#define SCYLLA_SRC_VALUES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <scylla/types.h>

#include "executor.h"
#include "text.h"

namespace scylla::detail {

// ---- parameters ----------------------------------------------------------------------------------------------------

template <class Tag> param text(const std::optional<basic_name<Tag>> &name, std::string_view argument) {
    return name ? param{checked(name->str(), argument)} : std::nullopt;
}
template <class Tag> std::string text(const basic_name<Tag> &name, std::string_view argument) {
    return checked(name.str(), argument);
}
inline param text(const std::optional<std::string> &value, std::string_view argument) {
    return value ? param{checked(*value, argument)} : std::nullopt;
}
inline std::string text_of_ids(const id_ranges &ids) {
    std::string text{"{"};
    for (const auto &[first, end] : ids) {
        if (text.size() > 1)
            text += ',';
        text += '[' + std::to_string(first) + ',' + std::to_string(end) + ')';
    }
    return text + '}';
}
inline param ids_param(const std::optional<id_ranges> &ids) { return ids ? param{text_of_ids(*ids)} : std::nullopt; }

inline param text(const std::optional<json> &value, std::string_view argument) {
    return value ? param{checked(value->text(), argument)} : std::nullopt;
}
inline param text(std::optional<int> value) { return value ? param{std::to_string(*value)} : std::nullopt; }
inline param text(std::optional<double> value) { return value ? param{from_double(*value)} : std::nullopt; }
inline param text(std::optional<duration> value) { return value ? param{interval(*value)} : std::nullopt; }
inline param text(std::optional<time_point> value) { return value ? param{timestamp(*value)} : std::nullopt; }

inline void add(array_literal &array, const param &value) {
    if (value)
        array.add(*value);
    else
        array.add_null();
}

std::string to_json(const retry_policy &policy);

// The attempts of a batch: the server requires all of them, or none.
class attempt_array {
public:
    void add(std::optional<int> attempt) {
        (attempt ? m_with : m_without)++;
        if (attempt)
            m_array.add_plain(std::to_string(*attempt));
    }
    // @throw invalid_argument some have one, and some have none
    [[nodiscard]] param value() const;

private:
    array_literal m_array;
    std::size_t m_with = 0;
    std::size_t m_without = 0;
};

struct completion_params {
    array_literal rns, results;
    attempt_array attempts;
};

completion_params to_params(const std::vector<completion> &tasks);

// The parameters of TASKS in statements.cpp.
params task_arrays(const std::vector<new_task> &tasks);

// ---- rows ----------------------------------------------------------------------------------------------------------

// The numbers of rows and columns have other types in each libpqxx.
template <class F> void for_each_row(const pqxx::result &rows, F function) {
    // NOLINTNEXTLINE(modernize-loop-convert): what an iterator gives has other types, too
    for (decltype(rows.size()) i = 0; i < rows.size(); i++)
        function(rows[i]);
}

template <class Field> std::optional<duration> to_duration(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{duration{to_int64(text_of(field))}};
}

template <class Field> std::optional<time_point> to_time(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{to_time_point(text_of(field))};
}

inline std::int64_t to_count(const pqxx::result &rows) { return to_int64(text_of(rows[0][0])); }

} // namespace scylla::detail

#endif
