#include "job.h"

#include "contained.h"

#include <algorithm>

namespace scylla {

namespace detail {

namespace {

// An exception of the application's function must not end the thread that extends leases.
void call(const stop_link &link, stop_reason reason) {
    contained([&] { link.function(reason); });
}

} // namespace

void job_state::request_stop(stop_reason reason) {
    const std::lock_guard calling{m_calling};
    {
        const std::lock_guard lock{m_mutex};
        const stop_reason before = m_reason.load();
        if (before == reason || (before != stop_reason::none && before != stop_reason::stopping))
            return;
        m_reason.store(reason, std::memory_order_release);
    }
    m_stopped.notify_all();
    for (const auto &link : m_links)
        call(*link, reason);
}

void job_state::add(const std::shared_ptr<stop_link> &link) {
    const std::lock_guard calling{m_calling};
    m_links.push_back(link);
    if (const stop_reason now = reason(); now != stop_reason::none)
        call(*link, now);
}

void job_state::remove(const std::shared_ptr<stop_link> &link) {
    const std::lock_guard calling{m_calling};
    m_links.remove(link);
}

bool job_state::wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock{m_mutex};
    return m_stopped.wait_for(lock, time, [&] { return reason() != stop_reason::none; });
}

} // namespace detail

std::string_view to_string(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::cancelled:
        return "cancelled";
    case stop_reason::lease_lost:
        return "lease lost";
    case stop_reason::stopping:
        return "stopping";
    case stop_reason::none:
        break;
    }
    return "none";
}

std::string_view to_string(log_level level) noexcept {
    switch (level) {
    case log_level::debug:
        return "debug";
    case log_level::info:
        return "info";
    case log_level::warning:
        return "warning";
    case log_level::error:
        break;
    }
    return "error";
}

stop_reason stop_token::reason() const noexcept { return m_state->reason(); }
bool stop_token::wait_for(std::chrono::milliseconds time) const { return m_state->wait_for(time); }

stop_callback::stop_callback(const stop_token &token, std::function<void(stop_reason)> function)
    : m_state{token.m_state}, m_link{std::make_shared<detail::stop_link>()} {
    m_link->function = std::move(function);
    m_state->add(m_link);
}

stop_callback::~stop_callback() { m_state->remove(m_link); }

job::job(std::shared_ptr<detail::job_state> state) : m_state{std::move(state)} {}
const scylla::task &job::task() const noexcept { return m_state->task; }
const worker_name &job::worker() const noexcept { return m_state->worker; }
void job::progress(double value) noexcept { m_state->progress.store(value > 0 ? std::min(value, 1.0) : 0.0); }
stop_token job::stop() const { return stop_token{m_state}; }
bool job::stop_requested() const noexcept { return m_state->reason() != stop_reason::none; }

outcome outcome::complete(std::optional<json> result, std::optional<json> metrics) {
    outcome o{kind::complete};
    o.m_result = std::move(result);
    o.m_metrics = std::move(metrics);
    return o;
}

outcome outcome::fail(task_error error, std::optional<duration> retry_after) {
    outcome o{kind::fail};
    o.m_error = std::move(error);
    o.m_retry_after = retry_after;
    return o;
}

outcome outcome::abort(task_error error) {
    outcome o{kind::abort};
    o.m_error = std::move(error);
    return o;
}

outcome outcome::yield() { return outcome{kind::yield}; }

abort_task::abort_task(task_error error)
    : std::runtime_error{error.code + ": " + error.message}, m_error{std::move(error)} {}

fail_task::fail_task(task_error error, std::optional<duration> retry_after)
    : std::runtime_error{error.code + ": " + error.message}, m_error{std::move(error)}, m_retry_after{retry_after} {}

} // namespace scylla
