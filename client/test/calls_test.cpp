// Every call of the client, over a transaction, a connection and a pool.
#include <scylla/client.h>

#include <set>
#include <thread>

#include "environment.h"
#include "executor.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

class Calls : public ::testing::Test {
protected:
    pqxx::connection connection{""};
    client c{connection};
    queue_name queue{unique("queue")};
    worker_name me{unique("worker")};

    resource_name submit(const submit_options &options = {}) { return c.submit(queue, "{}", options).rn; }
    resource_name leased() {
        const resource_name rn = submit();
        c.lease_task(rn, me);
        return rn;
    }
};

// Runs a call that must throw exactly this class, and returns what it threw.
template <class E, class F> E thrown(F call) {
    try {
        call();
    } catch (const E &e) {
        EXPECT_EQ(typeid(e).name(), typeid(E).name()) << e.what();
        return e;
    } catch (const std::exception &e) {
        ADD_FAILURE() << "threw " << typeid(e).name() << ": " << e.what();
        throw;
    }
    ADD_FAILURE() << "threw nothing";
    throw std::logic_error{"nothing thrown"};
}

TEST_F(Calls, SubmitReturnsTheWholeTask) {
    const auto before = std::chrono::system_clock::now();
    submit_options options;
    options.priority = 7;
    options.rn = unique("rn \"'\\");
    options.max_attempts = 3;
    const task t = c.submit(queue, R"({"a": [1, "zwei"]})", options);
    EXPECT_EQ(t.rn, *options.rn);
    EXPECT_EQ(t.queue, queue);
    EXPECT_EQ(t.spec, json{R"({"a": [1, "zwei"]})"});
    EXPECT_EQ(t.status, task_status::ready);
    EXPECT_EQ(t.priority, 7);
    EXPECT_EQ(t.progress, 0);
    EXPECT_EQ(t.max_attempts, 3);
    EXPECT_EQ(t.attempt, 0);
    EXPECT_EQ(t.failures, 0);
    EXPECT_EQ(t.errors.text(), "[]");
    EXPECT_EQ(t.history.text(), "[]");
    EXPECT_EQ(t.args.text(), "[]");
    EXPECT_FALSE(t.owner || t.deadline || t.result || t.metrics || t.not_before || t.plan);
    EXPECT_EQ(t.created, t.updated);
    EXPECT_LT(t.created, before + 1min); // one machine, one clock
    EXPECT_GT(t.created, before - 1min);
}

TEST_F(Calls, SubmitMakesNamesAndKeepsThem) {
    const resource_name rn = submit();
    EXPECT_EQ(rn.str().size(), 36u);
    submit_options again;
    again.rn = rn;
    EXPECT_EQ(c.submit(queue, R"({"other": 1})", again, on_duplicate::ignore).spec, json{"{}"});
    const auto e = thrown<duplicate>([&] { c.submit(queue, "{}", again); });
    EXPECT_EQ(e.sqlstate(), "23505");
    EXPECT_EQ(e.message(), "task \"" + rn.str() + "\" already exists");
}

TEST_F(Calls, NotBeforeTravelsExactly) {
    submit_options later;
    later.not_before = std::chrono::time_point_cast<duration>(std::chrono::system_clock::now()) + 1h + 1us;
    for (const char *settings : {"set datestyle = 'German'; set timezone = 'Asia/Kathmandu'",
                                 "set datestyle = 'SQL, MDY'; set timezone = 'America/St_Johns'; set extra_float_digits = 0"}) {
        ask(connection, settings);
        const task t = c.submit(queue, "{}", later);
        EXPECT_EQ(t.status, task_status::waiting);
        EXPECT_EQ(t.not_before, later.not_before);
        EXPECT_EQ(c.get(t.rn).not_before, later.not_before);
        EXPECT_EQ(c.submit_many({{queue, "{}", later}}).size(), 1u);
    }
    EXPECT_EQ(ask(connection, "select count(distinct not_before) from scylla.task where queue = '" + queue.str() + "'"), "1");
}

TEST_F(Calls, SubmitMany) {
    submit_options first;
    first.rn = unique("many");
    first.priority = 9;
    const queue_name other{unique("other")};
    const auto done = c.submit_many({{queue, R"({"n": 1})", first},
                                     {other, "[2, \"}, {\"]", {}},
                                     {queue, "3", first}});
    ASSERT_EQ(done.size(), 3u);
    EXPECT_EQ(done[0].rn, *first.rn);
    EXPECT_TRUE(done[0].inserted);
    EXPECT_TRUE(done[1].inserted);
    EXPECT_FALSE(done[2].inserted);
    EXPECT_EQ(c.get(done[0].rn).priority, 9);
    EXPECT_EQ(c.get(done[1].rn).queue, other);
    EXPECT_EQ(c.get(done[1].rn).spec, json{"[2, \"}, {\"]"});
    thrown<duplicate>([&] { c.submit_many({{queue, "1", first}}, on_duplicate::error); });
    EXPECT_TRUE(c.submit_many({}).empty());
}

