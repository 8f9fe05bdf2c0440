// Connections whose request has not arrived as a whole. One thread waits for all of them, so a slow or malicious client
// holds no thread that answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace scylla::cli::console {

// What is known of a request from its beginning.
class request_head {
public:
    explicit request_head(std::string_view received);
    [[nodiscard]] bool is_complete() const noexcept { return m_end != std::string_view::npos; }
    // Without the query.
    [[nodiscard]] std::string_view path() const;
    // Empty: there is none.
    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
    // Bytes of head and body; nothing: the length of the body is no number. A body that does not say its length is not
    // waited for.
    [[nodiscard]] std::optional<std::size_t> size() const;

private:
    std::string_view m_text;
    std::size_t m_end;
};

class gate {
public:
    struct rules {
        std::size_t most;                   // connections; of more, the oldest is closed
        std::size_t most_delayed;           // of more, the newest is refused
        std::size_t largest;                // bytes of a request that is waited for
        std::chrono::milliseconds patience; // from the connection to the whole request
        // How long a request has to wait, for example because its password is wrong.
        std::function<std::chrono::milliseconds(const request_head &)> delay;
        // Takes the connection, of which nothing has been read.
        std::function<void(int socket, const request_head &)> arrived;
    };
    explicit gate(rules given);
    ~gate();
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;

    void add(int socket);
    // Closes all connections.
    void stop();

private:
    using clock = std::chrono::steady_clock;
    struct visitor {
        clock::time_point until;
        bool delayed = false;
    };
    void run();
    void look(int socket, std::string &buffer);
    void pass(int socket, const request_head &head);
    void expire(std::string &buffer);
    [[nodiscard]] int next_timeout();
    void turn_away(int socket, const char *status);

    const rules m_rules;
    std::mutex m_mutex;
    std::map<int, visitor> m_visitors;
    std::size_t m_delayed = 0;
    bool m_stopped = false;
    int m_epoll;
    int m_wake;
    std::thread m_thread;
};

} // namespace scylla::cli::console
