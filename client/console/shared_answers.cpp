#include "shared_answers.h"

namespace scylla::cli::console {

namespace {
constexpr std::size_t k_most = 200;
}

std::string shared_answers::get(const std::string &question, std::chrono::milliseconds not_older,
                                const std::function<std::string()> &answer) {
    std::promise<std::string> promise;
    std::size_t number = 0;
    {
        std::unique_lock lock{m_mutex};
        const auto now = std::chrono::steady_clock::now();
        const auto known = m_entries.find(question);
        if (known != m_entries.end() && now - known->second.asked <= not_older) {
            const std::shared_future<std::string> other = known->second.answer;
            lock.unlock();
            return other.get();
        }
        if (m_entries.size() >= k_most)
            m_entries.clear();
        number = ++m_number;
        m_entries[question] = entry{promise.get_future().share(), now, number};
    }
    try {
        std::string text = answer();
        promise.set_value(text);
        return text;
    } catch (...) {
        promise.set_exception(std::current_exception());
        forget(question, number);
        throw;
    }
}

void shared_answers::forget() {
    const std::lock_guard lock{m_mutex};
    m_entries.clear();
}

void shared_answers::forget(const std::string &question, std::size_t number) {
    const std::lock_guard lock{m_mutex};
    const auto known = m_entries.find(question);
    if (known != m_entries.end() && known->second.number == number)
        m_entries.erase(known);
}

} // namespace scylla::cli::console
