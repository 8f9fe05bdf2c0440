// The worker runtime against a server.
#include <scylla/scylla.h>

#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "environment.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

// The table of events in docs/client.md: their names, and the levels that they may have.
const std::map<std::string, std::string> &documented_events() {
    static const std::map<std::string, std::string> events = [] {
        std::map<std::string, std::string> table;
        std::ifstream page{CLIENT_PAGE};
        std::string line;
        while (std::getline(page, line) && line.rfind("| event |", 0) != 0) {
        }
        while (std::getline(page, line) && !line.empty()) {
            const std::size_t second = line.find('|', 1);
            const std::string names = line.substr(0, second);
            for (std::size_t begin = names.find('`'); begin != std::string::npos;) {
                const std::size_t end = names.find('`', begin + 1);
                table[names.substr(begin + 1, end - begin - 1)] =
                    line.substr(second, line.find('|', second + 1) - second);
                begin = names.find('`', end + 1);
            }
        }
        return table;
    }();
    return events;
}

// Runs a worker in a thread, and keeps what it logs.
class Running {
public:
    Running(worker_options options, handler do_task) : m_worker{with_log(std::move(options)), std::move(do_task)} {
        m_thread = std::thread{[this] {
            try {
                m_abandoned = m_worker.run();
            } catch (const std::exception &e) {
                ADD_FAILURE() << "run() threw " << e.what();
            }
        }};
    }
    ~Running() {
        stop();
        if (::testing::Test::HasFailure())
            for (const std::string &line : m_lines)
                std::cerr << line << '\n';
    }
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;

    // How many handlers were left running.
    std::size_t stop() {
        m_worker.stop();
        if (m_thread.joinable())
            m_thread.join();
        return m_abandoned;
    }
    worker *operator->() { return &m_worker; }
    std::size_t logged(const std::string &event) {
        const std::lock_guard lock{m_mutex};
        return m_events[event];
    }

private:
    worker_options with_log(worker_options options) {
        options.log = [this](const log_entry &entry) {
            const auto documented = documented_events().find(std::string{entry.event});
            EXPECT_TRUE(documented != documented_events().end() &&
                        documented->second.find(to_string(entry.level)) != std::string::npos)
                << to_string(entry.level) << ' ' << entry.event;
            const std::lock_guard lock{m_mutex};
            m_events[std::string{entry.event}]++;
            m_lines.push_back(std::string{to_string(entry.level)} + ' ' + std::string{entry.event} + ": " +
                              entry.message + ' ' + entry.sqlstate + (entry.rn ? ' ' + entry.rn->str() : ""));
        };
        return options;
    }

    std::mutex m_mutex;
    std::map<std::string, std::size_t> m_events;
    std::vector<std::string> m_lines;
    worker m_worker;
    std::size_t m_abandoned = 0;
    std::thread m_thread;
};

class Worker : public ::testing::Test {
protected:
    pqxx::connection connection{""};
    client c{connection};
    queue_name queue{unique("queue")};

    worker_options options() {
        worker_options o;
        o.queues = {queue};
        o.lease_timeout = 30s;
        return o;
    }
    bool all(const std::string &condition) {
        return eventually([&] {
            return ask(connection, "select bool_and(" + condition + ") from scylla.task where queue = '" + queue.str() +
                                       "'") == "t";
        });
    }
    void nothing_is_held() {
        EXPECT_EQ(ask(connection,
                      "select count(*) from scylla.task where queue = '" + queue.str() + "' and status = 'running'"),
                  "0");
    }
};

TEST_F(Worker, CompletesTasks) {
    c.submit_bulk(queue, std::vector<json>(100, json{R"({"n": 1})"}));
    worker_options o = options();
    o.concurrency = 4;
    Running w{o, [](job &j) { return json{R"({"spec": )" + j.spec().text() + "}"}; }};
    EXPECT_TRUE(all(R"(status = 'completed' and result = '{"spec": {"n": 1}}')"));
    // and later tasks
    c.submit(queue, R"({"n": 1})");
    EXPECT_TRUE(all("status = 'completed'"));
    EXPECT_EQ(w.stop(), 0u);
    const worker_counters counters = w->counters();
    EXPECT_EQ(counters.leased, 101u);
    EXPECT_EQ(counters.completed, 101u);
    EXPECT_EQ(counters.held, 0u);
    EXPECT_EQ(counters.running, 0u);
    EXPECT_EQ(counters.failed + counters.aborted + counters.yielded + counters.lost + counters.cancelled, 0u);
}

