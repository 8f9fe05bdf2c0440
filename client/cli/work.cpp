// work: the worker runtime of the library, with a program as the handler.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <scylla/worker.h>

#include "commands.h"
#include "duration.h"
#include "json_text.h"
#include "program.h"

namespace scylla::cli {

namespace {

constexpr int k_bad_data = 65;        // EX_DATAERR of sysexits.h
constexpr int k_try_again = 75;       // EX_TEMPFAIL
constexpr int k_permanent = 100;      // a permanent failure, as in qmail and its successors
constexpr int k_not_executable = 126; // exit statuses of the shell for a command that it could not run
constexpr int k_not_found = 127;
constexpr std::size_t k_max_variable = 100'000; // Linux allows 128 KiB

std::vector<std::string> inherited_environment() {
    std::vector<std::string> variables;
    for (char **variable = environ; *variable != nullptr; variable++)
        if (std::strncmp(*variable, "SCYLLA_", 7) != 0)
            variables.emplace_back(*variable);
    return variables;
}

// Runs the command for each task, in several threads at once.
class runner {
public:
    runner(const work_options &options)
        : m_options{options}, m_words{command_words(options.command)},
          m_environment{inherited_environment()}, m_grace{to_duration("--grace", options.grace)} {
        if (options.timeout)
            m_timeout = to_duration("--timeout", *options.timeout);
    }

    outcome operator()(job &job) const {
        const std::string input = m_options.input == "task" ? task_as_json(job.task()) : job.spec().text();
        program_options program;
        program.words = m_words;
        program.environment = environment_of(job);
        program.input = input;
        program.max_output = m_options.max_output;
        program.timeout = m_timeout;
        program.grace = m_grace;
        program.progress = [&](double progress) { job.progress(progress); };
        program.pass_errors = !m_options.quiet;

        thread_local stopper stop;
        stop.reset();
        const stop_callback on_stop{job.stop(), [](stopper &s) { return [&s](stop_reason) { s.stop(); }; }(stop)};
        return outcome_of(run_program(program, stop));
    }

private:
    [[nodiscard]] outcome outcome_of(const program_end &end) const {
        const auto error = [&](std::string code, std::string args = "{}") {
            const std::size_t last = end.error_tail.find_last_not_of(" \t\r\n");
            return task_error{std::move(code), to_utf8(end.error_tail.substr(0, last + 1)), json{std::move(args)}};
        };
        if (end.start_error == E2BIG)
            return outcome::abort({"cannot-run", std::generic_category().message(end.start_error), json{"{}"}});
        if (end.start_error != 0)
            return outcome::fail({"cannot-run", std::generic_category().message(end.start_error), json{"{}"}});
        if (end.exit == 0 && !end.timed_out) {
            if (end.output_cut)
                return outcome::abort(error("result-too-large"));
            return outcome::complete(result_of(end.output));
        }
        if (end.stopped)
            return outcome::yield(); // the program was interrupted: not a failure
        if (end.timed_out)
            return outcome::fail(error("timeout"));
        if (!end.exit)
            return outcome::fail(
                error("signal-" + std::to_string(end.signal), "{\"signal\": " + std::to_string(end.signal) + "}"));
        const std::string args = "{\"exit\": " + std::to_string(*end.exit) + "}";
        if (*end.exit == k_try_again)
            return outcome::fail(error("temporary-failure", args));
        if (*end.exit == k_not_executable || *end.exit == k_not_found)
            return outcome::fail(error("cannot-run", args)); // a problem of this machine, not of the task
        const task_error ended = error("exit-" + std::to_string(*end.exit), args);
        return aborts(*end.exit) ? outcome::abort(ended) : outcome::fail(ended);
    }

    [[nodiscard]] bool aborts(int status) const {
        return status == k_bad_data || status == k_permanent ||
               std::find(m_options.abort_on.begin(), m_options.abort_on.end(), status) != m_options.abort_on.end();
    }

    static std::optional<json> result_of(std::string_view output) {
        const std::size_t last = output.find_last_not_of(" \t\r\n");
        if (last == std::string_view::npos)
            return std::nullopt;
        if (is_jsonb(output))
            return json{output};
        return json{"{\"output\": " + quote(output) + "}"};
    }

    [[nodiscard]] std::vector<std::string> environment_of(const job &job) const {
        const task &task = job.task();
        std::vector<std::string> variables = m_environment;
        const auto add = [&](const char *name, const std::string &text) {
            variables.push_back("SCYLLA_" + (name + ("=" + text)));
        };
        add("RN", task.rn.str());
        add("QUEUE", task.queue.str());
        add("WORKER", job.worker().str());
        add("ATTEMPT", std::to_string(task.attempt));
        add("FAILURES", std::to_string(task.failures));
        add("PRIORITY", std::to_string(task.priority));
        if (task.plan)
            add("PLAN", task.plan->str());
        if (task.key)
            add("KEY", *task.key);
        if (task.args.text().size() <= k_max_variable)
            add("ARGS", task.args.text());
        add("PROGRESS_FD", "3");
        return variables;
    }

    static std::string task_as_json(const task &task) {
        std::string text = "{\"rn\": " + quote(task.rn.str()) + ", \"queue\": " + quote(task.queue.str()) +
                           ", \"spec\": " + task.spec->text() + ", \"args\": " + task.args.text() +
                           ", \"priority\": " + std::to_string(task.priority) +
                           ", \"attempt\": " + std::to_string(task.attempt) +
                           ", \"failures\": " + std::to_string(task.failures) + ", \"errors\": " + task.errors.text();
        if (task.plan)
            text += ", \"plan\": " + quote(task.plan->str());
        if (task.key)
            text += ", \"key\": " + quote(*task.key);
        return text + "}";
    }

