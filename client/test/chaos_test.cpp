// Workers that are killed, stopped and paused, and a server that restarts.
#include <scylla/scylla.h>

#include <map>
#include <random>

#include <fstream>

#include "processes.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

class Chaos : public ::testing::Test {
protected:
    pool connections{""};
    client c{connections};
    queue_name queue{unique("queue")};
    Folder folder;

    // SIGTERM, but not before the program is ready for it.
    void stop(const Process &process, const std::string &log) const {
        EXPECT_TRUE(eventually([&] { return logged(folder.file(log), "connected"); }));
        process.send(SIGTERM);
    }

    // Log entries of a worker that are not about the progress of its tasks.
    static std::string warnings(const std::string &log) {
        std::string said;
        for (const std::string &line : lines(log))
            if (line.compare(0, 7, "leased ") != 0 && line.compare(0, 10, "completed ") != 0 &&
                line.compare(0, 8, "yielded ") != 0)
                said += line + '\n';
        return said;
    }

    std::int64_t count(const std::string &condition) {
        return std::stoll(ask("select count(*) from scylla.task where queue = '" + queue.str() + "' and " + condition));
    }
};

TEST_F(Chaos, EveryTaskIsCompletedByOneOwner) {
    constexpr std::size_t workers = 8, tasks = 20000;
    c.submit_bulk(queue, std::vector<json>(tasks, json{"1"}));

    struct member {
        std::string name;
        Process process;
    };
    std::vector<std::string> names; // all there ever were
    const auto hire = [&] {
        names.push_back("chaos-" + std::to_string(names.size()) + '-' + queue.str());
        return member{names.back(), Process{{names.back(), queue.str(), "2000", "2", "20", folder.file(names.back())}}};
    };
    std::vector<member> team;
    for (std::size_t i = 0; i < workers; i++)
        team.push_back(hire());

    const auto seed = std::random_device{}();
    std::minstd_rand random{seed};
    RecordProperty("seed", static_cast<int>(seed));
    bool restarted = false;
    std::int64_t done = 0, milestone = 1000;
    while (done < static_cast<std::int64_t>(tasks)) {
        // After each thousand something happens.
        ASSERT_TRUE(eventually(
            [&] {
                done = count("status = 'completed'");
                return done >= milestone || done == static_cast<std::int64_t>(tasks);
            },
            100s))
            << done << " of " << tasks << ", seed " << seed;
        milestone = done + 1000;
        if (done >= static_cast<std::int64_t>(tasks) / 2 && !restarted) {
            const char *restart = std::getenv("SCYLLA_TEST_RESTART");
            ASSERT_NE(restart, nullptr);
            ASSERT_EQ(std::system(restart), 0);
            restarted = true;
            continue;
        }
        member &victim = team[random() % team.size()];
        if (random() % 2 == 0) {
            victim.process.send(SIGKILL);
            EXPECT_EQ(victim.process.wait(), 128 + SIGKILL);
        } else {
            stop(victim.process, victim.name);
            EXPECT_EQ(victim.process.wait(), 0);
            EXPECT_EQ(count("status = 'running' and owner = '" + victim.name + "'"), 0)
                << "held after SIGTERM; " << warnings(folder.file(victim.name));
        }
        victim = hire();
    }
    EXPECT_TRUE(restarted);
    for (member &m : team)
        stop(m.process, m.name);
    for (member &m : team)
        EXPECT_EQ(m.process.wait(), 0);

    // No worker was told that it had completed a task that another worker completed.
    std::map<std::string, std::string> completed_by;
    for (const std::string &name : names)
        for (const std::string &line : lines(folder.file(name)))
            if (line.compare(0, 10, "completed ") == 0) {
                const std::string rn = line.substr(10, line.find(' ', 10) - 10);
                EXPECT_TRUE(completed_by.emplace(rn, name).second)
                    << rn << " by " << completed_by[rn] << " and " << name;
            }
    EXPECT_GT(completed_by.size(), tasks / 2);
    std::size_t rows = 0;
    pqxx::connection connection{""};
    pqxx::nontransaction tx{connection};
    const pqxx::result result =
        tx.exec("select rn, owner from scylla.task where queue = '" + queue.str() +
                "' and status = 'completed' and result = to_jsonb(owner) and failures < attempt");
    for (const auto &row : result) {
        rows++;
        const auto said = completed_by.find(row[0].c_str());
        if (said != completed_by.end()) {
            EXPECT_EQ(said->second, row[1].c_str());
        }
    }
    EXPECT_EQ(rows, tasks);
    EXPECT_EQ(ask("select count(*) from scylla.check()"), "0");
}

// A worker that was paused for longer than its lease lasts notices that another worker has its task, and leaves it
// alone.
TEST_F(Chaos, APausedWorkerDoesNotCompleteWhatItHasLost) {
    const resource_name rn = c.submit(queue, "1").rn;
    const std::string log = folder.file("log"), gate = folder.file("gate");
    Process sleeper{{"sleeper-" + queue.str(), queue.str(), "500", "1", "0", log, gate}};
    ASSERT_TRUE(eventually([&] { return c.get(rn).status == task_status::running; }));
    sleeper.send(SIGSTOP);
    std::vector<task> leased;
    ASSERT_TRUE(eventually([&] {
        leased = c.lease(queue, "other", 1, 1min);
        return !leased.empty();
    }));
    EXPECT_EQ(leased[0].attempt, 2);
    EXPECT_EQ(leased[0].failures, 1);
    sleeper.send(SIGCONT);
    EXPECT_TRUE(eventually([&] { return logged(log, "lost"); }));
    std::ofstream{gate}.flush(); // now its handler returns a result
    const resource_name next = c.submit(queue, "2").rn;
    EXPECT_TRUE(eventually([&] { return c.get(next).status == task_status::completed; })); // it goes on with others
    EXPECT_EQ(c.get(rn).owner, worker_name{"other"});
    EXPECT_EQ(c.complete(rn, "other", json{"\"mine\""}, std::nullopt, 2).status, task_status::completed);
    for (const std::string &line : lines(log))
        EXPECT_NE(line.substr(0, line.find(' ', 10)), "completed " + rn.str());
    sleeper.send(SIGTERM);
    EXPECT_EQ(sleeper.wait(10s), 0);
}

// The same, when the handler returns before a heartbeat could tell: the server refuses the result.
TEST_F(Chaos, APausedWorkerIsRefusedEvenBeforeItFindsOut) {
    const resource_name rn = c.submit(queue, "1").rn;
    const std::string log = folder.file("log"), gate = folder.file("gate");
    Process sleeper{{"sleeper-" + queue.str(), queue.str(), "60000", "1", "0", log, gate}};
    ASSERT_TRUE(eventually([&] { return c.get(rn).status == task_status::running; }));
    sleeper.send(SIGSTOP);
    c.yield(rn, "sleeper-" + queue.str()); // as if its time were over
    EXPECT_EQ(c.lease_task(rn, "other", 1min).attempt, 2);
    std::ofstream{gate}.flush();
    sleeper.send(SIGCONT); // the next heartbeat is 20 s away
    EXPECT_TRUE(eventually([&] { return logged(log, "lost"); }));
    EXPECT_EQ(c.get(rn).owner, worker_name{"other"});
    EXPECT_EQ(c.get(rn).status, task_status::running);
    sleeper.send(SIGTERM);
    EXPECT_EQ(sleeper.wait(10s), 0);
}

} // namespace
