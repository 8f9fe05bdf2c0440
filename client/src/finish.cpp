// Reports to the server how tasks ended, in batches where that is faster.
#include <algorithm>

#include "calls.h"
#include "refusal.h"
#include "text.h"
#include "worker_core.h"

namespace scylla::detail {

std::vector<completion> worker_core::completions_of(const std::vector<report *> &reports) {
    std::vector<completion> completions;
    completions.reserve(reports.size());
    for (const report *r : reports)
        completions.push_back({r->job->task.rn, r->job->task.attempt, r->result.result()});
    return completions;
}

std::size_t worker_core::report::size() const {
    const auto of = [](const std::optional<json> &value) { return value ? value->text().size() : 0; };
    return of(result.result()) + of(result.metrics()) + result.error().message.size() +
           result.error().args.text().size();
}

// Sends the reports that are not settled yet. Those that cannot be sent now stay unsettled.
void worker_core::finish(report_list &batch) {
    std::vector<report *> completions;
    std::vector<report *> yields;
    std::vector<report *> others;
    for (report &r : batch) {
        if (r.settled)
            continue;
        // What has broken the connection twice is sent alone: it may have been the reason.
        if (r.result.what() == outcome::kind::complete && !r.result.metrics() && r.doubts < 2)
            completions.push_back(&r);
        else if (r.result.what() == outcome::kind::yield && r.doubts == 0)
            yields.push_back(&r);
        else
            others.push_back(&r);
    }
    complete_together(completions);
    yield_together(yields);
    for (report *r : others)
        finish_alone(*r);
}

void worker_core::complete_together(const std::vector<report *> &reports) {
    if (reports.empty())
        return;
    try {
        const auto states =
            m_control.call([&](client &c) { return c.complete_many(completions_of(reports), *m_name); });
        std::vector<report *> completed;
        for (std::size_t i = 0; i < reports.size() && i < states.size(); i++)
            if (states[i].completed)
                completed.push_back(reports[i]);
        settle(completed, outcome::kind::complete);
        for (std::size_t i = 0; i < reports.size() && i < states.size(); i++)
            if (!states[i].completed)
                settle_refused(*reports[i], states[i].status);
    } catch (const connection_lost &) {
        throw;
    } catch (const read_only &) {
        throw;
    } catch (const std::exception &) { // one is malformed, or its task is locked: this must not affect the others
        for (report *r : reports)
            finish_alone(*r);
    }
}

void worker_core::yield_together(const std::vector<report *> &reports) {
    if (reports.empty())
        return;
    std::vector<held_task> tasks;
    tasks.reserve(reports.size());
    for (const report *r : reports)
        tasks.push_back({r->job->task.rn, r->job->task.attempt});
    try {
        m_control.call_raw([&](executor &on) { yield_each(on, tasks, *m_name); });
        settle(reports, outcome::kind::yield);
    } catch (const connection_lost &) {
        throw;
    } catch (const read_only &) {
        throw;
    } catch (const error &) { // one of them is lost, which fails the statement
        for (report *r : reports)
            finish_alone(*r);
    }
}

namespace {

// Of a long message the beginning is sent.
task_error storable(const task_error &error) {
    const std::string code = printable(error.code);
    const std::size_t used = 6 * code.size() + error.args.text().size() + 200;
    const std::size_t room = used + 1000 < k_max_error ? k_max_error - used : 1000;
    return {code, printable(error.message, room), error.args};
}

} // namespace

void worker_core::send(const report &r) {
    const task &t = r.job->task;
    const outcome &o = r.result;
    m_control.call([&](client &c) {
        switch (o.what()) {
        case outcome::kind::complete:
            c.complete(t.rn, *m_name, o.result(), o.metrics(), t.attempt);
            break;
        case outcome::kind::fail:
            c.fail(t.rn, *m_name, storable(o.error()), o.retry_after(), t.attempt);
            break;
        case outcome::kind::abort:
            c.abort(t.rn, *m_name, storable(o.error()), t.attempt);
            break;
        case outcome::kind::yield:
            c.yield(t.rn, *m_name, t.attempt);
            break;
        }
    });
}

void worker_core::finish_alone(report &r) {
    try {
        send(r);
        settle({&r}, r.result.what());
    } catch (const connection_lost &) {
        if (r.doubts >= k_max_doubts)
            replace(r, "the connection broke " + std::to_string(r.doubts) + " times while it was sent", nullptr);
        throw;
    } catch (const read_only &) {
        throw;
    } catch (const lease_lost &) {
        settle_refused(r, status_of(r.job->task.rn));
    } catch (const not_found &) {
        settle_refused(r, std::nullopt);
    } catch (const error &e) {
        refused(r, e, &e);
    } catch (const std::exception &e) { // no memory for the message
        refused(r, e, nullptr);
    }
}

void worker_core::refused(report &r, const std::exception &why, const error *of_server) {
    bool stopping = false;
    {
        const std::lock_guard lock{m_mutex};
        stopping = m_stopping;
    }
    const std::string message = of_server != nullptr ? of_server->message() : why.what();
    const fate next = fate_of(of_server != nullptr ? of_server->sqlstate() : "");
    r.attempts++;
    if (next == fate::permanent || (next == fate::unknown && r.attempts > (stopping ? 1 : k_max_repeats)))
        return replace(r, message, of_server);
    r.not_before = steady::now() + backoff(r.attempts, std::chrono::milliseconds{100}, m_options.reconnect_max);
    log(log_level::warning, "finish-failed", message, r.job.get(), of_server);
}

// The same report would fail again: the task fails, or is yielded, or its lease expires, whichever the server accepts.
void worker_core::replace(report &r, const std::string &why, const error *of_server) {
    log(log_level::error, "invalid-outcome", why, r.job.get(), of_server);
    if (r.result.what() == outcome::kind::yield) {
        r.settled = true;
        {
            const std::lock_guard lock{m_mutex};
            m_held.erase(r.job);
        }
        return lost(*r.job, task_status::running);
    }
    r.result =
        r.spoilt ? outcome::yield() : outcome::fail({"invalid-outcome", "the server refuses the outcome: " + why});
    r.spoilt = true;
    r.attempts = 0;
    r.doubts = std::min<std::size_t>(r.doubts, 1);
    r.not_before = {};
}

std::optional<task_status> worker_core::status_of(const resource_name &rn) {
    try {
        return m_control.call([&](client &c) { return c.get(rn).status; });
    } catch (const connection_lost &) {
        throw;
    } catch (const error &) { // purged, or we may not look
        return std::nullopt;
    }
}

// The server has the reports. Results of handlers that still run are not needed.
void worker_core::settle(const std::vector<report *> &reports, outcome::kind how) {
    std::string_view event = "completed";
    {
        const std::lock_guard lock{m_mutex};
        for (report *r : reports) {
            r->settled = true;
            m_held.erase(r->job);
        }
        switch (how) {
        case outcome::kind::complete:
            m_counters.completed += reports.size();
            break;
        case outcome::kind::fail:
            m_counters.failed += reports.size();
            event = "failed";
            break;
        case outcome::kind::abort:
            m_counters.aborted += reports.size();
            event = "aborted";
            break;
        case outcome::kind::yield:
            m_counters.yielded += reports.size();
            event = "yielded";
            break;
        }
    }
    if (!m_options.log)
        return;
    const log_level level =
        how == outcome::kind::complete || how == outcome::kind::yield ? log_level::debug : log_level::info;
    for (const report *r : reports)
        log(level, event, r->result.error().code, r->job.get());
}

// The lease is not ours any more. If a connection broke during the report, our own report may have ended it.
void worker_core::settle_refused(report &r, std::optional<task_status> status) {
    if (r.doubts > 0 && was_ours(r)) {
        settle({&r}, r.result.what());
        return;
    }
    r.settled = true;
    {
        const std::lock_guard lock{m_mutex};
        m_held.erase(r.job);
    }
    lost(*r.job, status);
}

bool worker_core::was_ours(const report &r) {
    try {
        const task now = m_control.call([&](client &c) { return c.get(r.job->task.rn); });
        if (now.attempt != r.job->task.attempt)
            return false;
        switch (r.result.what()) {
        case outcome::kind::complete:
            return now.status == task_status::completed;
        case outcome::kind::abort:
            return now.status == task_status::aborted;
        case outcome::kind::fail:
            return now.failures > r.job->task.failures;
        case outcome::kind::yield:
            return now.status == task_status::ready;
        }
        return false;
    } catch (const connection_lost &) {
        throw;
    } catch (const error &) { // purged, or we may not look
        return false;
    }
}

void worker_core::lost(const job_state &job, std::optional<task_status> status) {
    const bool cancelled = status == task_status::cancelled;
    {
        const std::lock_guard lock{m_mutex};
        (cancelled ? m_counters.cancelled : m_counters.lost)++;
    }
    log(cancelled ? log_level::info : log_level::warning, cancelled ? "cancelled" : "lost",
        status ? "the task is " + std::string{to_string(*status)} : "the task does not exist any more", &job);
}

// Puts unsettled reports back, to be sent again.
void worker_core::put_back(report_list &batch, bool in_doubt) {
    {
        const std::lock_guard lock{m_mutex};
        for (report &r : batch)
            if (!r.settled) {
                r.doubts += in_doubt ? 1 : 0;
                m_finished.push_back(std::move(r));
            }
    }
    batch.clear(); // the tasks, too: handlers need not wait for that
}

} // namespace scylla::detail
