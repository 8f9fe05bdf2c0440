#include "connection.h"

#include <cstdlib>
#include <new>

#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/socket.h>
#include <unistd.h>

#include "text.h"

namespace scylla::detail {

namespace {

std::string quote_value(std::string_view value) {
    std::string text = "'";
    for (const char c : value) {
        if (c == '\'' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + '\'';
}

} // namespace

std::string complete_conninfo(const std::string &conninfo, const std::vector<setting> &defaults) {
    char *problem = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options{
        PQconninfoParse(conninfo.c_str(), &problem), &PQconninfoFree};
    const std::unique_ptr<char, decltype(&PQfreemem)> message{problem, &PQfreemem};
    if (!options) {
        if (!message)
            throw std::bad_alloc{};
        error_info info;
        info.message = message.get();
        while (!info.message.empty() && info.message.back() == '\n')
            info.message.pop_back();
        throw invalid_argument{std::move(info)};
    }
    std::string text;
    std::set<std::string> said;
    for (const PQconninfoOption *option = options.get(); option->keyword != nullptr; option++) {
        if (option->val == nullptr)
            continue;
        said.insert(option->keyword);
        text += (text.empty() ? "" : " ") + std::string{option->keyword} + '=' + quote_value(option->val);
    }
    for (const setting &setting : defaults)
        if (said.count(setting.keyword) == 0 &&
            // NOLINTNEXTLINE(concurrency-mt-unsafe): an application that changes its environment does so before it has
            // threads
            (setting.environment == nullptr || std::getenv(setting.environment) == nullptr))
            text += (text.empty() ? "" : " ") + std::string{setting.keyword} + '=' + quote_value(setting.value);
    return text;
}

void rethrow(const char *rule_of_55000, bool verbose) {
    try {
        throw;
    } catch (const error &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const pqxx::broken_connection &failure) {
        throw_error(parse_error(failure.what(), ""));
    } catch (const pqxx::in_doubt_error &failure) {
        throw_error(parse_error(failure.what(), ""));
    } catch (const std::exception &failure) {
        const auto sqlstate = sqlstate_of(failure);
        error_info info = parse_error(failure.what(), sqlstate.value_or(""));
        if (!sqlstate) // a misuse of libpqxx, such as a second transaction on a connection
            throw error{std::move(info)};
        if (!verbose && info.rule.empty() && info.sqlstate == "55000")
            info.rule = rule_of_55000;
        throw_error(std::move(info));
    }
}

namespace {

pqxx::connection connected(const std::string &conninfo) {
    try {
        return pqxx::connection{conninfo};
    } catch (const pqxx::broken_connection &failure) {
        error_info info = parse_error(failure.what(), "");
        name_missing_database(info);
        throw_error(std::move(info));
    } catch (...) {
        rethrow("", true);
    }
}

} // namespace

connection::connection(const std::string &conninfo) : m_connection{connected(conninfo)} {
    make_verbose(m_connection);
    m_socket = fcntl(m_connection.sock(), F_DUPFD_CLOEXEC, 0);
}

connection::~connection() {
    if (m_socket >= 0)
        close(m_socket);
}

pqxx::result connection::run(const statement &call, const params &values) {
    return translated(call, true, [&] {
        pqxx::nontransaction tx{m_connection};
        if (m_prepared.insert(&call).second) {
            try {
                m_connection.prepare(call.name, call.sql);
            } catch (...) {
                m_prepared.erase(&call);
                throw;
            }
        }
        return exec_prepared(tx, call.name, values);
    });
}

void connection::command(const std::string &text) {
    try {
        pqxx::nontransaction tx{m_connection};
        tx.exec(text);
    } catch (...) {
        rethrow("", true);
    }
}

void connection::cut() const noexcept {
    if (m_socket >= 0)
        shutdown(m_socket, SHUT_RDWR);
}

} // namespace scylla::detail