    const work_options &m_options;
    std::vector<std::string> m_words;
    std::vector<std::string> m_environment;
    std::chrono::milliseconds m_grace;
    std::optional<std::chrono::milliseconds> m_timeout;
};

// A missing right (42501) or function will also be missing the next time.
bool is_refusal(const failure &error) { return error.sqlstate().substr(0, 2) == "42"; }

// Stops a worker when its queues have no live task left.
class emptiness {
public:
    emptiness(const std::string &conninfo, const std::vector<std::string> &queues, worker &worker)
        : m_queues{array_literal(queues)}, m_worker{worker} {
        m_connection.dbname = conninfo;
        m_connection.never_ask = true;
        m_thread = std::thread{[this] { watch(); }};
    }
    ~emptiness() {
        {
            const std::lock_guard lock{m_mutex};
            m_done = true;
        }
        m_wake.notify_one();
        m_thread.join();
    }
    // Why it had to stop checking; called after the worker has stopped.
    std::optional<failure> refused() {
        const std::lock_guard lock{m_mutex};
        return m_refused;
    }
    emptiness(const emptiness &) = delete;
    emptiness &operator=(const emptiness &) = delete;

private:
    void watch() {
        std::unique_lock lock{m_mutex};
        while (!m_wake.wait_for(lock, std::chrono::milliseconds{200}, [this] { return m_done; }))
            try {
                if (m_worker.counters().held == 0 && is_empty())
                    m_worker.stop();
            } catch (const failure &error) {
                m_server.reset(); // the worker also survives the loss of its connections, and reports it
                if (is_refusal(error))
                    m_refused = error;
                if (m_refused)
                    m_worker.stop();
            }
    }

    bool is_empty() {
        if (!m_server) {
            m_server.emplace(m_connection);
            m_server->query("set client_min_messages = warning"); // missing queues have been reported before
        }
        return m_server->ask("select scylla.has_live_tasks($1::text[])", {m_queues}) == "f";
    }

    connection_options m_connection;
    std::optional<session> m_server;
    std::string m_queues;
    worker &m_worker;
    std::mutex m_mutex;
    std::optional<failure> m_refused;
    std::condition_variable m_wake;
    bool m_done = false;
    std::thread m_thread;
};

void write_log(const log_entry &entry) {
    std::string line = "scylla: " + std::string{to_string(entry.level)} + ": " + std::string{entry.event};
    if (entry.rn)
        line += " " + entry.rn->str();
    line += ": " + entry.message + "\n";
    std::cerr << line;
}

// Raises a notice if a queue does not exist. The right to ask whether queues are empty is needed only if the worker
// ends then.
void look_at_queues(session &server, const work_options &options) {
    if (options.quiet)
        server.query("set client_min_messages = error");
    try {
        server.query("select scylla.has_live_tasks($1::text[])", {array_literal(options.queues)});
    } catch (const failure &error) {
        if (options.until_empty || !is_refusal(error))
            throw;
    }
}

void run_worker(const scylla::worker_options &settings, const runner &runner, const work_options &options) {
    scylla::worker worker{settings, [&](job &job) { return runner(job); }};
    worker.stop_on_signals();
    // Closing the terminal ends the worker in the same way, unless nohup was used.
    if (std::signal(SIGHUP, [](int) { std::raise(SIGTERM); }) == SIG_IGN)
        std::signal(SIGHUP, SIG_IGN);
    {
        std::optional<emptiness> until_empty;
        if (options.until_empty)
            until_empty.emplace(settings.conninfo, options.queues, worker);
        worker.run();
        if (until_empty)
            if (const auto refused = until_empty->refused())
                throw failure{*refused};
    }
    if (options.quiet)
        return;
    const worker_counters counted = worker.counters();
    std::cerr << "scylla: completed " << counted.completed << ", failed " << counted.failed << ", aborted "
              << counted.aborted << ", gave back " << counted.yielded << ", lost " << counted.lost << '\n';
}

} // namespace

int work(const context &given, const work_options &options) {
    if (options.command.find_first_not_of(" \t\r\n\v\f") ==
        std::string::npos) // the shell would do nothing, and succeed
        throw usage_failure{"--exec: the command is empty", {}, "Is a variable unset?"};
    std::signal(SIGPIPE, SIG_IGN);
    const runner runner{options};

    scylla::worker_options settings;
    {
        session server{given.connection}; // a wrong connection is an error now, and not retried forever
        // Of several hosts the one that accepts writes: only there are tasks to run, and is it known when a queue is
        // empty.
        settings.conninfo = "target_session_attrs=read-write " + server.conninfo();
        server.query("select null::scylla.task_status"); // does the extension exist?
        look_at_queues(server, options);
    }
    for (const std::string &queue : options.queues)
        settings.queues.emplace_back(queue);
    if (options.worker)
        settings.name = worker_name{*options.worker};
    settings.concurrency = options.jobs;
    settings.prefetch = options.prefetch;
    if (options.lease)
        settings.lease_timeout = to_duration("--lease", *options.lease);
    // Programs get the whole grace; then they are killed, and the handlers return.
    settings.stop_grace = to_duration("--grace", options.grace) + std::chrono::milliseconds{500};
    const log_level least = options.verbose ? log_level::debug : options.quiet ? log_level::error : log_level::warning;
    settings.log = [least](const log_entry &entry) {
        if (entry.level >= least)
            write_log(entry);
    };
    try {
        run_worker(settings, runner, options);
    } catch (const error &refused) {
        throw failure{refused.message(), refused.detail(), refused.hint(), refused.sqlstate()};
    }
    return 0;
}

} // namespace scylla::cli
