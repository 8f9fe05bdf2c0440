// The database for the console: a few sessions that many threads share, which are replaced when they are lost.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "session.h"

namespace scylla::cli::console {

// The database does not answer, or has ended the session.
class lost : public failure {
public:
    explicit lost(const failure &why) : failure{why.what(), why.detail(), why.hint(), "08006"} {}
};

class sessions {
public:
    enum class use { looking, acting };
    sessions(std::string conninfo, use, std::size_t most);

    // The only value of the only row; null as an empty text. Throws lost, or failure if the server refuses.
    std::string ask(const std::string &sql, const std::vector<value> &parameters = {});
    // For work of several statements.
    template <class Function> auto with_session(Function function) {
        loan lent{*this};
        try {
            return function(*lent.server);
        } catch (const failure &error) {
            lent.drop_if_lost(error);
            throw;
        }
    }

private:
    // A session, for as long as this lives.
    struct loan {
        explicit loan(sessions &);
        ~loan();
        loan(const loan &) = delete;
        loan &operator=(const loan &) = delete;
        void drop_if_lost(const failure &error);
        sessions &owner;
        std::unique_ptr<session> server;
        bool is_new = false;
    };
    [[nodiscard]] std::unique_ptr<session> connect() const;

    std::string m_conninfo;
    use m_use;
    std::mutex m_mutex;
    std::condition_variable m_returned;
    std::vector<std::unique_ptr<session>> m_idle;
    std::size_t m_free;
};

} // namespace scylla::cli::console