TEST_F(Worker, SleepsByWait) {
    worker_options o = options();
    o.conninfo = "application_name=" + queue.str();
    Running w{o, [](job &) {}};
    EXPECT_TRUE(eventually([&] {
        return ask(connection, "select count(*) from pg_stat_activity where application_name = '" + queue.str() +
                                   "' and query like 'call%' and wait_event_type = 'Extension'") == "1";
    }));
    const auto polls = w->counters().polls;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; i++) {
        const resource_name rn = c.submit(queue, "1").rn;
        ASSERT_TRUE(eventually([&] { return c.get(rn).status == task_status::completed; }));
    }
    EXPECT_EQ(w->counters().polls, polls);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s); // nobody sleeps longer and longer
}

TEST_F(Worker, PollsWithoutWait) {
    worker_options o = options();
    o.use_wait = false;
    o.poll_max = 100ms;
    Running w{o, [](job &) {}};
    EXPECT_TRUE(eventually([&] { return w->counters().polls > 2; }));
    c.submit(queue, "1");
    EXPECT_TRUE(all("status = 'completed'"));
    EXPECT_EQ(w->counters().waits, 0u);
}

TEST_F(Worker, PollsWhereTheServerRefusesToWait) {
    c.create_queue(queue);
    ask(connection, "do $$ begin if not exists (select from pg_roles where rolname = 'client_no_wait') then "
                    "create role client_no_wait login; end if; end $$");
    ask(connection, "grant usage on schema scylla to client_no_wait");
    ask(connection, "grant execute on all functions in schema scylla to client_no_wait"); // but not on procedures
    c.grant_queue(queue, "client_no_wait", queue_privilege::work);
    worker_options o = options();
    o.conninfo = "user=client_no_wait";
    o.poll_max = 100ms;
    Running w{o, [](job &) {}};
    EXPECT_TRUE(eventually([&] { return w.logged("wait-refused") == 1; }));
    c.submit(queue, "1");
    EXPECT_TRUE(all("status = 'completed'"));
}

TEST_F(Worker, TurnsOutcomesIntoCalls) {
    const std::map<std::string, std::string> expected{
        {R"("nothing")", "status = 'completed' and result is null"},
        {R"("metrics")", R"(status = 'completed' and result = '1' and metrics = '{"s": 2}')"},
        {R"("abort")", "status = 'aborted' and errors -> 0 ->> 'code' = 'a'"},
        {R"("abort_task")", R"(status = 'aborted' and errors @> '[{"code": "b", "message": "d", "args": {"x": 1}}]')"},
        {R"("fail")",
         "status = 'waiting' and failures = 1 and errors -> 0 ->> 'code' = 'c' and not_before > now() + '50 min'"},
        {R"("fail_task")", "status = 'waiting' and errors -> 0 ->> 'code' = 'd' and not_before > now() + '50 min'"},
        {R"("throw")", R"(errors -> 0 @> '{"code": "exception", "message": "wei\u00df?"}' and failures >= 1)"},
        {R"("throw 1")", "errors -> 0 ->> 'code' = 'exception' and failures >= 1"},
        {R"("malformed")", "errors -> 0 ->> 'code' = 'invalid-outcome' and failures >= 1"},
    };
    for (const auto &[spec, condition] : expected)
        c.submit(queue, spec);
    worker_options o = options();
    o.prefetch = 20;
    Running w{o, [](job &j) -> outcome {
                  const std::string &spec = j.spec().text();
                  if (spec == R"("metrics")")
                      return outcome::complete(json{"1"}, json{R"({"s": 2})"});
                  if (spec == R"("abort")")
                      return outcome::abort({"a", ""});
                  if (spec == R"("abort_task")")
                      throw abort_task{{"b", "d", R"({"x": 1})"}};
                  if (spec == R"("fail")")
                      return outcome::fail({"c", ""}, 1h);
                  if (spec == R"("fail_task")")
                      throw fail_task{{"d", ""}, 1h};
                  if (spec == R"("throw")")
                      throw std::runtime_error{"wei\xc3\x9f\xff"};
                  if (spec == R"("throw 1")")
                      throw 1;
                  if (spec == R"("malformed")")
                      return json{"{"};
                  return outcome::complete();
              }};
    for (const auto &[spec, condition] : expected) {
        const std::string from = " from scylla.task t where queue = '" + queue.str() + "' and spec = '" + spec + "'";
        const std::string question = "select " + condition + from;
        EXPECT_TRUE(eventually([&] { return ask(connection, question) == "t"; }))
            << spec << '\n'
            << ask(connection, "select to_jsonb(t)" + from);
    }
}

