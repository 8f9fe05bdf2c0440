// A lease that a worker holds, and the flag by which its handler is told to stop.
#ifndef SCYLLA_SRC_JOB_H
#define SCYLLA_SRC_JOB_H

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <scylla/worker.h>

#include "pacing.h"

namespace scylla::detail {

struct stop_link {
    std::function<void(stop_reason)> function;
};

class job_state {
public:
    job_state(scylla::task t, worker_name w) : task{std::move(t)}, worker{std::move(w)} {}

    const scylla::task task;
    const worker_name worker;
    std::atomic<double> progress{-1}; // last value from the handler; negative: none

    // Guarded by the mutex of the worker's core.
    enum class phase { queued, running, finished, abandoned } phase = phase::queued;
    bool gone = false;    // the server reported that the lease is not ours any more
    bool overdue = false; // expired by our own clock
    double sent_progress = -1;
    nanoseconds lasts{0};       // for how long the server extends it
    steady::time_point renewed; // before the call that leased or extended it was sent
    [[nodiscard]] steady::time_point renew_at() const { return renewed + lasts / 3; }
    [[nodiscard]] steady::time_point expires() const { return renewed + lasts; }

    // Never call these with that mutex held: they run the application's functions.
    void request_stop(stop_reason reason);
    void add(const std::shared_ptr<stop_link> &link);
    void remove(const std::shared_ptr<stop_link> &link);

    [[nodiscard]] stop_reason reason() const noexcept { return m_reason.load(std::memory_order_acquire); }
    bool wait_for(std::chrono::milliseconds time);

private:
    std::atomic<stop_reason> m_reason{stop_reason::none};
    std::mutex m_mutex; // for the condition variable
    std::condition_variable m_stopped;
    std::mutex m_calling; // held while the functions run
    std::list<std::shared_ptr<stop_link>> m_links;
};

} // namespace scylla::detail

#endif
