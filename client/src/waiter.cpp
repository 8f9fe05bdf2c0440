// Sleeping on the server while there is nothing to lease.
#include "worker_core.h"

namespace scylla::detail {

namespace {

constexpr std::chrono::milliseconds k_quick{5}; // a wait that returned sooner did not wait
constexpr std::chrono::seconds k_try_again{60}; // after the server has refused the wait

} // namespace

// NOLINTNEXTLINE(readability-function-size): one call in a loop, and each way in which it may end
void worker_core::wait() {
    std::size_t quick = 0; // times in a row that a wait returned at once, and nothing could be leased
    std::uint64_t leased = 0;
    try {
        for (;;) {
            nanoseconds pause{0};
            {
                std::unique_lock lock{m_mutex};
                m_for_waiter.wait(lock, [&] { return m_quit || m_stopping || m_wait_wanted; });
                if (m_quit || m_stopping)
                    return;
                // A long transaction may be leasing the tasks that the server sees.
                if (m_counters.leased != leased)
                    quick = 0;
                leased = m_counters.leased;
                if (quick > 0)
                    pause = backoff(quick, std::chrono::milliseconds{1}, m_options.poll_max);
            }
            if (pause.count() > 0 && !sleep(pause))
                return;
            const auto start = steady::now();
            bool found = false;
            bool works = true;
            bool refused = false;
            try {
                found = m_waiter
                            .call([&](client &c) {
                                {
                                    const std::lock_guard lock{m_mutex};
                                    m_waiter_works = true; // as far as we know
                                }
                                return c.wait_any(m_options.queues, k_wait);
                            })
                            .has_value();
            } catch (const timed_out &) { // statement_timeout
            } catch (const connection_lost &) {
                works = false;
            } catch (const read_only &) {
                works = false;
            } catch (const error &e) {
                log(log_level::warning, "wait-refused", "polling instead: " + e.message(), nullptr, &e);
                works = false;
                refused = true;
            }
            quick = found && steady::now() - start < k_quick ? quick + 1 : 0;
            {
                const std::lock_guard lock{m_mutex};
                m_counters.waits++;
                m_waiter_works = works;
                if (found) {
                    m_looking = true;
                    m_wait_wanted = false;
                }
            }
            if (found || !works)
                m_for_coordinator.notify_one();
            if (refused && !sleep(k_try_again))
                return;
        }
    } catch (const quitting &) {
    }
}

} // namespace scylla::detail