TEST_F(Worker, LeasesNoMoreThanThereIsRoomFor) {
    c.submit_bulk(queue, std::vector<json>(50, json{"1"}));
    worker_options o = options();
    o.concurrency = 2;
    o.prefetch = 3;
    std::atomic<bool> go{false};
    Running w{o, [&](job &j) {
                  while (!go && !j.stop().wait_for(5ms)) {
                  }
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 2; }));
    EXPECT_TRUE(eventually([&] {
        return ask(connection, "select count(*) from scylla.task where queue = '" + queue.str() +
                                   "' and status = 'running'") == "5";
    }));
    EXPECT_EQ(w->counters().leased, 5u);
    go = true;
    EXPECT_TRUE(all("status = 'completed'"));
}

// One transaction per call, so the rows of a call have the same xmin.
TEST_F(Worker, NoCallIsAboutMoreThanABatch) {
    const auto largest = [&](const std::string &table) {
        return ask(connection, "select max(n) from (select count(*) as n from scylla." + table +
                                   " t join scylla.task_spec s on s.id = t.id "
                                   "join scylla.queue q on q.id = s.queue where q.name = '" +
                                   queue.str() + "' group by t.xmin::text) x");
    };
    c.submit_bulk(queue, std::vector<json>(25, json{"1"}));
    worker_options o = options();
    o.prefetch = 24;
    o.max_batch = 10;
    o.lease_timeout = 3s;
    std::atomic<bool> go{false};
    Running w{o, [&](job &j) {
                  while (!go && !j.stop().wait_for(5ms)) {
                  }
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().leased == 25; }));
    EXPECT_EQ(largest("task_lease"), "10");
    EXPECT_TRUE(eventually([&] { return w->counters().heartbeats >= 50; }));
    EXPECT_LE(std::stoi(largest("task_lease")), 10);
    go = true;
    EXPECT_TRUE(all("status = 'completed'"));
    EXPECT_LE(std::stoi(largest("task_outcome")), 10);
    go = false;
    c.submit_bulk(queue, std::vector<json>(25, json{"1"}));
    EXPECT_TRUE(eventually([&] { return w->counters().leased == 50 && w->counters().running == 1; }));
    w.stop();
    EXPECT_EQ(w->counters().yielded, 24u);
    EXPECT_EQ(largest("task_ready"), "10");
    nothing_is_held();
}

TEST_F(Worker, AsksForCapacity) {
    c.submit_bulk(queue, std::vector<json>(20, json{"1"}));
    worker_options o = options();
    o.concurrency = 8;
    std::atomic<std::size_t> allowed{0}, asked{0};
    o.capacity_interval = 10ms;
    o.capacity = [&](std::size_t room) {
        asked++;
        return std::min<std::size_t>(room, allowed);
    };
    Running w{o, [](job &) {}};
    EXPECT_TRUE(eventually([&] { return asked > 3; }));
    EXPECT_EQ(w->counters().leased, 0u);
    allowed = 1;
    EXPECT_TRUE(all("status = 'completed'"));
    EXPECT_EQ(ask(connection, "select max(n) from (select count(*) n from scylla.task where queue = '" + queue.str() +
                                  "' group by history -> 0 ->> 'time') x"),
              "1");
}

