// Leasing: the only thread that decides what to request from the server next.
#include <algorithm>

#include "calls.h"
#include "worker_core.h"

namespace scylla::detail {

// NOLINTNEXTLINE(readability-function-size): what each kind of error means to all of the worker
void worker_core::coordinate() {
    try {
        name_oneself();
        for (;;) {
            try {
                {
                    const std::lock_guard lock{m_mutex};
                    if (m_stopping)
                        break;
                }
                step();
            } catch (const connection_lost &) { // logged; the next call connects again
            } catch (const read_only &) {
            } catch (const error &e) {
                if (!m_started && (dynamic_cast<const not_supported *>(&e) || dynamic_cast<const denied *>(&e) ||
                                   dynamic_cast<const invalid_argument *>(&e) || e.sqlstate() == "3D000"))
                    throw; // not a temporary error
                log(log_level::error, "call-failed", e.message(), nullptr, &e);
                if (!sleep(m_options.reconnect_max))
                    break;
            }
        }
        shut_down();
    } catch (const quitting &) {
    } catch (...) {
        return end_by_exception();
    }
    {
        const std::lock_guard lock{m_mutex};
        m_coordinator_done = true;
    }
    m_for_run.notify_all();
}

void worker_core::name_oneself() {
    {
        const std::lock_guard lock{m_mutex};
        if (m_name)
            return;
    }
    for (;;) {
        try {
            worker_name name = m_control.call([](client &c) { return c.register_worker(); });
            m_named_by_server = true;
            log(log_level::info, "named", "the server calls this worker " + name.str());
            const std::lock_guard lock{m_mutex};
            m_name = std::move(name);
            return;
        } catch (const connection_lost &) {
        } catch (const read_only &) {
        }
        const std::lock_guard lock{m_mutex};
        if (m_stopping)
            throw quitting{};
    }
}

// One exchange with the server, when there is something to report or to lease.
void worker_core::step() {
    report_list batch;
    std::size_t want = 0;
    {
        std::unique_lock lock{m_mutex};
        wait_for_work(lock);
        if (m_quit)
            throw quitting{};
        if (m_stopping)
            return;
        const auto now = steady::now();
        batch = take_due(now);
        if (m_looking && (!batch.empty() || may_lease(now)))
            want = room(batch.size());
    }
    if (want > 0) {
        const std::size_t now = allowed(want);
        if (now < want) {
            const std::lock_guard lock{m_mutex};
            m_capacity_at = steady::now() + m_options.capacity_interval;
        }
        want = now;
    }
    const auto start = steady::now();
    std::exception_ptr refused;
    try {
        if (m_adopt)
            adopt();
        if (want > 0)
            refused = lease_pass(batch, want);
        finish(batch); // the reports need no right to lease
    } catch (...) {
        put_back(batch, true);
        if (want > 0 && m_named_by_server)
            m_adopt = true;
        throw;
    }
    if (refused) {
        put_back(batch, false);
        std::rethrow_exception(refused);
    }
    if (want > 0 || !batch.empty()) {
        m_round_trip.add(steady::now() - start);
        m_started = true;
    }
    put_back(batch, false);
}

bool worker_core::may_lease(steady::time_point now) const { return m_looking && now >= m_capacity_at && room(0) > 0; }

// How many more leases there is room for, without those that are about to end.
std::size_t worker_core::room(std::size_t about_to_leave) const {
    const std::size_t limit = m_options.concurrency + m_options.prefetch;
    const std::size_t held = m_held.size() - about_to_leave;
    return held < limit ? limit - held : 0;
}

// The reports that are due now, up to the maximum for one call.
worker_core::report_list worker_core::take_due(steady::time_point now) {
    constexpr std::size_t most = std::size_t{1} << 24; // bytes of what one call reports, unless one alone has more
    report_list due;
    report_list later;
    std::size_t size = 0;
    while (!m_finished.empty() && due.size() < m_options.max_batch && size < most) {
        report &next = m_finished.front();
        const bool fits = due.empty() || size + next.size() <= most;
        if (next.not_before <= now && fits) {
            size += next.size();
            due.push_back(std::move(next));
        } else {
            later.push_back(std::move(next));
        }
        m_finished.pop_front();
    }
    m_finished.insert(m_finished.begin(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
    return due;
}

// Returns when a report is due, the worker stops, or there may be tasks to lease.
void worker_core::wait_for_work(std::unique_lock<std::mutex> &lock) {
    while (!m_quit && !m_stopping) {
        const auto now = steady::now();
        if (const std::size_t due = count_due(now); due > 0)
            return wait_for_more(lock, due);
        if (may_lease(now))
            return;
        auto next = next_report();
        if (!m_looking) {
            const auto poll_at = request_wait();
            if (now >= poll_at) {
                m_looking = true;
                m_counters.polls++;
                continue;
            }
            next = std::min(next, poll_at);
        } else if (room(0) > 0) {
            next = std::min(next, m_capacity_at);
        }
        if (next == steady::time_point::max())
            m_for_coordinator.wait(lock);
        else
            m_for_coordinator.wait_until(lock, next);
    }
}

std::size_t worker_core::count_due(steady::time_point now) const {
    return static_cast<std::size_t>(
        std::count_if(m_finished.begin(), m_finished.end(), [&](const report &r) { return r.not_before <= now; }));
}

// When the next report may be sent; max: there is none.
steady::time_point worker_core::next_report() const {
    auto next = steady::time_point::max();
    for (const report &r : m_finished)
        next = std::min(next, r.not_before);
    return next;
}

// A short wait lets more reports share the round trip, if the rest is about to be done.
void worker_core::wait_for_more(std::unique_lock<std::mutex> &lock, std::size_t due) {
    const std::size_t outstanding = m_queued.size() + m_counters.running;
    const nanoseconds time = linger(outstanding, m_options.concurrency, m_handler_time.value(), m_round_trip.value());
    if (due >= m_options.max_batch || time.count() <= 0)
        return;
    m_notify_at = m_finished.size() + std::min(outstanding, m_options.max_batch - due);
    m_for_coordinator.wait_for(lock, time, [&] { return m_quit || m_stopping || m_finished.size() >= m_notify_at; });
    m_notify_at = 1;
}

// There is nothing to lease: the waiter must wait. Returns when to look for tasks without it; max: it works.
steady::time_point worker_core::request_wait() {
    m_wait_wanted = true;
    m_for_waiter.notify_one();
    return m_waiter_works ? steady::time_point::max()
                          : m_last_pass + backoff(m_fruitless, m_options.poll_min, m_options.poll_max);
}

// Leases from the queues in turn, until there is no more room or all have been tried. The completions of the batch are
// sent with the first lease, if possible. Returns why the server refuses to lease.
std::exception_ptr worker_core::lease_pass(report_list &batch, std::size_t want) {
    worker_name me;
    {
        const std::lock_guard lock{m_mutex};
        m_looking = false; // a thread that learns of tasks meanwhile sets it again
        m_last_pass = steady::now();
        me = *m_name;
    }
    pass_result pass;
    try {
        pass = lease_in_turn(me, want, completions_in(batch));
    } catch (const error &e) {
        const std::lock_guard lock{m_mutex};
        m_looking = true;
        if (dynamic_cast<const connection_lost *>(&e) != nullptr || dynamic_cast<const read_only *>(&e) != nullptr)
            throw;
        return std::current_exception();
    }
    const std::lock_guard lock{m_mutex};
    m_fruitless = pass.leased > 0 ? 0 : m_fruitless + 1;
    m_looking = m_looking || !pass.exhausted;
    return nullptr;
}

// The reports that can be sent together with a lease.
std::vector<worker_core::report *> worker_core::completions_in(report_list &batch) {
    std::vector<report *> completions;
    for (report &r : batch)
        if (r.result.what() == outcome::kind::complete && !r.result.metrics() && r.doubts == 0)
            completions.push_back(&r);
    return completions;
}

worker_core::pass_result worker_core::lease_in_turn(const worker_name &me, std::size_t want,
                                                    std::vector<report *> completions) {
    pass_result pass;
    const std::size_t n = m_options.queues.size();
    const std::size_t first = m_next_queue++ % n;
    for (std::size_t i = 0; i < n; i++) {
        if (want == 0) {
            pass.exhausted = false;
            break;
        }
        const lease_request request{m_options.queues[(first + i) % n], me,
                                    static_cast<int>(std::min(want, m_options.max_batch))};
        const auto sent = steady::now();
        const std::size_t got = accept(lease(request, completions), sent, false);
        completions.clear();
        pass.leased += got;
        want -= std::min(want, got);
        if (got == static_cast<std::size_t>(request.max_tasks))
            pass.exhausted = false;
    }
    return pass;
}

std::vector<leased_job> worker_core::lease(const lease_request &request, const std::vector<report *> &completions) {
    if (!completions.empty())
        if (auto jobs = complete_and_lease(request, completions))
            return *std::move(jobs);
    std::vector<leased_job> jobs;
    m_control.call_raw([&](executor &on) {
        jobs = lease_jobs(on, request.queue, request.worker, request.max_tasks, m_options.lease_timeout);
    });
    return jobs;
}

// Nothing: one of the completions is lost, or the server refuses it. finish() finds out which.
std::optional<std::vector<leased_job>> worker_core::complete_and_lease(const lease_request &request,
                                                                       const std::vector<report *> &completions) {
    try {
        std::vector<leased_job> jobs;
        m_control.call_raw([&](executor &on) {
            jobs = complete_and_lease_jobs(on, completions_of(completions), request.worker, request.queue,
                                           request.max_tasks, m_options.lease_timeout);
        });
        settle(completions, outcome::kind::complete);
        return jobs;
    } catch (const connection_lost &) {
        throw;
    } catch (const read_only &) {
        throw;
    } catch (const error &) {
        return std::nullopt;
    }
}

// Takes over new leases.
std::size_t worker_core::accept(std::vector<leased_job> leased, steady::time_point sent, bool adopted) {
    const std::size_t count = leased.size();
    if (count == 0)
        return 0;
    std::vector<job_pointer> jobs;
    jobs.reserve(count);
    for (leased_job &l : leased) {
        const worker_name owner = *l.what.owner;
        auto job = std::make_shared<job_state>(std::move(l.what), owner);
        job->lasts = l.lasts;
        job->renewed = adopted ? sent - job->lasts / 3
                               : sent; // of one that we find, the time may be nearly over: extend it at once
        jobs.push_back(std::move(job));
    }
    if (m_options.log)
        for (const job_pointer &job : jobs)
            log(log_level::debug, adopted ? "adopted" : "leased", "attempt " + std::to_string(job->task.attempt),
                job.get());
    std::size_t wake = 0;
    bool sooner = false;
    {
        const std::lock_guard lock{m_mutex};
        for (job_pointer &job : jobs) {
            sooner = sooner || job->renew_at() < m_beat_at;
            m_held.insert(job);
            m_queued.push_back(std::move(job));
        }
        m_counters.leased += count;
        wake = std::min(count, m_idle_handlers);
    }
    for (std::size_t i = 0; i < wake; i++)
        m_for_handlers.notify_one();
    if (sooner)
        m_for_heart.notify_one();
    return count;
}

// A lease call whose answer was lost may have given us tasks. Only a name from the server is certainly unique to us.
void worker_core::adopt() {
    std::set<std::pair<std::string, int>> known;
    list_filter filter;
    filter.status = task_status::running;
    filter.max_tasks = 100000;
    {
        const std::lock_guard lock{m_mutex};
        filter.worker = m_name;
    }
    const auto sent = steady::now();
    std::vector<task> tasks;
    try {
        tasks = m_control.call([&](client &c) { return c.list(filter); });
    } catch (const denied &) { // the tasks become ready when their leases expire
        m_adopt = false;
        return;
    }
    {
        const std::lock_guard lock{m_mutex};
        for (const job_pointer &job : m_held)
            known.emplace(job->task.rn.str(), job->task.attempt);
    }
    std::vector<leased_job> unknown;
    for (task &t : tasks)
        if (t.deadline && known.count({t.rn.str(), t.attempt}) == 0) {
            const duration lasts = *t.deadline - t.updated;
            unknown.push_back({std::move(t), lasts});
        }
    accept(std::move(unknown), sent, true);
    m_adopt = false;
}

// After stop(): no more leases; tasks that have not been started are yielded at once, running ones after the grace.
void worker_core::shut_down() {
    log(log_level::info, "stopping", "stopping");
    const auto end = m_stop_at + m_options.stop_grace;
    for (;;) {
        report_list batch;
        {
            std::unique_lock lock{m_mutex};
            if (m_quit)
                throw quitting{};
            give_back(steady::now() >= end);
            const auto now = steady::now();
            batch = take_due(now);
            if (batch.empty() && !m_adopt) {
                if (m_finished.empty() && !is_running())
                    return;
                m_for_coordinator.wait_until(lock, now < end ? std::min(end, next_report()) : next_report());
                continue;
            }
        }
        report_at_end(batch);
    }
}

// Yields the tasks that have not been started; all: running ones, too.
void worker_core::give_back(bool all) {
    while (!m_queued.empty())
        give_back_queued(job_pointer{m_queued.front()});
    if (!all)
        return;
    for (const job_pointer &job : m_held)
        if (job->phase == job_state::phase::running && !job->gone) {
            job->phase = job_state::phase::abandoned;
            m_finished.emplace_back(job, outcome::yield());
        }
}

// Whether a handler runs whose task is still ours.
bool worker_core::is_running() const {
    return std::any_of(m_held.begin(), m_held.end(),
                       [](const job_pointer &job) { return job->phase == job_state::phase::running && !job->gone; });
}

// Sends the reports of a worker that stops. Errors do not keep it from stopping.
void worker_core::report_at_end(report_list &batch) {
    try {
        if (m_adopt)
            adopt();
        finish(batch);
    } catch (const connection_lost &) {
        return put_back(batch, true);
    } catch (const read_only &) {
        return put_back(batch, true);
    } catch (const error &e) {
        log(log_level::error, "call-failed", e.message(), nullptr, &e);
        m_adopt = false;
    } catch (...) {
        put_back(batch, true);
        throw;
    }
    put_back(batch, false);
}

} // namespace scylla::detail
