/// @file pool.h
/// A few connections that many threads share.
#ifndef SCYLLA_POOL_H
#define SCYLLA_POOL_H

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace scylla {

namespace detail {
class connection;
class pooled_connection;
struct pool_state;
} // namespace detail

/// Connections that are made when they are needed, kept for the next call, and replaced when they break. Thread-safe.
class pool {
public:
    /// Connects to nothing yet.
    /// @param conninfo a connection string or URI for libpq, also with several hosts (for failover with
    ///        target_session_attrs=read-write); missing settings come from the environment (PGHOST, …)
    /// @param max_connections how many calls may run at the same time; more wait for their turn
    /// @param patience how long a call may wait for its turn before it fails with timed_out
    /// @throw invalid_argument the string is malformed
    explicit pool(const std::string &conninfo, std::size_t max_connections = 4,
                  std::chrono::milliseconds patience = std::chrono::seconds{30});
    ~pool(); ///< No call may be running any more.
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;

private:
    friend class detail::pooled_connection;
    std::unique_ptr<detail::pool_state> m_state;
};

} // namespace scylla

#endif
