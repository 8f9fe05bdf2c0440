// A primary that is killed, and a standby that takes over, under workers and clients that know both hosts.
// SCYLLA_TEST_HOSTS is a connection string with both, SCYLLA_TEST_FAILOVER a command that kills the one and promotes
// the other.
#include <scylla/scylla.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "environment.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

class Failover : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_NE(std::getenv("SCYLLA_TEST_HOSTS"), nullptr);
        ASSERT_NE(std::getenv("SCYLLA_TEST_FAILOVER"), nullptr);
        hosts = std::getenv("SCYLLA_TEST_HOSTS");
    }

    // Repeats a call until it is known that it took effect.
    template <class F> static bool acknowledged(F call) {
        const bool done = eventually([&] {
            try {
                call();
                return true;
            } catch (const connection_lost &) {
            } catch (const read_only &) {
            }
            return false;
        });
        EXPECT_TRUE(done) << "no server answers";
        return done;
    }

    std::string hosts;
    const queue_name queue{unique("failover")};
    std::mutex mutex;
    std::map<std::string, int> completed; // how often a worker was told that it has completed a task
    std::vector<std::string> lines;

    worker_options options() {
        worker_options o;
        o.conninfo = hosts; // and by itself only the one that accepts writes
        o.queues = {queue};
        o.concurrency = 2;
        o.prefetch = 8;
        o.lease_timeout = 3s;
        o.reconnect_min = 10ms;
        o.reconnect_max = 200ms;
        o.log = [this](const log_entry &entry) {
            const std::lock_guard lock{mutex};
            if (entry.event == "completed")
                completed[entry.rn->str()]++;
            else if (entry.level > log_level::debug)
                lines.push_back(std::string{entry.event} + ' ' + (entry.rn ? entry.rn->str() : "") + ' ' +
                                entry.message);
        };
        return o;
    }
};

TEST_F(Failover, WhatWasAcknowledgedIsCompletedOnce) {
    pool connections{hosts + " target_session_attrs=read-write"};
    client c{connections};
    std::atomic<int> submitted{0}, last{std::numeric_limits<int>::max()};
    std::thread submitter{[&] {
        for (bool goes_on = true; goes_on && submitted < last; submitted += goes_on) {
            submit_options named;
            named.rn = queue.str() + '-' + std::to_string(submitted);
            goes_on = acknowledged([&] { c.submit(queue, "1", named, on_duplicate::ignore); });
        }
    }};
    std::vector<std::unique_ptr<worker>> workers;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++) {
        workers.push_back(std::make_unique<worker>(options(), [](job &j) { return json::string(j.worker().str()); }));
        threads.emplace_back([&w = *workers.back()] { EXPECT_EQ(w.run(), 0u); });
    }
    const auto count_completed = [&] {
        std::int64_t count = 0;
        acknowledged([&] {
            for (const task_count &t : c.count_tasks(queue))
                if (t.status == task_status::completed)
                    count = t.tasks;
        });
        return count;
    };
    EXPECT_TRUE(eventually([&] { return count_completed() >= 500; }));
    std::vector<std::uint64_t> connections_before;
    for (const auto &w : workers)
        connections_before.push_back(w->counters().connections);
    EXPECT_EQ(std::system(std::getenv("SCYLLA_TEST_FAILOVER")), 0);
    last = submitted + 500; // and it was in the middle of one
    submitter.join();
    const int tasks = submitted;
    EXPECT_TRUE(eventually([&] { return count_completed() == tasks; }));
    EXPECT_TRUE(eventually([&] { return workers[0]->counters().held + workers[1]->counters().held == 0; }));
    for (std::size_t i = 0; i < workers.size(); i++)
        EXPECT_TRUE(eventually([&] { return workers[i]->counters().connections > connections_before[i]; }));
    for (const auto &w : workers)
        w->stop();
    for (std::thread &thread : threads)
        thread.join();

    EXPECT_EQ(completed.size(), static_cast<std::size_t>(tasks));
    for (const auto &[rn, times] : completed)
        EXPECT_EQ(times, 1) << rn;
    pqxx::connection after{hosts + " target_session_attrs=read-write"};
    EXPECT_EQ(ask(after, "select count(*) from scylla.task where queue = '" + queue.str() +
                             "' and status = 'completed' and result = to_jsonb(owner) and failures < attempt"),
              std::to_string(tasks));
    EXPECT_EQ(ask(after, "select count(*) from scylla.check()"), "0");
    if (HasFailure())
        for (const std::string &line : lines)
            std::cerr << line << '\n';
}

} // namespace
