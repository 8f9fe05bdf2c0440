// The live data of all open pages: one query per interval, as long as there are listeners.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace scylla::cli::console {

class pulse {
public:
    // `beat` returns an event ready to be sent, and does not throw.
    pulse(std::chrono::milliseconds interval, std::function<std::string()> beat);
    ~pulse();
    pulse(const pulse &) = delete;
    pulse &operator=(const pulse &) = delete;

    // Whether there is room for one more listener.
    bool join();
    void leave();
    struct event {
        std::size_t number = 0;
        std::string text;
    };
    // Waits for the event after this one; nothing: the console ends. The first event of a listener may be a little old.
    std::optional<event> next(std::size_t after);
    void stop();

private:
    void run();

    std::chrono::milliseconds m_interval;
    std::function<std::string()> m_beat;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::size_t m_listeners = 0;
    event m_last;
    bool m_stopped = false;
    std::thread m_thread;
};

} // namespace scylla::cli::console
