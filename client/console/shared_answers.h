// Shares one answer among equal requests at about the same time: ten open pages cost as much as one.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

namespace scylla::cli::console {

class shared_answers {
public:
    // The stored answer if it is not older than that; otherwise the result of the function, which may throw.
    std::string get(const std::string &question, std::chrono::milliseconds not_older,
                    const std::function<std::string()> &answer);
    // After a change: old answers must not be shown.
    void forget();

private:
    struct entry {
        std::shared_future<std::string> answer;
        std::chrono::steady_clock::time_point asked;
        std::size_t number = 0;
    };
    void forget(const std::string &question, std::size_t number);

    std::mutex m_mutex;
    std::map<std::string, entry> m_entries;
    std::size_t m_number = 0;
};

} // namespace scylla::cli::console
