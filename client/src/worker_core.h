// The worker runtime. Its threads:
//
//   * run(): the caller's thread. It watches the others, cuts calls that take too long, and notifies handlers whose
//     time is over.
//   * coordinator: leases and finishes, over a connection of its own. It alone decides what is sent.
//   * heart: extends leases, over a second connection.
//   * waiter: sleeps by scylla.wait_any when there is nothing to lease, over a third one.
//   * handlers: as many as the concurrency.
//
// One mutex guards what they share. It is not held during a call to the server or of a function of the application.
#ifndef SCYLLA_SRC_WORKER_CORE_H
#define SCYLLA_SRC_WORKER_CORE_H

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>

#include <scylla/worker.h>

#include "calls.h"
#include "job.h"
#include "link.h"
#include "signals.h"

namespace scylla::detail {

using job_pointer = std::shared_ptr<job_state>;

class worker_core {
public:
    worker_core(worker_options options, handler do_task);
    ~worker_core();

    std::size_t run();
    void stop() noexcept;
    void stop_on_signals();
    std::optional<worker_name> name();
    worker_counters counters();

private:
    // A report to the server about a task.
    struct report {
        report(job_pointer j, outcome o) : job{std::move(j)}, result{std::move(o)} {}
        job_pointer job;
        outcome result;
        std::size_t doubts = 0;          // times that it was sent, and the connection broke
        bool settled = false;            // the server has it, or will never get it
        steady::time_point not_before{}; // of the next attempt to send it
        std::size_t attempts = 0;        // of this outcome, that the server refused
        bool spoilt = false;             // the handler's outcome was refused for good, and has been replaced
        [[nodiscard]] std::size_t size() const;
    };
    using report_list = std::vector<report>;
    struct lease_request {
        const queue_name &queue;
        const worker_name &worker;
        int max_tasks;
    };
    struct pass_result {
        std::size_t leased = 0;
        bool exhausted = true; // no queue has more tasks, as far as we know
    };
    struct told_progress {
        job_pointer job;
        double progress;
    };
    struct beat_contents {
        std::vector<told_progress> progress;
        std::vector<job_pointer> due;
    };

    // worker_core.cpp: life
    void supervise();
    void quit() noexcept;
    void give_back_queued(const job_pointer &job);
    bool sleep(nanoseconds time); // false: quitting
    link::surroundings surroundings(const char *role);
    void log(log_level level, std::string_view event, std::string message, const job_state *job = nullptr,
             const error *why = nullptr);
    void end_by_exception() noexcept;
    std::size_t allowed(std::size_t room);
    void start_thread(void (worker_core::*body)());
    void handle();
    void ended(const job_pointer &job, steady::time_point start, outcome result);
    void replace_this_thread();
    outcome run_handler(const job_pointer &job);

    // coordinator.cpp: leasing, and what is sent next
    void coordinate();
    void step();
    void wait_for_work(std::unique_lock<std::mutex> &lock);
    void wait_for_more(std::unique_lock<std::mutex> &lock, std::size_t due);
    steady::time_point request_wait();
    [[nodiscard]] std::size_t count_due(steady::time_point now) const;
    [[nodiscard]] steady::time_point next_report() const;
    report_list take_due(steady::time_point now);
    [[nodiscard]] std::size_t room(std::size_t about_to_leave) const;
    [[nodiscard]] bool may_lease(steady::time_point now) const;
    void name_oneself();
    void adopt();
    std::exception_ptr lease_pass(report_list &batch, std::size_t want);
    static std::vector<report *> completions_in(report_list &batch);
    pass_result lease_in_turn(const worker_name &me, std::size_t want, std::vector<report *> completions);
    std::vector<leased_job> lease(const lease_request &request, const std::vector<report *> &completions);
    std::optional<std::vector<leased_job>> complete_and_lease(const lease_request &request,
                                                              const std::vector<report *> &completions);
    std::size_t accept(std::vector<leased_job> leased, steady::time_point sent, bool adopted);
    void shut_down();
    void give_back(bool all);
    [[nodiscard]] bool is_running() const;
    void report_at_end(report_list &batch);

    // finish.cpp: reports of how tasks ended
    static std::vector<completion> completions_of(const std::vector<report *> &reports);
    void finish(report_list &batch);
    void complete_together(const std::vector<report *> &reports);
    void yield_together(const std::vector<report *> &reports);
    void finish_alone(report &r);
    void send(const report &r);
    void refused(report &r, const std::exception &why, const error *of_server);
    void replace(report &r, const std::string &why, const error *of_server);
    void settle(const std::vector<report *> &reports, outcome::kind how);
    void settle_refused(report &r, std::optional<task_status> status);
    bool was_ours(const report &r);
    std::optional<task_status> status_of(const resource_name &rn);
    void lost(const job_state &job, std::optional<task_status> status);
    void put_back(report_list &batch, bool in_doubt);

    // heart.cpp: extending leases
    void beat();
    bool wait_for_beat(steady::time_point &last_progress, beat_contents &next);
    void tell(beat_contents &contents);
    template <class T, class F> void in_batches(const std::vector<T> &all, F function) const;
    void send_progress(const std::vector<told_progress> &told, std::vector<job_pointer> &due);
    void extend(const std::vector<job_pointer> &jobs);
    void extended(const std::vector<job_pointer> &jobs, const std::vector<heartbeat_status> &states,
                  steady::time_point sent);

    // waiter.cpp: sleeping while there is nothing to lease
    struct wait_result {
        bool found = false;   // there is something to lease
        bool works = true;    // the server can be waited on
        bool refused = false; // the server does not let this worker wait
    };
    // Times in a row that a wait returned at once, and nothing could be leased.
    struct quick_waits {
        std::size_t count = 0;
        std::uint64_t leased = 0; // by this worker, before the last wait
    };
    void wait();
    bool wait_until_wanted(quick_waits &quick);
    wait_result wait_once();
    void note_wait(const wait_result &result);

    const worker_options m_options;
    const handler m_handler;

    std::mutex m_mutex;
    std::condition_variable m_for_run, m_for_coordinator, m_for_heart, m_for_waiter, m_for_handlers, m_for_sleepers;
    bool m_ran = false;
    bool m_stopping = false;
    steady::time_point m_stop_at;
    bool m_quit = false; // everything ends now
    bool m_coordinator_done = false;
    std::exception_ptr m_failure;
    std::optional<worker_name> m_name;
    worker_counters m_counters;

    std::unordered_set<job_pointer> m_held; // every lease that may be ours, and every handler that runs
    std::deque<job_pointer> m_queued;
    std::deque<report> m_finished;
    std::size_t m_idle_handlers = 0;
    average m_handler_time;
    steady::time_point m_beat_at = steady::time_point::max();

    bool m_looking = true;       // there may be tasks to lease
    bool m_wait_wanted = false;  // there is nothing to lease: the waiter must wait
    bool m_waiter_works = false; // so there is no need to poll
    std::size_t m_fruitless = 0; // passes in a row that leased nothing
    steady::time_point m_last_pass;

    // Used by the coordinator only.
    std::size_t m_notify_at = 1; // number of reports that wakes it; guarded by the mutex
    steady::time_point m_capacity_at{};
    std::size_t m_next_queue = 0;
    bool m_adopt = false; // a lease is in doubt
    bool m_named_by_server = false;
    bool m_started = false;
    average m_round_trip;

    std::mutex m_log_mutex;
    link m_control, m_heart, m_waiter;
    std::vector<std::thread> m_threads;
    std::unique_ptr<signal_watch> m_signals;
};

} // namespace scylla::detail

#endif
