// SIGTERM and SIGINT: the handler writes a byte, a thread reads it.
#include "signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <scylla/worker.h>

namespace scylla::detail {

namespace {

std::atomic<int> the_pipe{-1}; // where the handler writes

void on_signal(int) {
    const int saved = errno;
    const int pipe = the_pipe.load();
    if (pipe >= 0 && write(pipe, "s", 1) < 0) {
        // full: the thread has enough to read
    }
    errno = saved;
}

[[noreturn]] void refuse(const std::string &message) {
    error_info info;
    info.message = message;
    throw error{std::move(info)};
}

} // namespace

signal_watch::signal_watch(std::function<void()> stop) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        refuse("could not make a pipe: " + std::generic_category().message(errno));
    m_read = ends[0];
    m_write = ends[1];
    int none = -1;
    if (!the_pipe.compare_exchange_strong(none, m_write)) {
        close(m_read);
        close(m_write);
        refuse("another worker of this process stops on signals already");
    }
    fcntl(m_read, F_SETFL, 0); // the thread waits, the handler never does
    m_thread = std::thread{[this, stop = std::move(stop)] {
        char byte = 0;
        while (read(m_read, &byte, 1) < 0 && errno == EINTR) {
        }
        if (byte == 's')
            stop();
    }};
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &m_before_term);
    sigaction(SIGINT, &action, &m_before_int);
}

signal_watch::~signal_watch() {
    sigaction(SIGTERM, &m_before_term, nullptr);
    sigaction(SIGINT, &m_before_int, nullptr);
    the_pipe = -1;
    if (write(m_write, "q", 1) < 0) {
        // full: the thread has something to read
    }
    m_thread.join();
    close(m_read);
    close(m_write);
}

} // namespace scylla::detail
