/// @file worker.h
/// The worker runtime: given queues and a handler, it does everything else that a worker has to do.
#ifndef SCYLLA_WORKER_H
#define SCYLLA_WORKER_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <scylla/error.h>
#include <scylla/types.h>

namespace scylla {

namespace detail {
class job_state;
class worker_core;
struct stop_link;
} // namespace detail

/// Why a handler is asked to stop.
enum class stop_reason {
    none,
    cancelled,  ///< the task was cancelled: its result is not needed
    lease_lost, ///< the lease expired, or could not be extended in time: another worker may be running the task
    stopping,   ///< the worker shuts down: finish within its grace, or return outcome::yield()
};

[[nodiscard]] std::string_view to_string(stop_reason reason) noexcept;

/// How a handler learns that it should stop. Thread-safe; cheap to copy.
class stop_token {
public:
    [[nodiscard]] bool stop_requested() const noexcept { return reason() != stop_reason::none; }
    /// The first reason stays, except that `stopping` gives way to one of the others.
    [[nodiscard]] stop_reason reason() const noexcept;
    /// Sleeps. @return true at once when a stop is requested, false after that time
    bool wait_for(std::chrono::milliseconds time) const; // NOLINT(modernize-use-nodiscard): a handler may just sleep

private:
    friend class job;
    friend class stop_callback;
    explicit stop_token(std::shared_ptr<detail::job_state> state) : m_state{std::move(state)} {}
    std::shared_ptr<detail::job_state> m_state;
};

/// Calls a function when a stop is requested, from the thread that notices, or at once in the constructor if it was
/// requested before; and again if the reason changes. The function must not block, or destroy this object; what it
/// throws is ignored. When the destructor has returned, the function is not running and will not be called.
class stop_callback {
public:
    stop_callback(const stop_token &token, std::function<void(stop_reason)> function);
    ~stop_callback();
    stop_callback(const stop_callback &) = delete;
    stop_callback &operator=(const stop_callback &) = delete;

private:
    std::shared_ptr<detail::job_state> m_state;
    std::shared_ptr<detail::stop_link> m_link;
};

/// The argument of a handler: its task, and calls about it. Valid while the handler runs. Thread-safe.
class job {
public:
    /// As it was when it was leased, without deadline and history.
    [[nodiscard]] const scylla::task &task() const noexcept;
    [[nodiscard]] const resource_name &rn() const noexcept { return task().rn; }
    [[nodiscard]] const json &spec() const noexcept { return *task().spec; }
    [[nodiscard]] int attempt() const noexcept { return task().attempt; }
    [[nodiscard]] const worker_name &worker() const noexcept;

    /// 0 to 1, for display; sent with one of the next heartbeats. Values outside are clamped.
    void progress(double value) noexcept;
    [[nodiscard]] stop_token stop() const;
    [[nodiscard]] bool stop_requested() const noexcept;

private:
    friend class detail::worker_core;
    explicit job(std::shared_ptr<detail::job_state> state);
    std::shared_ptr<detail::job_state> m_state;
};

/// How a task is to end. A handler returns one, or a scylla::json (its result), or nothing.
class outcome {
public:
    enum class kind { complete, fail, abort, yield };

    outcome(json result) : m_result{std::move(result)} {}
    template <class T, class = std::enable_if_t<detail::has_json_adapter<T>::value>>
    outcome(const T &result) : m_result{json{result}} {}

    static outcome complete(std::optional<json> result = std::nullopt, std::optional<json> metrics = std::nullopt);
    /// An error that may be temporary. @param retry_after none: as the server decides
    static outcome fail(task_error error, std::optional<duration> retry_after = std::nullopt);
    /// It cannot be done.
    static outcome abort(task_error error);
    /// Another worker may run it.
    static outcome yield();

