// The differences between libpqxx 6.4, 7 and 8, and nothing else.
#ifndef SCYLLA_SRC_COMPAT_H
#define SCYLLA_SRC_COMPAT_H

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pqxx/pqxx>

namespace scylla::detail {

// A parameter as text; none is SQL null.
using param = std::optional<std::string>;
using params = std::vector<param>;

#if PQXX_VERSION_MAJOR >= 7

inline pqxx::params to_pqxx(const params &values) {
    pqxx::params result;
    result.reserve(values.size());
    for (const param &value : values)
        if (value)
            result.append(pqxx::zview{*value}); // a view: the caller keeps the text
        else
            result.append();
    return result;
}

inline pqxx::result exec_params(pqxx::transaction_base &tx, const char *sql, const params &values) {
    return tx.exec(sql, to_pqxx(values));
}

inline pqxx::result exec_prepared(pqxx::transaction_base &tx, const char *name, const params &values) {
    return tx.exec(pqxx::prepped{name}, to_pqxx(values));
}

inline void make_verbose(pqxx::connection &connection) { connection.set_verbosity(pqxx::error_verbosity::verbose); }

#else

inline std::vector<const char *> to_pointers(const params &values) {
    std::vector<const char *> result;
    result.reserve(values.size());
    for (const param &value : values)
        result.push_back(value ? value->c_str() : nullptr);
    return result;
}

inline pqxx::result exec_params(pqxx::transaction_base &tx, const char *sql, const params &values) {
    return tx.exec_params(sql, pqxx::prepare::make_dynamic_params(to_pointers(values)));
}

inline pqxx::result exec_prepared(pqxx::transaction_base &tx, const char *name, const params &values) {
    return tx.exec_prepared(name, pqxx::prepare::make_dynamic_params(to_pointers(values)));
}

// A connection that breaks stays broken: 6.4 would silently make a new one, without our settings.
inline void make_verbose(pqxx::connection &connection) {
    connection.set_verbosity(pqxx::connection_base::verbose);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // a warning of what 7 no longer has, nor needs
    connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
}

#endif

// The SQLSTATE of an exception of libpqxx; none if it is not about a statement.
inline std::optional<std::string> sqlstate_of(const std::exception &exception) {
#if PQXX_VERSION_MAJOR >= 8
    const auto *failure = dynamic_cast<const pqxx::failure *>(&exception);
#else
    const auto *failure = dynamic_cast<const pqxx::sql_error *>(&exception);
#endif
    if (failure != nullptr && !failure->sqlstate().empty())
        return std::string{failure->sqlstate()};
#if PQXX_VERSION_MAJOR < 8 // some come without: in 7 the first of these
    if (dynamic_cast<const pqxx::insufficient_privilege *>(&exception) != nullptr)
        return "42501";
    if (dynamic_cast<const pqxx::serialization_failure *>(&exception) != nullptr)
        return "40001";
    if (dynamic_cast<const pqxx::deadlock_detected *>(&exception) != nullptr)
        return "40P01";
    if (dynamic_cast<const pqxx::transaction_rollback *>(&exception) != nullptr)
        return "40000";
#endif
    return dynamic_cast<const pqxx::sql_error *>(&exception) != nullptr ? std::optional<std::string>{""} : std::nullopt;
}

// The text of a field; empty for null.
template <class Field> std::string_view text_of(const Field &field) {
    return field.is_null() ? std::string_view{} : std::string_view{field.c_str(), field.size()};
}

} // namespace scylla::detail

#endif