TEST_F(Calls, ASpecCannotBreakOutOfItsElement) {
    thrown<invalid_argument>([&] { c.submit_many({{queue, R"(1}, {"queue": "x", "spec": 2)", {}}}); });
    thrown<invalid_argument>([&] { c.submit_bulk(queue, {R"({}","{})"}); });
    EXPECT_TRUE(c.list({queue, std::nullopt, std::nullopt, 100}).empty());
}

TEST_F(Calls, SubmitBulk) {
    EXPECT_EQ(c.submit_bulk(queue, {"1", R"({"two": "{2, \"x\"}"})", "3"}, {}, 4), 3);
    EXPECT_EQ(c.submit_bulk(queue, {"4"}, {resource_name{unique("bulk")}}), 1);
    EXPECT_EQ(c.list({queue, std::nullopt, std::nullopt, 100}).size(), 4u);
    const auto e = thrown<invalid_argument>([&] { c.submit_bulk(queue, {"1", "2"}, {"only-one"}); });
    EXPECT_EQ(e.sqlstate(), "22023");
}

TEST_F(Calls, LeaseInOrder) {
    EXPECT_TRUE(c.lease(queue, me).empty());
    const resource_name low = submit();
    submit_options urgent;
    urgent.priority = 100;
    const resource_name high = submit(urgent);
    const auto tasks = c.lease(queue, me, 5, 1min);
    ASSERT_EQ(tasks.size(), 2u);
    EXPECT_EQ(tasks[0].rn, high);
    EXPECT_EQ(tasks[1].rn, low);
    EXPECT_EQ(tasks[0].owner, me);
    EXPECT_EQ(tasks[0].attempt, 1);
    EXPECT_EQ(tasks[0].status, task_status::running);
    EXPECT_EQ(*tasks[0].deadline - tasks[0].updated, 1min);
    EXPECT_NE(tasks[0].history.text().find("TaskAssignment"), std::string::npos);
}

TEST_F(Calls, LeaseTask) {
    const resource_name rn = submit();
    EXPECT_EQ(c.lease_task(rn, me, 5min).rn, rn);
    const auto busy = thrown<wrong_state>([&] { c.lease_task(rn, me); });
    EXPECT_EQ(busy.rule(), "ready");
    EXPECT_NE(busy.detail().find("running"), std::string::npos);
    EXPECT_EQ(thrown<not_found>([&] { c.lease_task("no such task", me); }).sqlstate(), "P0002");
}

TEST_F(Calls, Heartbeat) {
    const resource_name rn = leased();
    heartbeat_options options;
    options.progress = 0.25;
    options.timeout = 10min;
    options.attempt = 1;
    const task t = c.heartbeat(rn, me, options);
    EXPECT_EQ(t.progress, 0.25);
    EXPECT_EQ(*t.deadline - t.updated, 10min);
    EXPECT_FALSE(t.spec);
    options.attempt = 2;
    const auto lost = thrown<lease_lost>([&] { c.heartbeat(rn, me, options); });
    EXPECT_EQ(lost.rule(), "held");
    EXPECT_FALSE(lost.detail().empty());
    thrown<lease_lost>([&] { c.heartbeat(rn, "somebody else"); });
    options.progress = 2;
    options.attempt = 1;
    EXPECT_EQ(thrown<invalid_argument>([&] { c.heartbeat(rn, me, options); }).sqlstate(), "22023");
}

TEST_F(Calls, HeartbeatMany) {
    const resource_name held = leased();
    const resource_name ready = submit();
    const auto states = c.heartbeat_many({{held, 1}, {ready, 0}, {"no such task", 1}, {held, 1}}, me, 1min);
    ASSERT_EQ(states.size(), 4u);
    EXPECT_EQ(states[0].rn, held);
    EXPECT_TRUE(states[0].held);
    EXPECT_EQ(states[0].status, task_status::running);
    EXPECT_FALSE(states[1].held);
    EXPECT_EQ(states[1].status, task_status::ready);
    EXPECT_FALSE(states[2].held);
    EXPECT_FALSE(states[2].status);
    EXPECT_FALSE(states[3].held);
    EXPECT_TRUE(c.heartbeat_many({{held}}, me).at(0).held);
    thrown<invalid_argument>([&] { c.heartbeat_many({{held, 1}, {ready}}, me); });
}

TEST_F(Calls, Complete) {
    const resource_name rn = leased();
    thrown<invalid_argument>([&] { c.complete(rn, me, json{"no json"}); });
    const task t = c.complete(rn, me, json{R"({"id": 17})"}, json{R"({"s": 0.2})"}, 1);
    EXPECT_EQ(t.status, task_status::completed);
    EXPECT_EQ(t.result, json{R"({"id": 17})"});
    EXPECT_EQ(t.metrics, json{R"({"s": 0.2})"});
    EXPECT_EQ(t.progress, 1);
    thrown<lease_lost>([&] { c.complete(rn, me); });
}

TEST_F(Calls, CompleteMany) {
    const resource_name one = leased(), two = leased();
    const auto states = c.complete_many({{one, 1, json{R"("r\"1")"}}, {two, 2, std::nullopt}, {"no such task", 1}}, me);
    ASSERT_EQ(states.size(), 3u);
    EXPECT_TRUE(states[0].completed);
    EXPECT_EQ(states[0].status, task_status::completed);
    EXPECT_FALSE(states[1].completed);
    EXPECT_EQ(states[1].status, task_status::running);
    EXPECT_FALSE(states[2].status);
    EXPECT_EQ(c.get(one).result, json{R"("r\"1")"});
}

TEST_F(Calls, CompleteAndLease) {
    const resource_name one = leased(), two = leased(), next = submit();
    const auto tasks = c.complete_and_lease({{one, 1, json{"1"}}}, me, queue, 5, 1min);
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].rn, next);
    c.cancel(two);
    const auto lost = thrown<lease_lost>([&] { c.complete_and_lease({{next}, {two}}, me, queue); });
    EXPECT_NE(lost.message().find(two.str()), std::string::npos);
    EXPECT_EQ(c.get(next).status, task_status::running);
    EXPECT_TRUE(c.complete_and_lease({{next}}, me, queue).empty());
}

TEST_F(Calls, AbortAndFail) {
    const resource_name rn = leased();
    const task aborted = c.abort(rn, me, {"no-such-address", "who is \"zoë\"?", R"({"to": "zoë"})"}, 1);
    EXPECT_EQ(aborted.status, task_status::aborted);
    EXPECT_NE(aborted.errors.text().find("no-such-address"), std::string::npos);
    EXPECT_NE(aborted.errors.text().find(R"("args": {"to": "zoë"})"), std::string::npos);

    const resource_name again = leased();
    const task failed = c.fail(again, me, {"busy", ""}, 1h, 1);
    EXPECT_EQ(failed.status, task_status::waiting);
    EXPECT_EQ(failed.failures, 1);
    EXPECT_EQ(*failed.not_before - failed.updated, 1h);
    const resource_name soon = leased();
    EXPECT_EQ(c.fail(soon, me, {"busy", ""}, 0s).status, task_status::ready);
    const resource_name wrong = leased();
    EXPECT_EQ(thrown<invalid_argument>([&] { c.fail(wrong, me, {"", "no code"}); }).sqlstate(), "22023");
}

TEST_F(Calls, YieldAndCancel) {
    const resource_name rn = leased();
    EXPECT_EQ(c.yield(rn, me, 1).status, task_status::ready);
    thrown<lease_lost>([&] { c.yield(rn, me, 1); });
    EXPECT_EQ(c.cancel(rn).status, task_status::cancelled);
    EXPECT_EQ(thrown<wrong_state>([&] { c.cancel(rn); }).rule(), "live");
    thrown<not_found>([&] { c.cancel("no such task"); });
}

TEST_F(Calls, ListFilters) {
    const resource_name mine = leased();
    const resource_name ready = submit();
    EXPECT_EQ(c.list({queue, std::nullopt, std::nullopt, 100}).size(), 2u);
    EXPECT_EQ(c.list({queue, std::nullopt, std::nullopt, 1}).size(), 1u);
    EXPECT_EQ(c.list({queue, task_status::ready, std::nullopt, 100}).at(0).rn, ready);
    EXPECT_EQ(c.list({std::nullopt, std::nullopt, me, 100}).at(0).rn, mine);
    EXPECT_FALSE(c.list().empty());
    thrown<invalid_argument>([&] { c.list({std::nullopt, std::nullopt, std::nullopt, 0}); });
}

TEST_F(Calls, Queues) {
    queue_options options;
    options.default_timeout = 90s;
    options.retention = 0s;
    options.aging = 0.5;
    c.create_queue(queue, options);
    EXPECT_EQ(thrown<duplicate>([&] { c.create_queue(queue); }).sqlstate(), "42710");
    submit();
    const task t = c.lease(queue, me).at(0);
    EXPECT_EQ(*t.deadline - t.updated, 90s);
    c.complete(t.rn, me);
    EXPECT_TRUE(eventually([&] { // the monitor may be faster
        c.purge();
        return c.list({queue, std::nullopt, std::nullopt, 1}).empty();
    }));
}

TEST_F(Calls, QueueSettings) {
    queue_options options;
    options.max_attempts = 5;
    options.retry = retry_policy{2s, 3.0, 1min, 0.5};
    options.retention_completed = 1h;
    options.retention_aborted = 2h;
    options.retention_cancelled = 3h;
    options.paused = true;
    options.max_running = 9;
    options.max_running_per_key = 8;
    options.events = options.notify = true;
    options.max_depth = 7;
    options.shed = true;
    c.create_queue(queue, options);
    const auto settings = [&] {
        for (queue_info &info : c.queues())
            if (info.queue == queue)
                return info;
        throw std::logic_error{"no such queue"};
    };
    queue_info info = settings();
    EXPECT_EQ(info.max_attempts, 5);
    EXPECT_EQ(info.retention_completed, 1h);
    EXPECT_EQ(info.retention_aborted, 2h);
    EXPECT_EQ(info.retention_cancelled, 3h);
    EXPECT_TRUE(info.paused);
    EXPECT_EQ(info.max_running, 9);
    EXPECT_EQ(info.max_running_per_key, 8);
    EXPECT_TRUE(info.events && info.notify);
    EXPECT_EQ(info.max_depth, 7);
    EXPECT_TRUE(info.shed);
    EXPECT_FALSE(info.default_timeout || info.retention);
    ASSERT_TRUE(info.retry);
    EXPECT_NE(info.retry->text().find("\"factor\": 3"), std::string::npos);
    submit();
    EXPECT_TRUE(c.lease(queue, me).empty());
    c.resume_queue(queue);
    EXPECT_FALSE(settings().paused);
    const resource_name rn = c.lease(queue, me).at(0).rn;
    EXPECT_EQ(c.fail(rn, me, {"busy", ""}).max_attempts, 5);
    c.pause_queue(queue);
    EXPECT_TRUE(settings().paused);
    c.alter_queue(queue, queue_changes{}.default_timeout(7s).max_attempts(std::nullopt).retry(std::nullopt).aging(2).max_running(1)
                             .max_running_per_key(2).events(false).notify(false).max_depth(3).shed(false));
    info = settings();
    EXPECT_EQ(info.default_timeout, 7s);
    EXPECT_EQ(info.aging, 2);
    EXPECT_EQ(info.max_running, 1);
    EXPECT_EQ(info.max_running_per_key, 2);
    EXPECT_FALSE(info.events || info.notify);
    EXPECT_EQ(info.max_depth, 3);
    EXPECT_FALSE(info.shed);
    EXPECT_FALSE(info.max_attempts || info.retry);
    EXPECT_EQ(info.retention_completed, 1h);
    EXPECT_EQ(thrown<wrong_state>([&] { c.drop_queue(queue); }).sqlstate(), "2BP01");
    c.drop_queue(queue, true);
    thrown<not_found>([&] { c.get(rn); });
    thrown<not_found>([&] { c.pause_queue(queue); });
    EXPECT_THROW(settings(), std::logic_error);
}

TEST_F(Calls, QueueRights) {
    c.create_queue(queue);
    ask(connection, "do $$ begin if not exists (select from pg_roles where rolname = 'client_granted') "
                    "then create role client_granted; end if; end $$");
    const auto granted = [&] {
        std::set<std::string> privileges;
        for (const queue_grant &grant : c.grants())
            if (grant.queue == queue && grant.role == "client_granted")
                privileges.insert(grant.privilege);
        return privileges;
    };
    for (const queue_privilege privilege : {queue_privilege::submit, queue_privilege::work, queue_privilege::view, queue_privilege::admin})
        c.grant_queue(queue, "client_granted", privilege);
    EXPECT_EQ(granted(), (std::set<std::string>{"submit", "work", "view", "admin"}));
    c.revoke_queue(queue, "client_granted", queue_privilege::admin);
    EXPECT_EQ(granted(), (std::set<std::string>{"submit", "work", "view"}));
    c.set_queue_owner(queue, "client_granted");
    EXPECT_EQ(granted(), (std::set<std::string>{"owner", "submit", "work", "view"}));
    thrown<not_found>([&] { c.grant_queue(queue, "no such role", queue_privilege::work); });
}

TEST_F(Calls, Statistics) {
    c.complete(leased(), me);
    submit();
    const auto mine = [&] {
        for (queue_statistics &s : c.statistics())
            if (s.queue == queue)
                return s;
        throw std::logic_error{"no such queue"};
    };
    const queue_statistics s = mine();
    EXPECT_EQ(s.ready, 1);
    EXPECT_EQ(s.terminal, 1);
    EXPECT_EQ(s.running, 0);
    EXPECT_EQ(s.submitted, 2);
    EXPECT_EQ(s.completed, 1);
    EXPECT_TRUE(s.oldest_ready);
    EXPECT_TRUE(s.stats_reset);
    EXPECT_LE(*c.quantile(s.wait_histogram, 0.5), 1h);
    EXPECT_FALSE(c.quantile(std::vector<std::int64_t>(s.wait_histogram.size(), 0), 0.5));
    std::int64_t all = 0;
    for (const task_count &count : c.count_tasks(queue))
        all += count.tasks;
    EXPECT_EQ(all, 2);
    EXPECT_FALSE(c.count_tasks().empty());
    c.reset_statistics(queue);
    EXPECT_EQ(mine().submitted, 0);
}

TEST_F(Calls, Dependencies) {
    const resource_name first = submit(), second = submit();
    submit_options options;
    options.depends_on = {second, first};
    options.on_dependency_failure = dependency_failure::skip;
    options.dedup_key = "key";
    options.key = "whose \"";
    const task t = c.submit(queue, "1", options);
    EXPECT_EQ(t.status, task_status::waiting);
    thrown<duplicate>([&] { c.submit(queue, "2", options); });
    EXPECT_EQ(c.submit(queue, "2", options, on_duplicate::ignore).rn, t.rn);
    for (const resource_name &rn : {first, second}) {
        c.lease_task(rn, me);
        c.complete(rn, me, json::string(rn.str()));
    }
    const task ready = c.get(t.rn);
    EXPECT_EQ(ready.status, task_status::ready);
    EXPECT_EQ(ready.key, options.key);
    EXPECT_EQ(ready.args, json{"[\"" + second.str() + "\", \"" + first.str() + "\"]"});
    options = {};
    options.retry = retry_policy{30min, std::nullopt, std::nullopt, std::nullopt};
    const resource_name patient = submit(options);
    c.lease_task(patient, me);
    const task failed = c.fail(patient, me, {"busy", ""});
    EXPECT_EQ(*failed.not_before - failed.updated, 30min);
    EXPECT_TRUE(c.submit_many({{queue, "1", options}}).at(0).inserted);
    options.depends_on = {"no such task"};
    thrown<not_found>([&] { c.submit(queue, "1", options); });
}

TEST_F(Calls, Plans) {
    const plan_name plan{unique("plan \"")};
    EXPECT_EQ(c.create_plan(plan, json{R"({"what": "for"})"}), plan);
    thrown<duplicate>([&] { c.create_plan(plan); });
    EXPECT_FALSE(c.create_plan().empty());
    submit_options first, last;
    first.plan = last.plan = plan;
    first.rn = unique("first \"'");
    last.rn = unique("last");
    last.depends_on = {*first.rn};
    last.on_dependency_failure = dependency_failure::ignore;
    last.dedup_key = unique("key");
    last.key = "whose \"";
    const auto done = c.submit_many({{queue, "1", last}, {queue, "2", first}});
    EXPECT_TRUE(done.at(0).inserted && done.at(1).inserted);
    plan_info info = c.get_plan(plan);
    EXPECT_EQ(info.status, plan_status::building);
    EXPECT_EQ(info.waiting, 2);
    EXPECT_EQ(info.spec, json{R"({"what": "for"})"});
    EXPECT_FALSE(info.opened || info.finished || info.result);
    c.open_plan(plan);
    thrown<wrong_state>([&] { c.open_plan(plan); });
    EXPECT_EQ(c.get_plan(plan).status, plan_status::running);
    EXPECT_EQ(c.get_plan(plan).ready, 1);
    EXPECT_FALSE(c.plan_completed(plan));
    EXPECT_FALSE(c.wait_plan(plan, 10ms));
    EXPECT_EQ(c.get(*first.rn).plan, plan);
    EXPECT_EQ(c.get(*last.rn).key, last.key);
    c.lease_task(*first.rn, me);
    c.abort(*first.rn, me, {"no", ""});
    EXPECT_EQ(c.get(*last.rn).status, task_status::ready);
    c.lease_task(*last.rn, me);
    c.complete(*last.rn, me, json{"17"});
    EXPECT_TRUE(c.wait_plan(plan));
    info = c.get_plan(plan);
    EXPECT_EQ(info.completed, 1);
    EXPECT_EQ(info.aborted, 1);
    EXPECT_EQ(info.progress, 1);
    EXPECT_TRUE(info.finished);
    EXPECT_NE(info.result.value_or(json{}).text().find("17"), std::string::npos);
    thrown<wrong_state>([&] { c.cancel_plan(plan); });
    EXPECT_EQ(c.plan_dot(plan).substr(0, 7), "digraph");
    EXPECT_EQ(c.plan_mermaid(plan).substr(0, 9), "flowchart");
    EXPECT_NE(c.plan_dot(plan, 1), c.plan_dot(plan));
    const auto runs = c.plan_timeline(plan);
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].rn, *first.rn);
    EXPECT_EQ(runs[0].owner, me);
    EXPECT_EQ(runs[0].attempt, 1);
    EXPECT_EQ(runs[0].queue, queue);
    EXPECT_EQ(runs[0].status, "aborted");
    EXPECT_LE(runs[0].started, runs[0].ended);
    EXPECT_EQ(runs[1].status, "completed");

    const plan_name other = c.create_plan();
    first.plan = other;
    first.rn.reset();
    c.submit(queue, "1", first);
    c.open_plan(other);
    EXPECT_EQ(c.cancel_plan(other), 1);
    EXPECT_EQ(c.get_plan(other).status, plan_status::cancelled);
    thrown<not_found>([&] { c.get_plan("no such plan"); });
    thrown<not_found>([&] { c.plan_completed("no such plan"); });
}

TEST_F(Calls, Schedules) {
    ask(connection, "set scylla.schedules = manual"); // no pg_cron here
    const schedule_name name{unique("schedule")};
    schedule_options options;
    options.timezone = "Europe/Berlin";
    options.overlap = overlap_policy::skip;
    options.catch_up = catch_up_policy::all;
    options.grace = 2h;
    options.jitter = 1s;
    options.starts = time_point{1000000000s};
    options.ends = time_point{9000000000s};
    options.planned_key = "day";
    options.options = R"({"priority": 5})";
    schedule_options options_of_plan = options;
    options_of_plan.options = "{}";
    options_of_plan.planned_key.reset();
    const auto first = c.schedule(name, "0 2 * * *", queue, R"({"x": 1})", options);
    ASSERT_TRUE(first);
    EXPECT_EQ(c.cron_next("0 2 * * *", std::nullopt, "Europe/Berlin"), first);
    EXPECT_EQ(c.cron_next("30 4 * * *", time_point{1000000000s}), time_point{1000009800s});
    EXPECT_FALSE(c.cron_next("0 0 30 2 *"));
    const auto mine = [&] {
        for (schedule_info &info : c.schedules())
            if (info.name == name)
                return info;
        throw std::logic_error{"no such schedule"};
    };
    const schedule_info info = mine();
    EXPECT_EQ(info.cron, "0 2 * * *");
    EXPECT_EQ(info.timezone, "Europe/Berlin");
    EXPECT_EQ(info.queue, queue);
    EXPECT_EQ(info.spec, json{R"({"x": 1})"});
    EXPECT_EQ(info.options, json{R"({"priority": 5})"});
    EXPECT_TRUE(info.armed);
    EXPECT_EQ(info.next_run, first);
    EXPECT_EQ(info.runs, 0);
    EXPECT_FALSE(info.last_run || info.last_task || info.last_error);
    const schedule_name plans{unique("plans")};
    submit_options compile, link;
    compile.rn = "compile";
    compile.priority = 3;
    link.rn = "link";
    link.depends_on = {*compile.rn};
    EXPECT_EQ(c.schedule_plan(plans, "0 2 * * *", {{queue, "1", compile}, {queue, "2", link}}, options_of_plan), first);
    thrown<invalid_argument>([&] { c.schedule_plan(plans, "0 2 * * *", {}); });
    c.unschedule(plans);
    EXPECT_GE(c.run_schedules(), 0);
    EXPECT_EQ(c.arm_schedules(), 0);
    c.unschedule(name);
    EXPECT_THROW(mine(), std::logic_error);
    EXPECT_EQ(thrown<not_found>([&] { c.unschedule(name); }).sqlstate(), "42704");
    EXPECT_EQ(thrown<invalid_argument>([&] { c.schedule(name, "x", queue, "1"); }).sqlstate(), "22023");
}

TEST_F(Calls, Events) {
    queue_options options;
    options.events = true;
    c.create_queue(queue, options);
    const resource_name rn = leased();
    c.complete(rn, me);
    std::vector<event> mine;
    std::string after;
    EXPECT_TRUE(eventually([&] { // when all older transactions have ended
        for (const event &e : c.read_events(after, 2)) {
            after = e.cursor;
            if (e.queue == queue)
                mine.push_back(e);
        }
        return mine.size() == 3;
    }));
    EXPECT_EQ(mine[0].status, task_status::ready);
    EXPECT_EQ(mine[1].status, task_status::running);
    EXPECT_EQ(mine[1].worker, me);
    EXPECT_EQ(mine[1].attempt, 1);
    EXPECT_EQ(mine[2].status, task_status::completed);
    EXPECT_EQ(mine[2].rn, rn);
    EXPECT_EQ(mine[2].failures, 0);
    EXPECT_LE(mine[0].time, mine[2].time);
    thrown<invalid_argument>([&] { c.read_events("no cursor"); });
}

TEST_F(Calls, Metrics) {
    submit();
    EXPECT_NE(c.metrics().find("scylla_tasks{queue=\"" + queue.str() + "\""), std::string::npos);
}

TEST_F(Calls, Backoff) {
    EXPECT_EQ(c.backoff(0, 100ms, 2, 1s), 100ms);
    EXPECT_EQ(c.backoff(2, 100ms, 2, 1s), 400ms);
    EXPECT_EQ(c.backoff(30, 100ms, 2, 1s), 1s);
}

TEST_F(Calls, Maintenance) {
    EXPECT_NE(c.register_worker(), c.register_worker());
    EXPECT_GE(c.reset_expired(), 0);
    c.maintain();
    EXPECT_TRUE(c.check().empty());
}

TEST_F(Calls, Wait) {
    EXPECT_FALSE(c.wait(queue, 10ms));
    EXPECT_FALSE(c.wait_any({queue, "no such queue"}, 10ms));
    submit();
    EXPECT_TRUE(c.wait(queue));
    EXPECT_EQ(c.wait_any({"no such queue", queue}), queue);
    pqxx::work tx{connection};
    EXPECT_EQ(thrown<error>([&] { client{tx}.wait(queue); }).sqlstate(), "25001");
}

TEST_F(Calls, BeLongToTheTransactionOfTheApplication) {
    submit_options options;
    options.rn = unique("rn");
    {
        pqxx::work tx{connection};
        client{tx}.submit(queue, "1", options);
        EXPECT_EQ(client{tx}.get(*options.rn).status, task_status::ready);
        tx.abort();
    }
    thrown<not_found>([&] { c.get(*options.rn); });
    {
        pqxx::work tx{connection};
        client{tx}.submit(queue, "1", options);
        tx.commit();
    }
    EXPECT_EQ(c.get(*options.rn).status, task_status::ready);
}

// The connection of an application keeps its terseness, its transactions, and gets no prepared statements.
TEST_F(Calls, LeaveTheConnectionAlone) {
    thrown<not_found>([&] { c.get("no such task"); });
    EXPECT_EQ(ask(connection, "select count(*) from pg_prepared_statements"), "0");
    try {
        ask(connection, "select scylla.get_task('no such task')");
        FAIL();
    } catch (const pqxx::sql_error &e) {
        EXPECT_EQ(std::string{e.what()}.find("LOCATION"), std::string::npos);
    }
    pqxx::work tx{connection};
    EXPECT_FALSE(thrown<error>([&] { c.get("x"); }).message().empty()); // libpqxx: one transaction at a time
    tx.abort();
}

TEST_F(Calls, ErrorsOfTheServer) {
    ask(connection, "set default_transaction_read_only = on");
    EXPECT_EQ(thrown<read_only>([&] { submit(); }).sqlstate(), "25006");
    ask(connection, "set default_transaction_read_only = off");
    ask(connection, "do $$ begin if not exists (select from pg_roles where rolname = 'client_nobody') "
                    "then create role client_nobody; end if; end $$");
    ask(connection, "set role client_nobody");
    EXPECT_EQ(thrown<denied>([&] { submit(); }).sqlstate(), "42501");
    ask(connection, "reset role");
    ask(connection, "set statement_timeout = 50");
    EXPECT_EQ(thrown<timed_out>([&] { c.wait(queue); }).sqlstate(), "57014");
    ask(connection, "reset statement_timeout");
    ask("select pg_terminate_backend(" + ask(connection, "select pg_backend_pid()") + ")");
    thrown<connection_lost>([&] { submit(); });
}

// Some versions of libpqxx keep some of them to themselves.
TEST_F(Calls, EverySqlstateArrives) {
    for (const char *sqlstate : {"0A000", "22023", "22P02", "23505", "25001", "25006", "34000", "3F000", "40001", "40P01", "42501",
                                 "42601", "42703", "42704", "42710", "42883", "42P01", "53100", "53200", "55000", "55P03",
                                 "57014", "58030", "P0001", "P0002", "XX000"}) {
        const std::string sql = "do $$ begin raise exception 'message' using errcode = '" + std::string{sqlstate} + "'; end $$";
        const detail::statement raise{"raise", sql.c_str()};
        try {
            pqxx::nontransaction tx{connection};
            detail::translated(raise, false, [&] { return detail::exec_params(tx, raise.sql, {}); });
            FAIL();
        } catch (const error &e) {
            EXPECT_EQ(e.sqlstate(), sqlstate);
            EXPECT_EQ(e.message(), "message");
        }
    }
}

TEST_F(Calls, NamesWithZeroBytes) {
    thrown<invalid_argument>([&] { c.get(std::string{"a\0b", 3}); });
    thrown<invalid_argument>([&] { c.submit(queue, std::string{"1\0", 2}); });
}

TEST(NoExtension, IsToldApart) {
    pqxx::connection connection{"dbname=template1"};
    try {
        client{connection}.get("x");
        FAIL();
    } catch (const not_supported &e) {
        EXPECT_EQ(e.sqlstate(), "3F000");
    }
}

TEST(Pool, SharesConnections) {
    pool connections{"", 2};
    const queue_name queue{unique("pool")};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            client c{connections};
            for (int n = 0; n < 25; n++)
                c.submit(queue, "1");
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(ask("select count(*) from scylla.task where queue = '" + queue.str() + "'"), "200");
    EXPECT_LE(std::stoi(ask("select count(*) from pg_stat_activity where application_name = 'scylla client'")), 2);
}

TEST(Pool, ReplacesBrokenConnections) {
    pool connections{"application_name=" + unique("broken")};
    client c{connections};
    EXPECT_FALSE(c.register_worker().empty());
    ask("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'broken-%'");
    EXPECT_THROW(c.register_worker(), connection_lost);
    EXPECT_FALSE(c.register_worker().empty());
}

// On connections of the library errors are verbose, so the rule comes from the server.
TEST(Pool, KnowsRules) {
    pool connections{""};
    client c{connections};
    EXPECT_EQ(thrown<not_found>([&] { c.get("no such task"); }).rule(), "exists");
    EXPECT_EQ(thrown<invalid_argument>([&] { c.get(""); }).rule(), "argument");
}

TEST(Pool, CallsWaitForTheirTurn) {
    pool connections{"", 1, 50ms};
    client c{connections};
    c.register_worker();
    std::thread other{[&] { c.wait(unique("nothing"), 500ms); }};
    EXPECT_TRUE(eventually([&] {
        try {
            c.register_worker();
        } catch (const timed_out &e) {
            return e.sqlstate().empty();
        }
        return false;
    }));
    other.join();
}

TEST(Pool, RefusesNonsense) {
    EXPECT_THROW(pool("host"), invalid_argument);
    EXPECT_THROW(pool("nonsense=1"), invalid_argument);
    EXPECT_THROW(pool("", 0), invalid_argument);
    pool nowhere{"host=/nonexistent"};
    EXPECT_THROW(client{nowhere}.register_worker(), connection_lost);
}

// Every function of the SQL contract is called by some statement of the library.
TEST(Coverage, AllOfTheContract) {
    std::set<std::string> called;
    for (const detail::statement *statement : detail::all_statements()) {
        const std::string_view sql = statement->sql;
        for (std::size_t at = sql.find("scylla."); at != std::string_view::npos; at = sql.find("scylla.", at + 1)) {
            const std::size_t end = sql.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 7);
            if (end != std::string_view::npos && sql[end] == '(')
                called.emplace(sql.substr(at + 7, end - at - 7));
        }
    }
    std::set<std::string> offered;
    pqxx::connection connection{""};
    pqxx::nontransaction tx{connection};
    const pqxx::result rows =
        tx.exec("select proname from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_'");
    for (const auto &row : rows)
        offered.emplace(row[0].c_str());
    for (const std::string &function : offered)
        EXPECT_EQ(called.count(function), 1u) << "no call of scylla." << function;
}

} // namespace
