// A connection to the server, by libpq: the commands are SQL calls whose rows are shown with all their columns, so that
// this tool also shows what a newer server adds.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <libpq-fe.h>

namespace scylla::cli {

// The connection options of psql. Missing ones come from the environment (PGHOST, PGSERVICE, ...).
struct connection_options {
    std::optional<std::string> dbname; // a name, a connection string or a URI
    std::optional<std::string> host;
    std::optional<std::string> port;
    std::optional<std::string> user;
    bool ask_password = false;
    bool never_ask = false;
};

// An error for the user: exit status 1.
class failure : public std::runtime_error {
public:
    explicit failure(const std::string &message, std::string detail = {}, std::string hint = {},
                     std::string sqlstate = {});
    [[nodiscard]] const std::string &detail() const noexcept { return m_detail; }
    [[nodiscard]] const std::string &hint() const noexcept { return m_hint; }
    [[nodiscard]] const std::string &sqlstate() const noexcept { return m_sqlstate; }

private:
    std::string m_detail;
    std::string m_hint;
    std::string m_sqlstate;
};

// An error in the command line: exit status 2.
class usage_failure : public failure {
    using failure::failure;
};

using value = std::optional<std::string>;

struct rows {
    std::vector<std::string> columns;
    std::vector<bool> numeric; // to be aligned to the right
    std::vector<std::vector<value>> cells;
};

class session {
public:
    explicit session(const connection_options &options);

    rows query(const std::string &sql, const std::vector<value> &parameters = {});
    // The only value of the only row.
    [[nodiscard]] value ask(const std::string &sql, const std::vector<value> &parameters = {});

    // A connection string for further connections to the same server as the same role, for the library.
    [[nodiscard]] std::string conninfo() const;
    [[nodiscard]] std::string database() const;

private:
    void explain_missing(const std::string &message, const std::string &sqlstate);

    struct finisher {
        void operator()(PGconn *connection) const noexcept { PQfinish(connection); }
    };
    std::unique_ptr<PGconn, finisher> m_connection;
};

// A call of a function with named arguments, of which only those are sent that were given:
// `scylla.submit(queue => $1, spec => $2)`.
class call {
public:
    explicit call(std::string function) : m_function{std::move(function)} {}
    call &argument(const char *name, value given) {
        if (given) {
            add(name, "$" + std::to_string(m_values.size() + 1));
            m_values.push_back(std::move(given));
        }
        return *this;
    }
    // Null itself, which is not the default.
    call &null(const char *name) {
        add(name, "null");
        return *this;
    }
    [[nodiscard]] std::string sql() const { return m_function + "(" + m_arguments + ")"; }
    [[nodiscard]] const std::vector<value> &values() const noexcept { return m_values; }

private:
    void add(const char *name, const std::string &expression) {
        m_arguments += (m_arguments.empty() ? "" : ", ") + std::string{name} + " => " + expression;
    }

    std::string m_function;
    std::string m_arguments;
    std::vector<value> m_values;
};

// The literal of a text[].
[[nodiscard]] std::string array_literal(const std::vector<std::string> &elements);

} // namespace scylla::cli