    [[nodiscard]] kind what() const noexcept { return m_kind; }
    [[nodiscard]] const std::optional<json> &result() const noexcept { return m_result; }
    [[nodiscard]] const std::optional<json> &metrics() const noexcept { return m_metrics; }
    [[nodiscard]] const task_error &error() const noexcept { return m_error; }
    [[nodiscard]] std::optional<duration> retry_after() const noexcept { return m_retry_after; }

private:
    explicit outcome(kind what) : m_kind{what} {}
    kind m_kind = kind::complete;
    std::optional<json> m_result;
    std::optional<json> m_metrics;
    task_error m_error;
    std::optional<duration> m_retry_after;
};

/// Thrown by a handler: the task cannot be done, and ends as aborted. Any other exception is an error that may be
/// temporary: the task fails with the code `exception` and what() as its message. After a stop request, any other
/// exception means that the handler has stopped: the task is yielded. What the server cannot store, an exception whose
/// what() is null, and a handler that ends its thread by pthread_exit(), fail the task with the code `invalid-outcome`.
class abort_task : public std::runtime_error {
public:
    explicit abort_task(task_error error);
    [[nodiscard]] const task_error &error() const noexcept { return m_error; }

private:
    task_error m_error;
};

/// Thrown by a handler: an error that may be temporary, with its own code and retry time.
class fail_task : public std::runtime_error {
public:
    explicit fail_task(task_error error, std::optional<duration> retry_after = std::nullopt);
    [[nodiscard]] const task_error &error() const noexcept { return m_error; }
    [[nodiscard]] std::optional<duration> retry_after() const noexcept { return m_retry_after; }

private:
    task_error m_error;
    std::optional<duration> m_retry_after;
};

/// Runs one task. Called by several threads at once if the concurrency is more than 1. Made from anything that can be
/// called with a job & and returns an outcome, a value that converts to one, or nothing.
class handler {
public:
    template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, handler>>> handler(F function) {
        if constexpr (std::is_void_v<std::invoke_result_t<F &, job &>>)
            m_function = [function = std::move(function)](job &j) mutable {
                function(j);
                return outcome::complete();
            };
        else
            m_function = [function = std::move(function)](job &j) mutable { return outcome(function(j)); };
    }
    outcome operator()(job &j) const { return m_function(j); }

private:
    std::function<outcome(job &)> m_function;
};

enum class log_level { debug, info, warning, error };

[[nodiscard]] std::string_view to_string(log_level level) noexcept;

/// A log entry. `event` is a word for programs, from a fixed set that docs/client.md lists.
struct log_entry {
    log_level level;
    std::string_view event;
    std::string message;
    std::optional<resource_name> rn; ///< the task it is about
    std::string sqlstate;            ///< of the error, if it is a server error
};

/// Counters since the worker was made, and present numbers.
struct worker_counters {
    std::uint64_t leased = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t aborted = 0;
    std::uint64_t yielded = 0;
    std::uint64_t lost = 0;        ///< leases that were no longer ours
    std::uint64_t cancelled = 0;   ///< tasks that were cancelled while we held them
    std::uint64_t heartbeats = 0;  ///< leases extended
    std::uint64_t calls = 0;       ///< on the connection that leases and finishes
    std::uint64_t waits = 0;       ///< times it went to sleep by scylla.wait
    std::uint64_t polls = 0;       ///< times it slept without
    std::uint64_t connections = 0; ///< made, the first ones among them
    std::size_t held = 0;          ///< leases now
    std::size_t running = 0;       ///< handlers now
};

struct worker_options {
    /// As for libpq; several hosts for failover (then only one that accepts writes is used). Missing settings come from
    /// the environment.
    std::string conninfo;
    /// 1 to 64, which are used in turn.
    std::vector<queue_name> queues;
    /// None: the server gives one. Choose one only if no other worker uses it.
    std::optional<worker_name> name;
    /// How many handlers may run at the same time, each in a thread of its own.
    std::size_t concurrency = 1;
    /// How many more tasks may be leased than run, so that short tasks need not wait for the network. They are held,
    /// and yielded when the worker stops. Completions and leases then share round trips.
    std::size_t prefetch = 0;
    /// Maximum number of tasks that one call leases, finishes or extends. More tasks take several calls, so that no
    /// call is large or slow, however many are held. The only exception is the query after a broken connection, which
    /// asks for everything that this worker holds.
    std::size_t max_batch = 200;
    /// How long a lease lasts without a heartbeat, and so how soon other workers take over if this process dies. None:
    /// the queue's default. Heartbeats are sent when a third of it has passed.
    std::optional<duration> lease_timeout;
    /// How long running handlers may continue after stop() before their tasks are yielded. The stop takes up to one
    /// more second.
    std::chrono::milliseconds stop_grace{5000};
    /// Called before each lease: how many tasks to lease now, given how many there is room for. For limits of CPU or
    /// memory. If it returns less than that, it is called again after capacity_interval. It must not block. An
    /// exception counts as 0.
    std::function<std::size_t(std::size_t room)> capacity;
    std::chrono::milliseconds capacity_interval{1000};
    /// Whether an idle worker sleeps by CALL scylla.wait_any, on a connection of its own. Without it, or while it does
    /// not work (the right to call it is missing), the worker polls, at first every poll_min, then less and less often,
    /// down to every poll_max.
    bool use_wait = true;
    std::chrono::milliseconds poll_min{50};
    std::chrono::milliseconds poll_max{1000};
    /// How long a call may take before its connection counts as lost.
    std::chrono::milliseconds call_timeout{30000};
    /// Pauses between attempts to connect: doubled from the first to the last, with jitter.
    std::chrono::milliseconds reconnect_min{100};
    std::chrono::milliseconds reconnect_max{5000};
    /// Called for each log entry, by any thread of the worker, one at a time. It must not call the worker. What it
    /// throws is ignored.
    std::function<void(const log_entry &)> log;
};

/// Leases tasks, runs the handler on them, extends the leases, and finishes the tasks, over connections of its own: one
/// to lease and finish, one for heartbeats, one to wait. It survives the loss of any of them.
///
/// @code
/// scylla::worker_options options;
/// options.conninfo = "dbname=app";
/// options.queues = {"mail"};
/// scylla::worker worker{options, [](scylla::job &job) -> scylla::json { return send(job.spec()); }};
/// worker.stop_on_signals();
/// worker.run();
/// @endcode
///
/// Every call about a task names its attempt, so a worker never finishes a task that it no longer holds, however late
/// the call is.
class worker {
public:
    /// Connects to nothing yet. @throw invalid_argument the options make no sense
    worker(worker_options options, handler do_task);
    /// Stops, and waits for handlers that are still running, and for an attempt to connect (`connect_timeout` of the
    /// connection string, otherwise 5 seconds, for each host).
    ~worker();
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;

    /// Works until stop(). Once per worker. It survives the loss of connections, but not errors that cannot be
    /// temporary.
    /// @return how many handlers were still running when their tasks were yielded; their threads continue until they
    /// return, and the destructor waits for them
    /// @throw not_found there is no such database
    /// @throw not_supported the database does not have the extension
    /// @throw denied a privilege is missing
    std::size_t run();

    /// Makes run() return: no more leases; handlers are asked to stop; tasks that are not finished within the grace are
    /// yielded. From any thread, also before run(); returns at once.
    void stop() noexcept;

    /// stop() on SIGTERM and SIGINT, from now on until this worker is destroyed. Only one worker of a process can have
    /// it.
    /// @throw error the signals could not be set up, or another worker has them
    void stop_on_signals();

    /// @return none until the server has given one
    [[nodiscard]] std::optional<worker_name> name() const;
    [[nodiscard]] worker_counters counters() const;

private:
    std::unique_ptr<detail::worker_core> m_core;
};

} // namespace scylla

#endif
