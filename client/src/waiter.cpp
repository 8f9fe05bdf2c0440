// Sleeping on the server while there is nothing to lease.
#include "worker_core.h"

namespace scylla::detail {

namespace {

constexpr std::chrono::milliseconds k_quick{5}; // a wait that returned sooner did not wait
constexpr std::chrono::seconds k_try_again{60}; // after the server has refused the wait

} // namespace

void worker_core::wait() {
    quick_waits quick;
    try {
        while (wait_until_wanted(quick)) {
            const auto start = steady::now();
            const wait_result result = wait_once();
            quick.count = result.found && steady::now() - start < k_quick ? quick.count + 1 : 0;
            note_wait(result);
            if (result.refused && !sleep(k_try_again))
                return;
        }
    } catch (const quitting &) {
    } catch (...) {
        end_by_exception();
    }
}

// False: the worker stops.
bool worker_core::wait_until_wanted(quick_waits &quick) {
    std::unique_lock lock{m_mutex};
    m_for_waiter.wait(lock, [&] { return m_quit || m_stopping || m_wait_wanted; });
    if (m_quit || m_stopping)
        return false;
    if (m_counters.leased != quick.leased)
        quick.count = 0;
    quick.leased = m_counters.leased;
    lock.unlock();
    // A long transaction may be leasing the tasks that the server sees.
    return quick.count == 0 || sleep(backoff(quick.count, std::chrono::milliseconds{1}, m_options.poll_max));
}

worker_core::wait_result worker_core::wait_once() {
    const auto wait_any = [&](client &c) {
        {
            const std::lock_guard lock{m_mutex};
            m_waiter_works = true; // as far as we know
        }
        return c.wait_any(m_options.queues, k_wait);
    };
    wait_result result;
    try {
        result.found = m_waiter.call(wait_any).has_value();
    } catch (const timed_out &) { // statement_timeout
    } catch (const connection_lost &) {
        result.works = false;
    } catch (const read_only &) {
        result.works = false;
    } catch (const error &e) {
        log(log_level::warning, "wait-refused", "polling instead: " + e.message(), nullptr, &e);
        result.works = false;
        result.refused = true;
    }
    return result;
}

void worker_core::note_wait(const wait_result &result) {
    {
        const std::lock_guard lock{m_mutex};
        m_counters.waits++;
        m_waiter_works = result.works;
        if (result.found) {
            m_looking = true;
            m_wait_wanted = false;
        }
    }
    if (result.found || !result.works)
        m_for_coordinator.notify_one();
}

} // namespace scylla::detail
