// Connections of our own: verbose about errors, with prepared statements, and possible to cut from another thread.
#ifndef SCYLLA_SRC_CONNECTION_H
#define SCYLLA_SRC_CONNECTION_H

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <scylla/client.h>

#include "compat.h"
#include "executor.h"

namespace scylla::detail {

struct setting {
    const char *keyword;
    std::string value;
    const char *environment; // the variable that decides if it is set; may be null
};

// The connection string, with the defaults of settings that are neither in it nor in the environment. @throw
// invalid_argument it is malformed
std::string complete_conninfo(const std::string &conninfo, const std::vector<setting> &defaults);

class connection {
public:
    // @throw connection_lost
    explicit connection(const std::string &conninfo);
    ~connection();
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    // A transaction of its own. @throw error
    pqxx::result run(const statement &call, const params &values);
    // A statement that is not a call, and returns nothing. @throw error
    void command(const std::string &text);

    // Breaks the connection, so that a running statement fails at once. From any thread.
    void cut() const noexcept;

private:
    pqxx::connection m_connection;
    std::set<const statement *> m_prepared;
    int m_socket; // a duplicate: libpq may have closed its own, and its number may have been reused
};

// Runs calls on a connection that the caller keeps.
class owned_executor final : public executor {
public:
    explicit owned_executor(connection &c) : m_connection{c} {}
    pqxx::result run(const statement &call, const params &values) override { return m_connection.run(call, values); }

private:
    connection &m_connection;
};

} // namespace scylla::detail

#endif
