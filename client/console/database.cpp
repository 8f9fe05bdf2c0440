#include "database.h"

#include <chrono>
#include <utility>

namespace scylla::cli::console {

namespace {

constexpr std::chrono::seconds k_patience{10};

// 57P01 to 57P05: the server ends the session.
bool is_lost(const failure &error) {
    const std::string &state = error.sqlstate();
    return state.starts_with("08") || state.starts_with("57P");
}

} // namespace

sessions::sessions(std::string conninfo, use for_what, std::size_t most)
    : m_conninfo{std::move(conninfo)}, m_use{for_what}, m_free{most} {}

std::unique_ptr<session> sessions::connect() const {
    connection_options options;
    // The user's options come later, and override these.
    options.dbname = "connect_timeout=5 tcp_user_timeout=10000 " + m_conninfo;
    options.never_ask = true;
    try {
        auto made = std::make_unique<session>(options);
        // A look changes nothing, whatever function it calls, and is over before a query is compiled. No operator that
        // somebody has put into a schema of the search_path runs with the console's rights.
        made->query("select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false), "
                    "set_config('application_name', 'scylla console', false), set_config('timezone', 'UTC', false), "
                    "set_config('statement_timeout', '10s', false), set_config('client_min_messages', 'error', false), "
                    "set_config('jit', 'off', false), "
                    "set_config('default_transaction_read_only', $1, false)",
                    {m_use == use::looking ? "on" : "off"});
        return made;
    } catch (const failure &error) {
        throw lost{error};
    }
}

sessions::loan::loan(sessions &from) : owner{from} {
    std::unique_lock lock{owner.m_mutex};
    if (!owner.m_returned.wait_for(lock, k_patience, [this] { return owner.m_free > 0; }))
        throw failure{"all sessions of the console are busy", {}, {}, "57014"};
    owner.m_free--;
    if (!owner.m_idle.empty()) {
        server = std::move(owner.m_idle.back());
        owner.m_idle.pop_back();
        return;
    }
    lock.unlock();
    try {
        server = owner.connect();
        is_new = true;
    } catch (...) {
        lock.lock();
        owner.m_free++;
        owner.m_returned.notify_one();
        throw;
    }
}

sessions::loan::~loan() {
    const std::lock_guard lock{owner.m_mutex};
    owner.m_free++;
    if (server)
        owner.m_idle.push_back(std::move(server));
    owner.m_returned.notify_one();
}

void sessions::loan::drop_if_lost(const failure &error) {
    if (!is_lost(error))
        return;
    server.reset();
    // The others are usually lost too: the server was restarted.
    {
        const std::lock_guard lock{owner.m_mutex};
        owner.m_idle.clear();
    }
    throw lost{error};
}

std::string sessions::ask(const std::string &sql, const std::vector<value> &parameters) {
    bool was_idle = true;
    try {
        return with_session([&](session &server) {
            // If the session is lost during a change, its effect is not known: so the session is tested before.
            if (m_use == use::acting)
                server.query("select 1");
            was_idle = false;
            return server.ask(sql, parameters).value_or("");
        });
    } catch (const lost &) {
        if (m_use == use::acting && !was_idle)
            throw;
    }
    return with_session([&](session &server) { return server.ask(sql, parameters).value_or(""); });
}

} // namespace scylla::cli::console