TEST_F(Worker, QueuesTakeTurns) {
    const queue_name other{unique("other")};
    c.submit_bulk(queue, std::vector<json>(200, json{"1"}));
    c.submit_bulk(other, std::vector<json>(10, json{"1"}));
    worker_options o = options();
    o.queues = {queue, other};
    std::atomic<int> done{0}, last_of_other{0};
    Running w{o, [&](job &j) {
                  done++;
                  if (j.task().queue == other)
                      last_of_other = done.load();
              }};
    EXPECT_TRUE(eventually([&] { return done == 210; }));
    EXPECT_LE(last_of_other, 30);
}

TEST_F(Worker, KeepsLeasesAliveAndTellsProgress) {
    c.submit_bulk(queue, std::vector<json>(3, json{"1"}));
    worker_options o = options();
    o.concurrency = 2;
    o.prefetch = 1;
    o.lease_timeout = 600ms;
    std::atomic<bool> go{false};
    Running w{o, [&](job &j) {
                  j.progress(0.5);
                  while (!go && !j.stop().wait_for(5ms)) {
                  }
                  EXPECT_FALSE(j.stop_requested());
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().heartbeats > 30; }));
    EXPECT_TRUE(eventually([&] {
        return ask(connection, "select count(*) from scylla.task where queue = '" + queue.str() +
                                   "' and status = 'running' and progress = 0.5 and attempt = 1") == "2";
    }));
    EXPECT_TRUE(all("attempt = 1"));
    go = true;
    EXPECT_TRUE(all("status = 'completed' and attempt = 1"));
    EXPECT_EQ(w->counters().lost, 0u);
    EXPECT_TRUE(
        eventually([&] { return w->counters().connections == 3; })); // to lease and finish, for heartbeats, to wait
}

TEST_F(Worker, HandlersLearnOfCancellation) {
    const resource_name rn = c.submit(queue, "1").rn;
    worker_options o = options();
    o.lease_timeout = 2s;
    std::atomic<stop_reason> reason{stop_reason::none}, called{stop_reason::none};
    Running w{o, [&](job &j) {
                  const stop_callback callback{j.stop(), [&](stop_reason why) { called = why; }};
                  EXPECT_TRUE(j.stop().wait_for(30s));
                  reason = j.stop().reason();
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 1; }));
    c.cancel(rn);
    EXPECT_TRUE(eventually([&] { return reason == stop_reason::cancelled && called == stop_reason::cancelled; }));
    EXPECT_TRUE(eventually([&] { return w->counters().running == 0 && w->counters().held == 0; }));
    EXPECT_EQ(w->counters().cancelled, 1u);
    EXPECT_EQ(c.get(rn).status, task_status::cancelled);
    // and the worker goes on
    const resource_name next = c.submit(queue, "2").rn;
    EXPECT_TRUE(eventually([&] { return c.get(next).status == task_status::running; }));
    c.cancel(next);
}

TEST_F(Worker, HandlersLearnThatTheirLeaseIsLost) {
    const resource_name rn = c.submit(queue, "1").rn;
    worker_options o = options();
    o.lease_timeout = 2s;
    std::atomic<stop_reason> reason{stop_reason::none};
    Running w{o, [&](job &j) {
                  EXPECT_TRUE(j.stop().wait_for(30s));
                  reason = j.stop().reason();
                  return json{"\"too late\""};
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 1; }));
    {
        pqxx::work tx{connection}; // at once: no heartbeat comes between
        client{tx}.yield(rn, *w->name());
        EXPECT_EQ(client{tx}.lease_task(rn, "other", 1min).attempt, 2);
        tx.commit();
    }
    EXPECT_TRUE(eventually([&] { return w->counters().running == 0 && w->counters().held == 0; }));
    EXPECT_EQ(reason, stop_reason::lease_lost);
    EXPECT_EQ(w->counters().lost, 1u);
    EXPECT_EQ(w->counters().completed, 0u);
    EXPECT_EQ(c.complete(rn, "other", std::nullopt, std::nullopt, 2).status, task_status::completed);
}

