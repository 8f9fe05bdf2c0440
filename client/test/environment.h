// The server for the tests: the one that the environment names, as for psql.
#ifndef SCYLLA_TEST_ENVIRONMENT_H
#define SCYLLA_TEST_ENVIRONMENT_H

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>
#include <pqxx/pqxx>

namespace scylla_test {

// A name that no other test has used, in an earlier process with the same number either.
inline std::string unique(const std::string &what) {
    static std::atomic<int> last{0};
    static const auto begun = std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds{1};
    return what + '-' + std::to_string(getpid()) + '-' + std::to_string(begun % 1'000'000) + '-' +
           std::to_string(++last);
}

// Waits until a condition holds; false at the deadline.
template <class F> bool eventually(F condition, std::chrono::seconds patience = std::chrono::seconds{60}) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return true;
}

// The first field of the first row, as text.
inline std::string ask(pqxx::connection &connection, const std::string &sql) {
    pqxx::nontransaction tx{connection};
    const pqxx::result rows = tx.exec(sql);
    return rows.size() == 0 || rows[0][0].is_null() ? "" : rows[0][0].c_str();
}

inline std::string ask(const std::string &sql) {
    pqxx::connection connection{""};
    return ask(connection, sql);
}

} // namespace scylla_test

#endif
