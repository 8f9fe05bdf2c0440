#include "link.h"

#include <random>

namespace scylla::detail {

namespace {

double random_fraction() {
    thread_local std::minstd_rand generator{std::random_device{}()};
    return std::uniform_real_distribution<double>{0, 1}(generator);
}

} // namespace

void link::ensure() {
    while (!m_client) {
        if (m_closed)
            throw quitting{};
        // The first attempt after a loss is made at once. A connection counts as good only after a successful call.
        if (m_failures > 1 &&
            !m_around.sleep(
                jittered(backoff(m_failures - 1, m_around.reconnect_min, m_around.reconnect_max), random_fraction())))
            throw quitting{};
        try {
            auto made = std::make_unique<connection>(m_around.conninfo);
            {
                const std::lock_guard lock{m_mutex};
                m_connection = std::move(made);
            }
            const busy mark{*this};
            for (const std::string &command : m_setup)
                m_connection->command(command);
            m_client.reset(new client{std::make_unique<owned_executor>(*m_connection)});
            m_was_connected = true;
            m_around.connected();
        } catch (const error &e) {
            drop(e);
            if (!m_was_connected && e.sqlstate() == "3D000")
                throw; // trying again would not help
            if (!m_around.sleep(nanoseconds{0}))
                throw quitting{};
        }
    }
}

void link::drop(const error &why) {
    const bool was_connected = m_client != nullptr;
    m_client.reset();
    std::unique_ptr<connection> broken;
    {
        const std::lock_guard lock{m_mutex};
        broken = std::move(m_connection);
    }
    m_failures++;
    m_around.failed(why, was_connected);
}

void link::close() noexcept {
    m_closed = true;
    cut_if_older(steady::time_point::max());
}

void link::cut_if_older(steady::time_point time) noexcept {
    const std::lock_guard lock{m_mutex};
    const steady::rep started = m_started.load();
    if (m_connection && started != 0 && steady::time_point{steady::duration{started}} < time)
        m_connection->cut();
}

} // namespace scylla::detail
