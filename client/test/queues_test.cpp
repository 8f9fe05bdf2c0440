// Queues, the rights on them, statistics, and maintenance.
#include "calls_fixture.h"

#include <algorithm>
#include <set>

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

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
    options.key_weights = json{R"({"acme": 3})"};
    options.rate = json{R"({"tasks": 10, "per": "2 s", "burst": 3})"};
    options.rate_per_key = json{R"({"tasks": 20})"};
    options.run_timeout = 1h;
    c.create_queue(queue, options);
    const auto settings = [&] {
        for (queue_info &info : c.queues())
            if (info.queue == queue)
                return info;
        throw std::logic_error{"no such queue"};
    };
    queue_info info = settings();
    EXPECT_TRUE(info.pending.empty());
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
    EXPECT_EQ(info.key_weights, options.key_weights);
    ASSERT_TRUE(info.rate);
    EXPECT_NE(info.rate->text().find("\"burst\": 3"), std::string::npos);
    EXPECT_EQ(info.rate_per_key, options.rate_per_key);
    EXPECT_EQ(info.run_timeout, 1h);
    c.alter_queue(queue, queue_changes{}.rate(json{R"({"tasks": 1})"}).rate_per_key(json{R"({"tasks": 30})"}));
    EXPECT_NE(settings().rate->text().find("\"tasks\": 1"), std::string::npos);
    EXPECT_NE(settings().rate_per_key->text().find("\"tasks\": 30"), std::string::npos);
    c.alter_queue(queue, queue_changes{}.rate(std::nullopt).rate_per_key(std::nullopt).run_timeout(2min));
    EXPECT_EQ(settings().run_timeout, 2min);
    EXPECT_FALSE(settings().rate || settings().rate_per_key || info.handler);
    pqxx::nontransaction{connection}.exec("create or replace function pg_temp.handle(t scylla.task) returns jsonb "
                                          "language sql as 'select to_jsonb(t.rn)'");
    c.alter_queue(queue, queue_changes{}.handler("pg_temp.handle"));
    EXPECT_TRUE(settings().handler);
    c.alter_queue(queue, queue_changes{}.handler(std::nullopt));
    EXPECT_FALSE(settings().handler);
    {
        // A transaction that has written tasks of the queue keeps a new limit from taking effect.
        c.alter_queue(queue, queue_changes{}.max_running(std::nullopt));
        pqxx::connection other{""};
        pqxx::work writer{other};
        writer.exec("select scylla.submit(" + writer.quote(queue.str()) + ", '1')");
        c.alter_queue(queue, queue_changes{}.max_running(9));
        EXPECT_EQ(settings().pending, std::vector<std::string>{"max_running"});
    }
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
    c.alter_queue(queue, queue_changes{}
                             .default_timeout(7s)
                             .max_attempts(std::nullopt)
                             .retry(std::nullopt)
                             .aging(2)
                             .max_running(1)
                             .max_running_per_key(2)
                             .events(false)
                             .notify(false)
                             .max_depth(3)
                             .shed(false)
                             .key_weights(std::nullopt));
    info = settings();
    EXPECT_EQ(info.default_timeout, 7s);
    EXPECT_EQ(info.aging, 2);
    EXPECT_EQ(info.max_running, 1);
    EXPECT_EQ(info.max_running_per_key, 2);
    EXPECT_FALSE(info.events || info.notify);
    EXPECT_EQ(info.max_depth, 3);
    EXPECT_FALSE(info.shed || info.key_weights);
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
    for (const queue_privilege privilege : {queue_privilege::submit, queue_privilege::work, queue_privilege::view,
                                            queue_privilege::admin, queue_privilege::depend})
        c.grant_queue(queue, "client_granted", privilege);
    EXPECT_EQ(granted(), (std::set<std::string>{"submit", "work", "view", "admin", "depend"}));
    c.revoke_queue(queue, "client_granted", queue_privilege::admin);
    EXPECT_EQ(granted(), (std::set<std::string>{"submit", "work", "view", "depend"}));
    c.set_queue_owner(queue, "client_granted");
    EXPECT_EQ(granted(), (std::set<std::string>{"owner", "submit", "work", "view", "depend"}));
    thrown<not_found>([&] { c.grant_queue(queue, "no such role", queue_privilege::work); });
}