// One call of the worker is one transaction: the transaction that completed the first task leased the second.
TEST_F(Worker, CompletionsAndLeasesTravelTogether) {
    c.submit_bulk(queue, {"1", "2"});
    std::atomic<bool> go{false};
    Running w{options(), [&](job &j) {
                  while (j.spec() == json{"2"} && !go && !j.stop().wait_for(5ms)) {
                  }
              }};
    const auto together = [&] {
        return ask(connection,
                   "select count(*) from scylla.task_outcome o join scylla.task_lease l on l.xmin::text = o.xmin::text "
                   "join scylla.task_spec s on s.id = l.id join scylla.queue q on q.id = s.queue where q.name = '" +
                       queue.str() + "'");
    };
    EXPECT_TRUE(eventually([&] { return w->counters().completed == 1 && w->counters().running == 1; }));
    EXPECT_EQ(together(), "1");
    go = true;
    EXPECT_TRUE(all("status = 'completed'"));
}

// The server answers, but not in time: another transaction has locked the task. The connection is dropped, and the call
// repeated.
TEST_F(Worker, ACallThatTakesTooLongIsABrokenConnection) {
    const resource_name rn = c.submit(queue, "1").rn;
    worker_options o = options();
    o.call_timeout = 300ms;
    o.reconnect_min = 10ms;
    std::atomic<bool> go{false};
    Running w{o, [&](job &j) {
                  while (!go && !j.stop().wait_for(5ms)) {
                  }
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 1; }));
    pqxx::connection other{""};
    {
        pqxx::work tx{other};
        client{tx}.cancel(rn);
        go = true;
        EXPECT_TRUE(eventually([&] { return w.logged("connection-lost") >= 1; }));
        tx.abort();
    }
    EXPECT_TRUE(all("status = 'completed' and attempt = 1"));
    EXPECT_TRUE(eventually([&] { return w->counters().completed == 1 && w->counters().held == 0; }));
    EXPECT_EQ(w->counters().lost, 0u);
}

// One task is being cancelled in a transaction that stays open: the other leases are still extended.
TEST_F(Worker, ALockedTaskDoesNotHoldUpTheOthers) {
    c.submit_bulk(
        queue, {"1", "2", "3"},
        {resource_name{queue.str() + "-1"}, resource_name{queue.str() + "-2"}, resource_name{queue.str() + "-3"}});
    worker_options o = options();
    o.concurrency = 3;
    o.lease_timeout = 3s;
    std::atomic<bool> go{false};
    Running w{o, [&](job &j) {
                  while (!go && !j.stop().wait_for(5ms)) {
                  }
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 3; }));
    pqxx::connection other{""};
    {
        pqxx::work tx{other};
        client{tx}.cancel(queue.str() + "-1");
        EXPECT_TRUE(eventually([&] { return w.logged("heartbeat-failed") >= 2; }));
        go = true;
        EXPECT_TRUE(eventually([&] {
            return ask(connection, "select count(*) from scylla.task where queue = '" + queue.str() +
                                       "' and status = 'completed'") == "2";
        }));
        tx.commit();
    }
    EXPECT_TRUE(eventually([&] { return w->counters().held == 0; }));
    EXPECT_EQ(w->counters().cancelled, 1u);
    EXPECT_EQ(w->counters().lost, 0u);
    EXPECT_EQ(ask(connection, "select count(*) from scylla.task where queue = '" + queue.str() + "' and attempt = 1"),
              "3");
}

TEST_F(Worker, StopGivesBackWhatIsNotDone) {
    c.submit_bulk(queue, std::vector<json>(100, json{"1"}));
    worker_options o = options();
    o.concurrency = 4;
    o.prefetch = 60;
    Running w{o, [&](job &j) {
                  EXPECT_TRUE(j.stop().wait_for(30s));
                  EXPECT_EQ(j.stop().reason(), stop_reason::stopping);
                  if (j.rn() < resource_name{"8"})
                      throw std::runtime_error{"interrupted"};
                  return outcome::yield();
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 4 && w->counters().leased == 64; }));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(w.stop(), 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
    nothing_is_held();
    EXPECT_TRUE(all("status = 'ready' and failures = 0"));
    EXPECT_EQ(w->counters().yielded, 64u);
    EXPECT_EQ(w->counters().held, 0u);
}

