#include <scylla/pool.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "pooled.h"
#include "text.h"

namespace scylla {

namespace detail {

struct pool_state {
    std::string conninfo;
    std::size_t max_connections;
    std::chrono::milliseconds patience;

    std::mutex mutex;
    std::condition_variable returned;
    std::size_t in_use = 0;
    std::vector<std::unique_ptr<connection>> idle;
};

pooled_connection::pooled_connection(pool &p) : m_state{*p.m_state} {
    {
        std::unique_lock lock{m_state.mutex};
        if (!m_state.returned.wait_for(lock, m_state.patience,
                                       [&] { return m_state.in_use < m_state.max_connections; })) {
            error_info info;
            info.message = "no connection became free within " + std::to_string(m_state.patience.count()) + " ms";
            info.hint = "All " + std::to_string(m_state.max_connections) + " connections of the pool are in use.";
            throw timed_out{std::move(info)};
        }
        m_state.in_use++;
        if (!m_state.idle.empty()) {
            m_connection = std::move(m_state.idle.back());
            m_state.idle.pop_back();
        }
    }
    try {
        if (!m_connection)
            m_connection = std::make_unique<connection>(m_state.conninfo);
    } catch (...) {
        give_back();
        throw;
    }
}

pooled_connection::~pooled_connection() { give_back(); }

void pooled_connection::give_back() noexcept {
    {
        const std::lock_guard lock{m_state.mutex};
        m_state.in_use--;
        if (m_connection)
            m_state.idle.push_back(std::move(m_connection));
    }
    m_state.returned.notify_one();
}

void pooled_connection::discard() noexcept {
    m_connection.reset();
    // The others are probably broken too: their server is gone.
    const std::lock_guard lock{m_state.mutex};
    m_state.idle.clear();
}

pqxx::result pool_executor::run(const statement &call, const params &values) {
    pooled_connection connection{m_pool};
    try {
        return connection->run(call, values);
    } catch (const connection_lost &) {
        connection.discard();
        throw;
    } catch (const read_only &) { // perhaps a server that is no longer the primary: choose again next time
        connection.discard();
        throw;
    }
}

} // namespace detail

pool::pool(const std::string &conninfo, std::size_t max_connections, std::chrono::milliseconds patience)
    : m_state{std::make_unique<detail::pool_state>()} {
    if (max_connections < 1) {
        error_info info;
        info.message = "a pool needs at least one connection";
        throw invalid_argument{std::move(info)};
    }
    m_state->conninfo = detail::complete_conninfo(conninfo, {{"fallback_application_name", "scylla client", nullptr}});
    m_state->max_connections = max_connections;
    m_state->patience = patience;
    m_state->idle.reserve(max_connections); // so that returning a connection cannot fail
}

pool::~pool() = default;

} // namespace scylla
