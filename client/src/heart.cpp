// Extends leases: all of a worker's in batches, when a third of their time has passed.
#include <algorithm>

#include "calls.h"
#include "worker_core.h"

namespace scylla::detail {

namespace {

constexpr std::chrono::seconds k_progress_interval{1}; // minimum time between two reports of progress

} // namespace

template <class T, class F> void worker_core::in_batches(const std::vector<T> &all, F function) const {
    for (std::size_t from = 0; from < all.size(); from += m_options.max_batch)
        function(std::vector<T>{all.begin() + from, all.begin() + std::min(all.size(), from + m_options.max_batch)});
}

void worker_core::beat() {
    auto last_progress = steady::now();
    try {
        for (beat_contents next; wait_for_beat(last_progress, next); next = {}) {
            try {
                tell(next);
            } catch (const connection_lost &) { // logged; the next call connects again
            } catch (const read_only &) {
            } catch (const error &e) {
                log(log_level::error, "heartbeat-failed", e.message(), nullptr, &e);
                if (!sleep(m_options.reconnect_max))
                    return;
            }
        }
    } catch (const quitting &) {
    } catch (...) {
        end_by_exception();
    }
}

void worker_core::tell(beat_contents &contents) {
    in_batches(contents.progress, [&](const std::vector<told_progress> &batch) { send_progress(batch, contents.due); });
    in_batches(contents.due, [&](const std::vector<job_pointer> &batch) { extend(batch); });
}

// Waits until there is something to send, and collects it. False: the worker ends.
bool worker_core::wait_for_beat(steady::time_point &last_progress, beat_contents &next) {
    std::unique_lock lock{m_mutex};
    for (;;) {
        if (m_quit)
            return false;
        const auto now = steady::now();
        m_beat_at = steady::time_point::max();
        for (const job_pointer &job : m_held)
            if (!job->gone)
                m_beat_at = std::min(m_beat_at, job->renew_at());
        if (m_beat_at <= now)
            break;
        const bool may_progress = m_counters.running > 0;
        if (may_progress && now >= last_progress + k_progress_interval) {
            last_progress = now;
            break;
        }
        const auto until = may_progress ? std::min(m_beat_at, last_progress + k_progress_interval) : m_beat_at;
        if (until == steady::time_point::max())
            m_for_heart.wait(lock);
        else
            m_for_heart.wait_until(lock, until);
    }
    // If one lease is due, those that will be due soon are included.
    const auto now = steady::now();
    for (const job_pointer &job : m_held) {
        if (job->gone)
            continue;
        const double said = job->progress;
        if (said >= 0 && said != job->sent_progress && job->phase == job_state::phase::running)
            next.progress.push_back({job, said});
        else if (m_beat_at <= now && job->renewed + job->lasts / 6 <= now)
            next.due.push_back(job);
    }
    return true;
}

// One statement for all that have progress to send. If one of them is lost, it fails: then all are extended without it.
void worker_core::send_progress(const std::vector<told_progress> &told, std::vector<job_pointer> &due) {
    std::vector<progress_report> reports;
    reports.reserve(told.size());
    for (const told_progress &t : told)
        reports.push_back({{t.job->task.rn, t.job->task.attempt}, t.progress});
    const auto sent = steady::now();
    try {
        m_heart.call_raw([&](executor &on) { heartbeat_each(on, reports, *m_name, m_options.lease_timeout); });
    } catch (const connection_lost &) {
        throw;
    } catch (const read_only &) {
        throw;
    } catch (const error &) {
        for (const told_progress &t : told)
            due.push_back(t.job);
        return;
    }
    const std::lock_guard lock{m_mutex};
    for (const told_progress &t : told) {
        t.job->sent_progress = t.progress;
        t.job->renewed = sent;
    }
    m_counters.heartbeats += told.size();
}

void worker_core::extend(const std::vector<job_pointer> &jobs) {
    std::vector<held_task> tasks;
    tasks.reserve(jobs.size());
    for (const job_pointer &job : jobs)
        tasks.push_back({job->task.rn, job->task.attempt});
    const auto sent = steady::now();
    try {
        extended(jobs,
                 m_heart.call([&](client &c) { return c.heartbeat_many(tasks, *m_name, m_options.lease_timeout); }),
                 sent);
    } catch (const conflict &e) { // another transaction holds one of the tasks for long
        if (jobs.size() == 1) {
            log(log_level::warning, "heartbeat-failed", e.message(), jobs[0].get(), &e);
            const std::lock_guard lock{m_mutex};
            jobs[0]->renewed += jobs[0]->lasts / 12; // not again at once
            return;
        }
        for (const job_pointer &job : jobs)
            extend({job});
    }
}

void worker_core::extended(const std::vector<job_pointer> &jobs, const std::vector<heartbeat_status> &states,
                           steady::time_point sent) {
    std::vector<std::pair<job_pointer, std::optional<task_status>>> gone;
    {
        const std::lock_guard lock{m_mutex};
        for (std::size_t i = 0; i < jobs.size() && i < states.size(); i++) {
            const job_pointer &job = jobs[i];
            const bool queued = job->phase == job_state::phase::queued;
            if (states[i].held || !(queued || job->phase == job_state::phase::running)) {
                job->renewed = sent; // if not, it has just been finished, or the coordinator will notice
                m_counters.heartbeats += states[i].held ? 1 : 0;
                continue;
            }
            job->gone = true;
            gone.emplace_back(job, states[i].status);
            if (queued) {
                m_queued.erase(std::find(m_queued.begin(), m_queued.end(), job));
                m_held.erase(job);
                m_for_coordinator.notify_one(); // there is room again
            }
        }
    }
    for (const auto &[job, status] : gone) {
        lost(*job, status);
        job->request_stop(status == task_status::cancelled ? stop_reason::cancelled : stop_reason::lease_lost);
    }
}

} // namespace scylla::detail
