#include "pulse.h"

#include <utility>

namespace scylla::cli::console {

namespace {
// Each one holds a thread of the server: the other threads are for requests.
constexpr std::size_t k_most_listeners = 24;
} // namespace

pulse::pulse(std::chrono::milliseconds interval, std::function<std::string()> beat)
    : m_interval{interval}, m_beat{std::move(beat)}, m_thread{[this] { run(); }} {}

pulse::~pulse() {
    stop();
    m_thread.join();
}

bool pulse::join() {
    const std::lock_guard lock{m_mutex};
    if (m_listeners >= k_most_listeners)
        return false;
    if (m_listeners++ == 0)
        m_last.text.clear(); // without listeners it has become old
    m_changed.notify_all();
    return true;
}

void pulse::leave() {
    const std::lock_guard lock{m_mutex};
    m_listeners--;
}

std::optional<pulse::event> pulse::next(std::size_t after) {
    std::unique_lock lock{m_mutex};
    m_changed.wait(lock, [&] { return m_stopped || (m_last.number > after && !m_last.text.empty()); });
    if (m_stopped)
        return std::nullopt;
    return m_last;
}

void pulse::stop() {
    const std::lock_guard lock{m_mutex};
    m_stopped = true;
    m_changed.notify_all();
}

void pulse::run() {
    std::unique_lock lock{m_mutex};
    while (!m_stopped) {
        m_changed.wait(lock, [this] { return m_stopped || m_listeners > 0; });
        if (m_stopped)
            return;
        lock.unlock();
        std::string text = m_beat();
        lock.lock();
        m_last.number++;
        m_last.text = std::move(text);
        m_changed.notify_all();
        const auto until = std::chrono::steady_clock::now() + m_interval;
        m_changed.wait_until(lock, until, [this] { return m_stopped || (m_listeners > 0 && m_last.text.empty()); });
    }
}

} // namespace scylla::cli::console