TEST_F(Worker, StopLetsHandlersFinishWithinTheirGrace) {
    c.submit(queue, "1");
    std::atomic<bool> started{false};
    Running w{options(), [&](job &j) {
                  started = true;
                  EXPECT_TRUE(j.stop().wait_for(30s));
                  return json{"\"done\""};
              }};
    EXPECT_TRUE(eventually([&] { return started.load(); }));
    EXPECT_EQ(w.stop(), 0u);
    EXPECT_TRUE(all("status = 'completed'"));
}

TEST_F(Worker, StopIsBounded) {
    c.submit_bulk(queue, {"1", "2"});
    std::atomic<bool> go{false};
    worker_options o = options();
    o.concurrency = 2;
    o.stop_grace = 200ms;
    Running w{o, [&](job &) {
                  while (!go)
                      std::this_thread::sleep_for(1ms);
              }};
    EXPECT_TRUE(eventually([&] { return w->counters().running == 2; }));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(w.stop(), 2u);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
    EXPECT_TRUE(all("status = 'ready'"));
    go = true; // the destructor waits for them
}

TEST_F(Worker, StopBeforeRun) {
    worker w{options(), [](job &) {}};
    w.stop();
    EXPECT_EQ(w.run(), 0u);
    EXPECT_THROW(w.run(), error);
}

TEST_F(Worker, SurvivesTheLossOfItsConnections) {
    worker_options o = options();
    o.conninfo = "application_name=" + queue.str();
    o.concurrency = 4;
    o.prefetch = 8;
    o.reconnect_min = 10ms;
    Running w{o, [](job &) {}};
    const std::string kill =
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = '" + queue.str() + "'";
    EXPECT_TRUE(eventually([&] { return w->counters().connections >= 1; }));
    for (int i = 0; i < 20; i++) {
        const auto before = w->counters().connections;
        c.submit_bulk(queue, std::vector<json>(20, json{"1"}));
        ask(connection, kill);
        EXPECT_TRUE(eventually([&] { return w->counters().connections > before; }));
    }
    EXPECT_TRUE(all("status = 'completed'"));
}

TEST_F(Worker, RefusesWhatCannotPassByItself) {
    worker_options o = options();
    o.conninfo = "dbname=template1";
    worker without_extension{o, [](job &) {}};
    EXPECT_THROW(without_extension.run(), not_supported);

    o.conninfo = "dbname=no_such_database";
    worker without_database{o, [](job &) {}};
    EXPECT_THROW(without_database.run(), not_found);
    o.name = "me";
    worker named{o, [](job &) {}};
    EXPECT_THROW(named.run(), not_found);
    o.name.reset();

    ask(connection, "do $$ begin if not exists (select from pg_roles where rolname = 'client_login') then "
                    "create role client_login login; end if; end $$");
    o.conninfo = "user=client_login";
    o.name = "me";
    worker without_rights{o, [](job &) {}};
    EXPECT_THROW(without_rights.run(), denied);

    for (const auto &spoil : std::vector<std::function<void(worker_options &)>>{
             [](worker_options &x) { x.queues.clear(); },
             [](worker_options &x) { x.queues.assign(65, "q"); },
             [](worker_options &x) { x.concurrency = 0; },
             [](worker_options &x) { x.prefetch = 100000; },
             [](worker_options &x) { x.max_batch = 0; },
             [](worker_options &x) { x.lease_timeout = 0s; },
             [](worker_options &x) { x.stop_grace = -1ms; },
             [](worker_options &x) { x.poll_min = 0ms; },
             [](worker_options &x) { x.conninfo = "nonsense"; },
         }) {
        worker_options spoilt = options();
        spoil(spoilt);
        EXPECT_THROW((worker{spoilt, [](job &) {}}), invalid_argument);
    }
}

TEST_F(Worker, TheServerNamesIt) {
    Running w{options(), [](job &) {}};
    EXPECT_TRUE(eventually([&] { return w->name().has_value(); }));
    EXPECT_EQ(w->name()->str().substr(0, 11), "registered-");
    c.submit(queue, "1");
    EXPECT_TRUE(all("status = 'completed' and owner = '" + w->name()->str() + "'"));
}

} // namespace