TEST_F(Calls, KindsOfRoles) {
    ask(connection, "drop role if exists client_of_a_kind; create role client_of_a_kind");
    const auto may_lease = [&] {
        return ask(connection,
                   "select has_function_privilege('client_of_a_kind', p.oid, 'execute')::text from pg_proc p "
                   "where p.pronamespace = 'scylla'::regnamespace and p.proname = 'lease'");
    };
    c.grant_role("worker", "client_of_a_kind");
    EXPECT_EQ(may_lease(), "true");
    c.revoke_role("worker", "client_of_a_kind");
    EXPECT_EQ(may_lease(), "false");
    EXPECT_THROW(c.grant_role("waiter", "client_of_a_kind"), invalid_argument);
    thrown<not_found>([&] { c.grant_role("worker", "no such role"); });
    const std::vector<role_kind_grant> kinds = c.role_kinds();
    const auto has = [&](std::optional<std::string> kind, const std::string &object) {
        return std::any_of(kinds.begin(), kinds.end(),
                           [&](const role_kind_grant &each) { return each.kind == kind && each.object == object; });
    };
    EXPECT_TRUE(has("worker", "lease"));
    EXPECT_FALSE(has("reader", "lease"));
    EXPECT_TRUE(has(std::nullopt, "purge"));
    ask(connection, "drop role client_of_a_kind");
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
    EXPECT_FALSE(c.has_live_tasks({queue_name{"no such queue"}}));
    c.reset_statistics(queue);
    EXPECT_EQ(mine().submitted, 0);
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

TEST_F(Calls, WorkflowEvents) {
    const workflow_name workflow{"calls_events"};
    c.create_workflow(json{R"({"properties": {"owner": "ann", "events": true}, "workflow": {"id": "calls_events",
        "steps": [{"foreach": {"id": "each", "params": {"loop_params": {"type": "MAP", "value": {"i":
        {"type": "LONG_ARRAY", "value": [1]}}}}, "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}]}})"});
    c.start_workflow(workflow);
    std::vector<workflow_event> mine;
    std::string after;
    EXPECT_TRUE(eventually([&] {
        for (const workflow_event &e : c.read_workflow_events(after, 2)) {
            after = e.cursor;
            if (e.workflow == workflow)
                mine.push_back(e);
        }
        return !mine.empty() && mine.back().kind == "run" && mine.back().status == "SUCCEEDED";
    }));
    EXPECT_EQ(mine[1].kind, "version");
    EXPECT_EQ(mine[1].version, 1);
    EXPECT_EQ(mine[1].instance, std::nullopt);
    EXPECT_EQ(mine.back().old_status, "CREATED"); // a single turn did all of it
    EXPECT_EQ(mine.back().run, 1);
    EXPECT_EQ(mine.back().step, std::nullopt);
    const auto inner = std::find_if(mine.begin(), mine.end(), [](const workflow_event &e) { return e.step == "s"; });
    ASSERT_NE(inner, mine.end());
    EXPECT_EQ(inner->iterations, std::vector<std::int64_t>{1});
    EXPECT_EQ(inner->instance, 1);
    EXPECT_EQ(inner->attempt, 1);
    EXPECT_EQ(inner->status, "SUCCEEDED");
    EXPECT_LE(mine[0].time, mine.back().time);
    thrown<invalid_argument>([&] { c.read_workflow_events("no cursor"); });
}

TEST_F(Calls, Metrics) {
    submit();
    EXPECT_NE(c.metrics().find("pgscylla_tasks{queue=\"" + queue.str() + "\""), std::string::npos);
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

} // namespace
