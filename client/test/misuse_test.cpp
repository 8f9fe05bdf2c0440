// Whatever a handler throws, returns or logs ends its own task and nothing else. SCYLLA_TEST_SECONDS=600 makes ten
// minutes of random misuse.
#include <scylla/scylla.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include <pthread.h>

#include "environment.h"
#include "refusal.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

struct null_what : std::exception {
    const char *what() const noexcept override { return nullptr; }
};
struct null_runtime_error : std::runtime_error {
    null_runtime_error() : runtime_error{"x"} {}
    const char *what() const noexcept override { return nullptr; }
};
struct plain {};
struct uncopied { // may be thrown, and not copied afterwards
    uncopied() = default;
    uncopied(uncopied &&) = default;
};
class several : public std::runtime_error, public null_what {
public:
    several() : runtime_error{"several"} {}
};

std::string deep(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

// The thread must not be told to continue.
outcome leave_thread() {
    pthread_exit(nullptr);
    return outcome::complete();
}

struct misuse {
    std::function<outcome(job &)> act;
    std::string code; // of the task's error; empty: the task is completed
    std::string said; // what the message has
};

const std::string k_invalid = "invalid-outcome";

template <class T> std::function<outcome(job &)> throws(T value) {
    return [value](job &) -> outcome { throw value; };
}
std::function<outcome(job &)> returns(outcome value) {
    return [value](job &) { return value; };
}

const std::map<std::string, misuse> &misuses() {
    static const std::map<std::string, misuse> all{
        {"null what", {throws(null_what{}), k_invalid, "null_what"}},
        {"null runtime_error", {throws(null_runtime_error{}), k_invalid, "null_runtime_error"}},
        {"null pointer", {throws(static_cast<const char *>(nullptr)), "exception", "char const*"}},
        {"nullptr", {throws(nullptr), "exception", "std::exception"}},
        {"integer", {throws(503), "exception", "int"}},
        {"string", {throws(std::string{"text"}), "exception", "string"}},
        {"plain", {throws(plain{}), "exception", "plain"}},
        {"uncopied", {[](job &) -> outcome { throw uncopied{}; }, "exception", "uncopied"}},
        {"several", {[](job &) -> outcome { throw several{}; }, "exception", "several"}},
        {"exception pointer", {throws(std::make_exception_ptr(plain{})), "exception", "exception_ptr"}},
        {"bad_alloc", {throws(std::bad_alloc{}), "exception", "bad_alloc"}},
        {"bad_function_call",
         {[](job &j) { return std::function<outcome(job &)>{}(j); }, "exception", "bad_function_call"}},
        {"long text",
         {throws(std::runtime_error{std::string(3000000, 'x')}), "exception", "(cut: 3000000 characters)"}},
        {"broken text",
         {throws(std::runtime_error{std::string(2000000, '\xff')}), "exception", "(cut: 2000000 characters)"}},
        {"library's error",
         {throws(connection_lost{{"server closed the connection", "", "", "", ""}}), "exception", "closed"}},
        {"lease_lost", {throws(lease_lost{{"held", "55000", "", "", "held"}}), "exception", "held"}},
        {"pthread_exit", {[](job &) { return leave_thread(); }, k_invalid, "pthread_exit"}},
        {"pthread_exit below",
         {[](job &) {
              struct guard {
                  ~guard() { std::this_thread::yield(); }
              } const here{};
              return leave_thread();
          },
          k_invalid, "pthread_exit"}},
        {"deep result", {returns(json{deep(20000)}), k_invalid, "depth"}},
        {"deep metrics", {returns(outcome::complete(json{"1"}, json{"{\"x\": " + deep(20000) + "}"})), k_invalid, ""}},
        {"no json", {returns(json{"{"}), k_invalid, "json"}},
        {"empty", {returns(json{""}), k_invalid, "json"}},
        {"zero byte", {returns(json{std::string{"\"\0\"", 3}}), k_invalid, ""}},
        {"zero escape", {returns(json{R"("\u0000")"}), k_invalid, ""}},
        {"surrogate", {returns(json{R"("\ud800")"}), k_invalid, ""}},
        {"no UTF-8", {returns(json{"\"\xff\""}), k_invalid, ""}},
        {"large number", {returns(json{"1e999999"}), k_invalid, ""}},
        {"large result",
         {[](job &) { return outcome{json{'"' + std::string(300U << 20U, 'x') + '"'}}; }, k_invalid, "314572802"}},
        {"empty code", {returns(outcome::fail({"", "x"})), k_invalid, ""}},
        {"no json args", {returns(outcome::abort({"x", "", json{"{"}})), k_invalid, ""}},
        {"deep args", {throws(abort_task{{"x", "", json{"{\"x\": " + deep(20000) + "}"}}}), k_invalid, ""}},
        {"large args",
         {throws(fail_task{{"x", "", json{"{\"x\": \"" + std::string(2000000, 'x') + "\"}"}}}), k_invalid, ""}},
        {"long message",
         {throws(fail_task{{"x", std::string(2000000, '"'), json{"{\"y\": \"" + std::string(100000, 'z') + "\"}"}}}),
          "x", "(cut: 2000000 characters)"}},
        {"negative retry", {returns(outcome::fail({"x", ""}, -1h)), k_invalid, ""}},
        {"endless retry", {returns(outcome::fail({"x", ""}, duration::max())), k_invalid, ""}},
        {"least retry", {throws(fail_task{{"x", ""}, duration::min()}), k_invalid, ""}},
        {"progress",
         {[](job &j) {
              j.progress(std::numeric_limits<double>::quiet_NaN());
              j.progress(std::numeric_limits<double>::infinity());
              return outcome::complete();
          },
          "", ""}},
        {"good", {returns(outcome::complete()), "", ""}},
    };
    return all;
}

class Misuse : public ::testing::Test {
protected:
    pqxx::connection connection{""};
    client c{connection};
    queue_name queue{unique("queue")};
    const std::string from = " from scylla.task where queue = '" + queue.str() + "'";
    std::size_t submitted = 0;

    void put(const std::string &name) {
        submit_options options;
        options.max_attempts = 1;
        c.submit(queue, json::string(name), options);
        submitted++;
    }
    worker_options options() {
        worker_options o;
        o.queues = {queue};
        o.concurrency = 4;
        o.prefetch = 8;
        o.lease_timeout = 300s;
        return o;
    }
    static outcome act(job &j) {
        const stop_callback loud{j.stop(), [](stop_reason) { throw plain{}; }};
        const std::string &spec = j.spec().text();
        return misuses().at(spec.substr(1, spec.size() - 2)).act(j);
    }
    void drained(worker &w) {
        EXPECT_TRUE(eventually(
            [&] {
                return ask(connection, "select count(*)" + from + " and status not in ('completed', 'aborted')") == "0";
            },
            300s));
        EXPECT_TRUE(eventually([&] { return w.counters().held == 0 && w.counters().running == 0; }));
        EXPECT_EQ(w.counters().lost + w.counters().cancelled, 0U);
    }
};

class Thread {
public:
    explicit Thread(worker &w)
        : m_worker{w}, m_thread{[&w] {
              try {
                  EXPECT_EQ(w.run(), 0U);
              } catch (const std::exception &e) {
                  ADD_FAILURE() << "run() threw " << e.what();
              }
          }} {}
    ~Thread() {
        m_worker.stop();
        m_thread.join();
    }
    Thread(const Thread &) = delete;
    Thread &operator=(const Thread &) = delete;

private:
    worker &m_worker;
    std::thread m_thread;
};

TEST_F(Misuse, EndsItsOwnTaskAndSaysWhy) {
    for (const auto &[name, what] : misuses()) {
        put(name);
        put("good");
    }
    worker w{options(), act};
    const Thread running{w};
    drained(w);
    for (const auto &[name, what] : misuses()) {
        const std::string about = from + " and spec = to_jsonb('" + name + "'::text)";
        // NOLINTNEXTLINE(readability-implicit-bool-conversion)
        const std::string question = name == "library's error" ? from + " and spec ->> 0 like 'library%'" : about;
        EXPECT_EQ(ask(connection, "select coalesce(errors -> -1 ->> 'code', '')" + question), what.code) << name;
        EXPECT_NE(ask(connection, "select errors -> -1 ->> 'message'" + question).find(what.said), std::string::npos)
            << name << ": " << ask(connection, "select left(errors -> -1 ->> 'message', 1000)" + question);
    }
    EXPECT_EQ(ask(connection, "select count(*)" + from + " and status = 'completed' and spec = '\"good\"'"),
              std::to_string(misuses().size() + 1));
}

TEST_F(Misuse, AtRandomWithALogThatThrows) {
    const char *seconds = std::getenv("SCYLLA_TEST_SECONDS"); // NOLINT(concurrency-mt-unsafe)
    const char *seed = std::getenv("SCYLLA_TEST_SEED");       // NOLINT(concurrency-mt-unsafe)
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds{seconds != nullptr ? std::atoi(seconds) : 2};
    std::minstd_rand random{static_cast<unsigned>(seed != nullptr ? std::atoi(seed) : 1)};
    std::vector<std::string> names;
    for (const auto &[name, what] : misuses())
        if (name != "large result")
            names.push_back(name);

    worker_options o = options();
    std::atomic<int> calls{0};
    o.log = [&](const log_entry &) {
        switch (calls++ % 3) {
        case 0:
            throw null_what{};
        case 1:
            throw 5;
        default:
            break;
        }
    };
    o.capacity = [&](std::size_t room) -> std::size_t {
        if (calls++ % 5 == 0)
            throw plain{};
        return room;
    };
    o.capacity_interval = 10ms;
    worker w{o, act};
    {
        const Thread running{w};
        int rounds = 0;
        do {
            for (int i = 0; i < 40; i++)
                put(random() % 5 == 0 ? "good" : names[random() % names.size()]);
            put("good");
            drained(w);
            EXPECT_EQ(ask(connection, "select count(*)" + from + " and status <> 'completed' and spec = '\"good\"'"),
                      "0");
            rounds++;
        } while (std::chrono::steady_clock::now() < end && !HasFailure());
        const worker_counters counted = w.counters();
        EXPECT_EQ(counted.completed + counted.failed + counted.aborted, submitted);
        EXPECT_EQ(counted.leased, submitted);
        std::cout << rounds << " rounds, " << submitted << " tasks\n";
    }
}

// What the server refuses ends also when the worker stops: here each task's result is refused only then.
TEST_F(Misuse, IsReportedWhenTheWorkerStops) {
    for (int i = 0; i < 3; i++)
        put("any");
    std::atomic<int> started{0};
    worker w{options(), [&](job &j) -> outcome {
                 started++;
                 j.stop().wait_for(60s);
                 return json{deep(20000)};
             }};
    {
        const Thread running{w};
        EXPECT_TRUE(eventually([&] { return started == 3; }));
    }
    EXPECT_EQ(ask(connection, "select count(*)" + from + " and errors -> -1 ->> 'code' = 'invalid-outcome'"), "3");
}

TEST_F(Misuse, ReportsAreSentWhileTheServerRefusesToLease) {
    put("any");
    const std::string role = "refused_" + std::to_string(getpid());
    for (const std::string &sql : {"create role " + role + " login", "grant usage on schema scylla to " + role,
                                   "grant execute on all functions in schema scylla to " + role,
                                   "select scylla.grant_queue('" + queue.str() + "', '" + role + "', 'work')"})
        ask(connection, sql);
    worker_options o = options();
    o.conninfo = "user=" + role;
    o.reconnect_max = 50ms;
    std::atomic<bool> go{false};
    std::atomic<bool> refused{false};
    o.log = [&](const log_entry &entry) { refused = refused || entry.event == "call-failed"; };
    worker w{o, [&](job &) {
                 while (!go)
                     std::this_thread::sleep_for(1ms);
             }};
    const Thread running{w};
    EXPECT_TRUE(eventually([&] { return w.counters().running == 1; }));
    ask(connection,
        "revoke execute on function scylla.lease(text, text, int, interval), scylla.complete_and_lease(text[], text, "
        "text, int, interval, jsonb[], int[]) from " +
            role);
    put("any");
    EXPECT_TRUE(eventually([&] { return refused.load(); }));
    go = true;
    EXPECT_TRUE(
        eventually([&] { return ask(connection, "select count(*)" + from + " and status = 'completed'") == "1"; }));
}

TEST(Rule, IsTheDocumentedOne) {
    const std::map<std::string, detail::fate> fates{{"temporary", detail::fate::temporary},
                                                    {"permanent", detail::fate::permanent},
                                                    {"unknown", detail::fate::unknown}};
    std::ifstream page{CLIENT_PAGE};
    std::size_t rows = 0;
    for (std::string line; std::getline(page, line);) {
        const std::size_t second = line.find(" | ");
        const std::size_t third = line.find(" |", second + 3);
        if (line.rfind("| ", 0) != 0 || second == std::string::npos || third == std::string::npos)
            continue;
        const auto kind = fates.find(line.substr(second + 3, third - second - 3));
        if (kind == fates.end())
            continue;
        std::string sqlstate = line.substr(2, second - 2);
        if (sqlstate == "none")
            sqlstate.clear();
        else
            sqlstate = (sqlstate.substr(1, sqlstate.size() - 2) + "00000").substr(0, 5);
        EXPECT_EQ(detail::fate_of(sqlstate), kind->second) << sqlstate;
        rows++;
    }
    EXPECT_GT(rows, 20U);
}

} // namespace
