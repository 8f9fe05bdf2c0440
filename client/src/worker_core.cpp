#include "worker_core.h"

#include <algorithm>

#include "contained.h"
#include "text.h"

namespace scylla {

namespace detail {

namespace {

[[noreturn]] void refuse(const char *option, const char *rule) {
    error_info info;
    info.message = std::string{"invalid value for worker option \""} + option + '"';
    info.detail = rule;
    throw invalid_argument{std::move(info)};
}

worker_options checked(worker_options options) {
    using std::chrono::milliseconds;
    if (options.queues.empty() || options.queues.size() > 64)
        refuse("queues", "It must be 1 to 64 queues.");
    if (options.concurrency < 1 || options.concurrency > 10000)
        refuse("concurrency", "It must be 1 to 10,000.");
    if (options.prefetch > 90000)
        refuse("prefetch", "It must be at most 90,000.");
    if (options.max_batch < 1 || options.max_batch > 100000)
        refuse("max_batch", "It must be 1 to 100,000.");
    if (options.lease_timeout && options.lease_timeout->count() <= 0)
        refuse("lease_timeout", "It must be more than 0.");
    if (options.stop_grace < milliseconds{0})
        refuse("stop_grace", "It must not be negative.");
    for (const auto &[name, value] : {std::pair{"capacity_interval", options.capacity_interval},
                                      {"poll_min", options.poll_min},
                                      {"poll_max", options.poll_max},
                                      {"call_timeout", options.call_timeout},
                                      {"reconnect_min", options.reconnect_min},
                                      {"reconnect_max", options.reconnect_max}})
        if (value <= milliseconds{0})
            refuse(name, "It must be more than 0.");
    // A server that accepts no writes has no tasks to lease: of several hosts use the one that does.
    options.conninfo = complete_conninfo(options.conninfo,
                                         {{"fallback_application_name", "scylla worker", nullptr},
                                          {"target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"},
                                          {"connect_timeout", "5", "PGCONNECT_TIMEOUT"},
                                          {"client_encoding", "UTF8", "PGCLIENTENCODING"},
                                          {"tcp_user_timeout", std::to_string(options.call_timeout.count()), nullptr}});
    return options;
}

// Notices are for people: they would tell at each new connection that a queue does not exist (yet).
constexpr const char *k_quiet = "set client_min_messages = warning";
constexpr const char *k_invalid = "invalid-outcome";
constexpr const char *k_read_committed = "set default_transaction_isolation = 'read committed'";

} // namespace

worker_core::worker_core(worker_options options, handler do_task)
    : m_options{checked(std::move(options))}, m_handler{std::move(do_task)}, m_name{m_options.name},
      m_control{surroundings("control"), {k_quiet, k_read_committed, "set lock_timeout = '1s'"}},
      m_heart{surroundings("heart"), {k_quiet, k_read_committed, "set lock_timeout = '500ms'"}}, m_waiter{surroundings(
                                                                                                              "waiter"),
                                                                                                          {k_quiet}} {}

worker_core::~worker_core() {
    m_signals.reset();
    quit();
    for (std::thread &thread : m_threads)
        thread.join();
}

std::size_t worker_core::run() {
    {
        const std::lock_guard lock{m_mutex};
        if (m_ran) {
            error_info info;
            info.message = "a worker runs once";
            throw error{std::move(info)};
        }
        m_ran = true;
    }
    try {
        start_thread(&worker_core::coordinate);
        start_thread(&worker_core::beat);
        if (m_options.use_wait)
            start_thread(&worker_core::wait);
        for (std::size_t i = 0; i < m_options.concurrency; i++)
            start_thread(&worker_core::handle);
    } catch (...) { // no more threads
        quit();
        throw;
    }
    supervise();
    quit();

    std::unique_lock lock{m_mutex};
    if (m_failure)
        std::rethrow_exception(m_failure);
    const std::size_t running = m_counters.running;
    lock.unlock();
    if (running > 0)
        log(log_level::warning, "abandoned", std::to_string(running) + " handlers are still running");
    log(log_level::info, "stopped", "the worker has stopped");
    return running;
}

void worker_core::start_thread(void (worker_core::*body)()) {
    const std::lock_guard lock{m_mutex};
    m_threads.emplace_back(body, this);
}

// The exception in progress ends the worker.
void worker_core::end_by_exception() noexcept {
    {
        const std::lock_guard lock{m_mutex};
        if (!m_failure)
            m_failure = std::current_exception();
        m_coordinator_done = true;
    }
    m_for_run.notify_all();
}

// Watches until the coordinator has ended, or the time to stop is over.
void worker_core::supervise() {
    using namespace std::chrono_literals;
    bool told = false;
    std::unique_lock lock{m_mutex};
    while (!m_coordinator_done) {
        const auto now = steady::now();
        if (m_stopping && now >= m_stop_at + m_options.stop_grace + std::chrono::seconds{1})
            return;

        // Handlers to notify: those whose lease could not be extended in time, and all when the worker stops.
        std::vector<std::pair<job_pointer, stop_reason>> news;
        nanoseconds shortest = m_options.call_timeout * 3;
        for (const job_pointer &job : m_held) {
            shortest = std::min(shortest, job->lasts);
            if (!job->gone && !job->overdue && job->phase != job_state::phase::finished && now >= job->expires()) {
                job->overdue = true;
                news.emplace_back(job, stop_reason::lease_lost);
                if (job->phase == job_state::phase::queued) // not worth starting: yield it, if it is still ours
                    give_back_queued(job);
            } else if (m_stopping && !told) {
                news.emplace_back(job, stop_reason::stopping);
            }
        }
        told = told || m_stopping;
        lock.unlock();

        for (const auto &[job, reason] : news) {
            if (reason == stop_reason::lease_lost)
                log(log_level::warning, "overdue", "the lease could not be extended in time", job.get());
            job->request_stop(reason);
        }
        m_control.cut_if_older(now - m_options.call_timeout);
        m_heart.cut_if_older(now - shortest / 3);
        m_waiter.cut_if_older(now - k_wait - m_options.call_timeout);

        lock.lock();
        if (!m_coordinator_done && (told || !m_stopping))
            m_for_run.wait_for(lock, m_held.empty() && !m_stopping ? 1000ms : 100ms);
    }
}

// Yields a task that has not been started. With the mutex held.
void worker_core::give_back_queued(const job_pointer &job) {
    m_queued.erase(std::find(m_queued.begin(), m_queued.end(), job));
    job->phase = job_state::phase::finished;
    m_finished.emplace_back(job, outcome::yield());
    m_for_coordinator.notify_one();
}

void worker_core::stop() noexcept {
    {
        const std::lock_guard lock{m_mutex};
        if (m_stopping)
            return;
        m_stopping = true;
        m_stop_at = steady::now();
    }
    m_for_run.notify_all();
    m_for_coordinator.notify_all();
    m_for_waiter.notify_all();
    m_waiter.close();
}

void worker_core::quit() noexcept {
    {
        const std::lock_guard lock{m_mutex};
        m_quit = true;
    }
    m_for_coordinator.notify_all();
    m_for_heart.notify_all();
    m_for_waiter.notify_all();
    m_for_handlers.notify_all();
    m_for_sleepers.notify_all();
    m_control.close();
    m_heart.close();
    m_waiter.close();
}

bool worker_core::sleep(nanoseconds time) {
    std::unique_lock lock{m_mutex};
    return !m_for_sleepers.wait_for(lock, time, [&] { return m_quit; });
}

link::surroundings worker_core::surroundings(const char *role) {
    link::surroundings around;
    around.conninfo = m_options.conninfo;
    around.reconnect_min = m_options.reconnect_min;
    around.reconnect_max = m_options.reconnect_max;
    around.sleep = [this](nanoseconds time) { return sleep(time); };
    around.connected = [this, role] {
        {
            const std::lock_guard lock{m_mutex};
            m_counters.connections++;
        }
        log(log_level::info, "connected", std::string{role} + " connection made");
    };
    around.failed = [this, role](const error &why, bool was_connected) {
        {
            const std::lock_guard lock{m_mutex};
            if (m_quit || (m_stopping && role == std::string_view{"waiter"}))
                return; // we cut it ourselves
        }
        log(log_level::warning, was_connected ? "connection-lost" : "connect-failed",
            std::string{role} + (was_connected ? " connection lost: " : " connection failed: ") + why.message(),
            nullptr, &why);
    };
    return around;
}

void worker_core::log(log_level level, std::string_view event, std::string message, const job_state *job,
                      const error *why) {
    if (!m_options.log)
        return;
    log_entry entry{level, event, std::move(message), std::nullopt, {}};
    if (job != nullptr)
        entry.rn = job->task.rn;
    if (why != nullptr)
        entry.sqlstate = why->sqlstate();
    const std::lock_guard lock{m_log_mutex};
    contained([&] { m_options.log(entry); });
}

// How many tasks the application lets it lease now.
std::size_t worker_core::allowed(std::size_t room) {
    std::size_t result = m_options.capacity ? 0 : room;
    if (m_options.capacity && !contained([&] { result = std::min(room, m_options.capacity(room)); }))
        log(log_level::error, "capacity-failed", "capacity threw an exception");
    return result;
}

void worker_core::stop_on_signals() {
    if (!m_signals)
        m_signals = std::make_unique<signal_watch>([this] { stop(); });
}

std::optional<worker_name> worker_core::name() {
    const std::lock_guard lock{m_mutex};
    return m_name;
}

worker_counters worker_core::counters() {
    const std::lock_guard lock{m_mutex};
    worker_counters counters = m_counters;
    counters.held = m_held.size();
    counters.calls = m_control.calls();
    return counters;
}

// ---- handlers ------------------------------------------------------------------------------------------------------

void worker_core::handle() {
    std::unique_lock lock{m_mutex};
    for (;;) {
        m_idle_handlers++;
        // Tasks that have not been started when the worker stops are yielded.
        m_for_handlers.wait(lock, [&] { return m_quit || (!m_stopping && !m_queued.empty()); });
        m_idle_handlers--;
        if (m_quit)
            return;
        const job_pointer job = std::move(m_queued.front());
        m_queued.pop_front();
        job->phase = job_state::phase::running;
        m_counters.running++;
        lock.unlock();

        const auto start = steady::now();
        outcome result = outcome::fail({k_invalid, ""}); // if there is no memory to say more
        try {
            result = run_handler(job);
#ifdef __GLIBCXX__
        } catch (abi::__forced_unwind &) { // its thread ends, and nothing else
            ended(job, start, outcome::fail({k_invalid, "the handler ended its thread (pthread_exit)"}));
            replace_this_thread();
            throw;
#endif
        } catch (...) { // NOLINT(bugprone-empty-catch)
        }
        ended(job, start, std::move(result));
        lock.lock();
    }
}

// A handler has ended.
void worker_core::ended(const job_pointer &job, steady::time_point start, outcome result) {
    const nanoseconds took = steady::now() - start;
    const std::lock_guard lock{m_mutex};
    m_counters.running--;
    m_handler_time.add(took);
    if (job->gone || job->phase == job_state::phase::abandoned) { // the result is not needed
        m_held.erase(job);
        m_for_coordinator.notify_one(); // there is room again
    } else {
        job->phase = job_state::phase::finished;
        m_finished.emplace_back(job, std::move(result));
        if (m_finished.size() >= m_notify_at || m_stopping)
            m_for_coordinator.notify_one();
    }
}

void worker_core::replace_this_thread() {
    const std::lock_guard lock{m_mutex};
    if (m_quit)
        return;
    for (std::thread &thread : m_threads)
        if (thread.get_id() == std::this_thread::get_id()) {
            std::thread next{&worker_core::handle, this};
            thread.detach();
            thread = std::move(next);
            return;
        }
}

namespace {

// jsonb holds no more, and several at once would exceed a message of the protocol.
outcome bounded(outcome made) {
    constexpr std::size_t most = std::size_t{1} << 28;
    for (const std::optional<json> *value : {&made.result(), &made.metrics()})
        if (*value && (*value)->text().size() > most)
            return outcome::fail({k_invalid, "the handler returned JSON of " + std::to_string((*value)->text().size()) +
                                                 " bytes, more than " + std::to_string(most)});
    return made;
}

} // namespace

// @throw std::bad_alloc
outcome worker_core::run_handler(const job_pointer &job) {
    task_error error{"exception", ""};
    scylla::job view{job};
    try {
        return bounded(m_handler(view));
    } catch (const abort_task &e) {
        return outcome::abort(e.error());
    } catch (const fail_task &e) {
        return outcome::fail(e.error(), e.retry_after());
    } catch (const std::exception &e) {
        if (const char *what = e.what(); what != nullptr)
            error.message = what;
        else
            error = {k_invalid, "the handler threw a " + type_of_exception() + " whose what() is null"};
#ifdef __GLIBCXX__
    } catch (abi::__forced_unwind &) {
        throw;
#endif
    } catch (...) {
        error.message = "an exception that is no std::exception: " + type_of_exception();
    }
    if (job->reason() != stop_reason::none)
        return outcome::yield();
    return outcome::fail(std::move(error));
}

} // namespace detail

worker::worker(worker_options options, handler do_task)
    : m_core{std::make_unique<detail::worker_core>(std::move(options), std::move(do_task))} {}

std::size_t worker::run() { return m_core->run(); }
void worker::stop() noexcept { m_core->stop(); }
void worker::stop_on_signals() { m_core->stop_on_signals(); }
worker::~worker() = default;
std::optional<worker_name> worker::name() const { return m_core->name(); }
worker_counters worker::counters() const { return m_core->counters(); }

} // namespace scylla
