// Calls a function, once, in a thread of its own, when SIGTERM or SIGINT arrives.
#ifndef SCYLLA_SRC_SIGNALS_H
#define SCYLLA_SRC_SIGNALS_H

#include <functional>
#include <thread>

#include <csignal>

namespace scylla::detail {

class signal_watch {
public:
    // @throw error there is another one
    explicit signal_watch(std::function<void()> stop);
    ~signal_watch(); // restores the handlers that were set before
    signal_watch(const signal_watch &) = delete;
    signal_watch &operator=(const signal_watch &) = delete;

private:
    int m_read = -1, m_write = -1;
    std::thread m_thread;
    struct sigaction m_before_term {
    }, m_before_int{};
};

} // namespace scylla::detail

#endif
