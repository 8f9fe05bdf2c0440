// A connection of one thread of a worker, which makes it again when it breaks. Another thread may cut it.
#ifndef SCYLLA_SRC_LINK_H
#define SCYLLA_SRC_LINK_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "connection.h"
#include "pacing.h"

namespace scylla::detail {

// Thrown to end a thread of a worker when its time is over.
struct quitting {};

class link {
public:
    struct surroundings {
        std::string conninfo;
        nanoseconds reconnect_min, reconnect_max;
        std::function<bool(nanoseconds)> sleep; // false: the worker quits
        std::function<void()> connected;
        std::function<void(const error &, bool was_connected)> failed;
    };

    // setup: commands for each new connection.
    link(surroundings around, std::vector<std::string> setup)
        : m_around{std::move(around)}, m_setup{std::move(setup)} {}

    // Runs a function on a client, or on an executor, of this connection, which is made first if there is none.
    // @throw quitting the link is closed, or there is no more time to connect
    // @throw not_found there is no such database, and has not been
    // @throw connection_lost, read_only: the connection is gone, and what the function did is in doubt
    // @throw error anything else that the function throws
    template <class F> auto call(F function) -> decltype(function(std::declval<client &>())) {
        ensure();
        m_calls.fetch_add(1, std::memory_order_relaxed);
        const busy mark{*this};
        try {
            if constexpr (std::is_void_v<decltype(function(*m_client))>) {
                function(*m_client);
                m_failures = 0;
            } else {
                auto result = function(*m_client);
                m_failures = 0;
                return result;
            }
        } catch (const connection_lost &e) {
            drop(e);
            throw;
        } catch (const read_only &e) { // not a primary any more: choose again
            drop(e);
            throw;
        }
    }
    template <class F> void call_raw(F function) {
        call([&](client &) {
            owned_executor executor{*m_connection};
            function(executor);
        });
    }

    // From any thread: the number of calls.
    [[nodiscard]] std::uint64_t calls() const noexcept { return m_calls.load(std::memory_order_relaxed); }

    // From any thread: breaks the connection if a call on it has been running since before that time.
    void cut_if_older(steady::time_point time) noexcept;
    // From any thread: breaks the connection, so that a running call fails, and refuses all further calls.
    void close() noexcept;

private:
    struct busy {
        // Either this notices that the link is closed, or close() notices the call.
        explicit busy(link &l) : m_link{l} {
            m_link.m_started.store(steady::now().time_since_epoch().count());
            if (m_link.m_closed) {
                m_link.m_started.store(0);
                throw quitting{};
            }
        }
        ~busy() { m_link.m_started.store(0); }
        busy(const busy &) = delete;
        busy &operator=(const busy &) = delete;
        link &m_link;
    };

    void ensure();
    void drop(const error &why);

    surroundings m_around;
    std::vector<std::string> m_setup;
    std::size_t m_failures = 0;
    bool m_was_connected = false;
    std::atomic<std::uint64_t> m_calls{0};
    std::atomic<bool> m_closed{false};
    std::atomic<steady::rep> m_started{0}; // of the call that is running; 0: none
    std::mutex m_mutex;                    // guards the pointer against cut()
    std::unique_ptr<connection> m_connection;
    std::unique_ptr<client> m_client;
};

} // namespace scylla::detail

#endif
