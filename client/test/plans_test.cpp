// Dependencies, plans and schedules.
#include "calls_fixture.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

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

TEST_F(Calls, Conditions) {
    const std::string token = c.create_callback();
    EXPECT_EQ(token.size(), 32U);
    const std::string given = unique("token \"'");
    EXPECT_EQ(c.create_callback(given, 1h), given);
    thrown<duplicate>([&] { c.create_callback(given); });
    const std::string signal = unique("signal \"");
    submit_options options;
    options.wait_for = json{"[{\"callback\": \"" + token + "\"}]"};
    const resource_name waits = c.submit(queue, "1", options).rn;
    options.rn = unique("many");
    options.wait_for = json{"[{\"callback\": \"" + token + "\"}]"};
    EXPECT_TRUE(c.submit_many({{queue, "1", options}}).at(0).inserted);
    EXPECT_EQ(c.get(waits).status, task_status::waiting);
    const auto reasons = c.explain_waiting(waits);
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_EQ(reasons[0].ord, 1);
    EXPECT_EQ(reasons[0].waits_for, "callback " + token);
    EXPECT_TRUE(reasons[0].since);
    EXPECT_FALSE(reasons[0].until);
    EXPECT_FALSE(reasons[0].detail.empty());
    thrown<not_found>([&] { c.explain_waiting(unique("no task")); });
    EXPECT_TRUE(c.resolve_callback(token, json{R"({"ok": true})"}));
    EXPECT_FALSE(c.resolve_callback(token));
    EXPECT_FALSE(c.reject_callback(token, {"no", "too late"}));
    EXPECT_EQ(c.get(waits).args, json{R"([{"ok": true}])"});
    EXPECT_EQ(c.get(*options.rn).status, task_status::ready);
    c.lease_task(waits, me);
    const std::string later = c.create_callback();
    const task deferred = c.defer(waits, me, json{"[{\"callback\": \"" + later + "\"}]"}, json{"{\"step\": 2}"}, 1);
    EXPECT_EQ(deferred.status, task_status::waiting);
    EXPECT_EQ(deferred.state, json{R"({"step": 2})"});
    thrown<lease_lost>([&] { c.defer(waits, me, json{"[]"}); });
    EXPECT_TRUE(c.resolve_callback(later, json{"7"}));
    const task resumed = c.lease_task(waits, me);
    EXPECT_EQ(resumed.args, json{"[7]"});
    EXPECT_EQ(resumed.state, json{R"({"step": 2})"});
    EXPECT_EQ(resumed.attempt, 2);
    EXPECT_FALSE(resumed.answered);
    const task asked = c.not_yet(waits, me, 30min, 2);
    EXPECT_EQ(*asked.not_before - asked.updated, 30min);
    EXPECT_EQ(asked.answers, 1);
    EXPECT_EQ(asked.answered, asked.updated);
    EXPECT_EQ(asked.failures, 0);
    thrown<lease_lost>([&] { c.not_yet(waits, me); });
    thrown<lease_lost>([&] { c.defer(*options.rn, me, json{"[{\"task\": \"no such task\"}]"}); });
    EXPECT_TRUE(c.reject_callback(given, {"denied", "by somebody"}));
    thrown<not_found>([&] { c.resolve_callback("no such token"); });

    options.rn = unique("signalled");
    options.wait_for = json{R"([{"signal": ")" + unique("once") + R"(", "match": {"day": 1}}])"};
    c.submit(queue, "1", options);
    options.rn = unique("asks");
    options.wait_for = json{"[{\"check\": {\"queue\": " + json::string(queue.str() + " asked").text() +
                            ", \"spec\": {\"day\": 1}, \"every\": \"1 min\"}}]"};
    c.submit(queue, "1", options);
    const auto checks = c.lease(queue_name{queue.str() + " asked"}, me);
    ASSERT_EQ(checks.size(), 1U);
    EXPECT_EQ(checks[0].spec, json{R"({"day": 1})"});
    const task again = c.not_yet(checks[0].rn, me);
    EXPECT_EQ(again.not_before, again.updated + 1min);
    const std::int64_t first = c.send_signal(signal, json{R"({"day": 1})"}, json{"[1]"}, "request");
    EXPECT_EQ(c.send_signal(signal, "{}", std::nullopt, "request"), first);
    EXPECT_GT(c.send_signal(signal), first);
    c.grant_signal(signal, "pg_monitor", signal_privilege::wait);
    c.revoke_signal(signal, "pg_monitor", signal_privilege::wait);
    c.set_signal_owner(signal, "pg_monitor");
    thrown<not_found>([&] { c.grant_signal("never used", "pg_monitor", signal_privilege::send); });
    thrown<not_found>([&] { c.grant_signal(signal, "no such role", signal_privilege::admin); });
}

TEST_F(Calls, Triggers) {
    const std::string signal = unique("signal \"");
    const std::string name = unique("trigger \"");
    const json signals{"[{\"signal\": " + json::string(signal).text() + ", \"join\": [\"day\"]}]"};
    const json action{"{\"submit\": {\"queue\": " + json::string(queue.str()).text() + ", \"spec\": 1}}"};
    c.create_trigger(name, signals, action, "$[0].params.day > 1");
    thrown<duplicate>([&] { c.create_trigger(name, signals, action); });
    c.pause_trigger(name);
    c.resume_trigger(name);
    c.send_signal(signal, json{R"({"day": 2})"});
    EXPECT_GE(c.clear_trigger(name), 0);
    EXPECT_EQ(c.clear_trigger(name, 1), 0);
    c.drop_trigger(name);
    thrown<not_found>([&] { c.drop_trigger(name); });
    thrown<not_found>([&] { c.pause_trigger(name); });
}

TEST_F(Calls, TriggersOfWorkflows) {
    const std::string signal = unique("signal");
    const std::string name = unique("trigger");
    const json signals{"[{\"signal\": " + json::string(signal).text() + "}]"};
    c.create_workflow(json{R"({"properties": {"owner": "ada"}, "workflow": {"id": "calls_triggered",
        "params": {"day": {"type": "LONG", "value": 0}}, "steps": [{"step": {"id": "s", "type": "NoOp"}}]}})"});
    const json day = json::string("params.getFromSignal('" + signal + "', 'day')");
    c.create_trigger(name, signals,
                     json{R"({"workflow": "calls_triggered", "params": {"day": {"type": "LONG", "expression": )" +
                          day.text() + "}}}"});
    thrown<invalid_argument>([&] { c.create_trigger(unique("trigger"), signals, json{R"({"workflow": 1})"}); });
    c.send_signal(signal, json{R"({"day": 3})"});
    EXPECT_TRUE(eventually([&] {
        return ask(connection, "select string_agg(instance || ' ' || status || ' ' || (params ->> 'day'), ', ') "
                               "from scylla.workflow_run where workflow = 'calls_triggered'") == "1 SUCCEEDED 3";
    }));
    c.drop_trigger(name);
}

TEST_F(Calls, Jobs) {
    const job_name report{unique("report \"'")};
    const job_name weather{unique("weather")};
    c.create_queue(queue);
    c.define_job(weather, queue, json{R"({"chunk_size": 2})"});
    const json needs{R"([{"max_lag": "1 day", "job": )" + json::string(weather.str()).text() + "}]"};
    c.define_job(report, queue, json{"{}"}, needs);
    thrown<not_found>([&] { c.define_job(report, queue_name{unique("none")}); });
    thrown<invalid_argument>([&] { c.define_job(report, queue, json{R"({"chunk_size": -1})"}); });
    thrown<wrong_state>([&] { c.drop_job(weather); });

    const id_ranges ids{{-1, 1}, {7, 8}};
    c.mark_fresh(weather, {{7, 8}});
    const std::vector<job_step> steps = c.explain_job(report, ids, "{}", json{R"({"prune": "chunk"})"});
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].job, weather);
    EXPECT_EQ(steps[0].chunk, (id_ranges{{-1, 1}}));
    EXPECT_EQ(steps[1].job, report);
    EXPECT_EQ(steps[1].chunk, ids);
    EXPECT_EQ(steps[1].depends_on, json{"[" + json::string(weather.str() + " {[-1,1)}").text() + "]"});
    EXPECT_TRUE(steps[1].runs);
    EXPECT_EQ(steps[1].reason, "requested");
    EXPECT_FALSE(steps[2].runs);
    EXPECT_EQ(steps[2].chunk, (id_ranges{{7, 8}}));

    EXPECT_EQ(c.job_dot(report).substr(0, 7), "digraph");
    EXPECT_EQ(c.job_mermaid(report).substr(0, 9), "flowchart");
    thrown<not_found>([&] { c.job_dot(job_name{unique("none")}); });

    const plan_name plan = c.run_job(report, ids);
    EXPECT_EQ(c.get_plan(plan).waiting, 1);
    EXPECT_EQ(c.forget_freshness(weather, id_ranges{{1, 9}}, std::string{}), 1);
    EXPECT_EQ(c.forget_freshness(weather), 0);
    c.cancel_plan(plan);
    c.grant_job(report, "pg_monitor");
    thrown<not_found>([&] { c.grant_job(report, "no such role"); });
    c.revoke_job(report, "pg_monitor");
    const schedule_name nightly{unique("nightly")};
    schedule_options at;
    at.overlap = overlap_policy::skip;
    at.planned_key = "planned";
    at.options = json{R"({"variant": "v"})"};
    const auto first = c.schedule_job(nightly, "0 2 * * *", report, ids, json{R"({"unit": "km"})"}, at);
    EXPECT_EQ(first, c.cron_next("0 2 * * *"));
    const auto schedules = c.schedules();
    const auto mine =
        std::find_if(schedules.begin(), schedules.end(), [&](const auto &s) { return s.name == nightly; });
    ASSERT_NE(mine, schedules.end());
    EXPECT_EQ(mine->job, report);
    EXPECT_EQ(mine->options, json{R"({"variant": "v"})"});
    c.unschedule(nightly);
    thrown<not_found>([&] { c.schedule_job(nightly, "0 2 * * *", job_name{unique("none")}, ids); });
    c.drop_job(report);
    c.drop_job(weather);
    thrown<not_found>([&] { c.run_job(weather, ids); });
}

TEST_F(Calls, Pools) {
    const pool_name pool{unique("pool \"'")};
    const pool_name other{unique("other")};
    c.create_pool(pool, json{R"({"permits": 1})"}, pool_policy::greedy, json{R"({"max_bypass": 5})"});
    thrown<duplicate>([&] { c.create_pool(pool, json{"{}"}); });
    thrown<invalid_argument>([&] { c.create_pool(other, json{R"({"permits": -1})"}); });
    c.create_pool(other, json{R"({"permits": 2.5})"});
    submit_options options;
    options.needs = json{"{" + json::string(pool.str()).text() + R"(: {"permits": 1}})"};
    options.expected_runtime = 90s;
    const resource_name first = c.submit(queue, "1", options).rn;
    EXPECT_TRUE(c.submit_many({{queue, "1", options}}).at(0).inserted);
    for (const placed_task &placed : c.place(pool)) // what the monitor has left
        EXPECT_EQ(placed.pool, pool);
    EXPECT_TRUE(eventually([&] { return c.get(first).pool == pool; }));
    EXPECT_EQ(c.lease_task(first, me).pool, pool);
    const auto find = [&](const pool_name &name) {
        const std::vector<pool_info> all = c.pools();
        return *std::find_if(all.begin(), all.end(), [&](const pool_info &p) { return p.name == name; });
    };
    const pool_info shown = find(pool);
    EXPECT_EQ(shown.policy, pool_policy::greedy);
    EXPECT_EQ(shown.capacity, json{R"({"permits": 1})"});
    EXPECT_EQ(*shown.reserved, json{R"({"permits": 1})"});
    EXPECT_EQ(*shown.free, json{R"({"permits": 0})"});
    EXPECT_EQ(shown.waiting, 1);
    EXPECT_EQ(shown.placed, 1);
    const std::vector<pool_waiter> line = c.list_pool_queue(pool, 5);
    ASSERT_EQ(line.size(), 1);
    EXPECT_EQ(line[0].pool, pool);
    EXPECT_EQ(line[0].queue, queue);
    EXPECT_EQ(line[0].needs, *options.needs);
    EXPECT_EQ(line[0].reason, "permits short by 1 in pool " + pool.str());
    EXPECT_TRUE(line[0].since && line[0].created <= *line[0].since);
    EXPECT_TRUE(c.list_pool_queue(pool_name{"no such pool"}).empty());
    thrown<invalid_argument>([&] { c.list_pool_queue(pool, 0); });
    EXPECT_FALSE(shown.reported || shown.reported_at || shown.drained || shown.stale);
    EXPECT_EQ(find(other).policy, pool_policy::backfill);
    thrown<wrong_state>([&] { c.drop_pool(pool); });

    c.alter_pool(pool, json{R"({"capacity": {"permits": 3}, "policy": "strict"})"});
    c.report_usage(pool, json{R"({"permits": 2})"});
    c.report_usage(pool, json{R"({"permits": 1})"}, *find(pool).reported_at - 1h);
    c.drain_pool(pool);
    const pool_info changed = find(pool);
    EXPECT_EQ(changed.policy, pool_policy::strict);
    EXPECT_EQ(*changed.reported, json{R"({"permits": 2})"});
    EXPECT_TRUE(changed.reported_at && changed.drained);
    c.resume_pool(pool);
    EXPECT_FALSE(find(pool).drained);
    for (const pool_privilege privilege : {pool_privilege::use, pool_privilege::report, pool_privilege::admin}) {
        c.grant_pool(pool, "pg_monitor", privilege);
        c.revoke_pool(pool, "pg_monitor", privilege);
    }
    thrown<not_found>([&] { c.grant_pool(pool, "no such role", pool_privilege::use); });
    thrown<not_found>([&] { c.drain_pool(pool_name{"no such pool"}); });
    options.needs = json{R"({"no such pool": {"permits": 1}})"};
    thrown<not_found>([&] { c.submit(queue, "1", options); });
    c.drop_pool(other);
}

TEST_F(Calls, KeysForATime) {
    submit_options once;
    once.dedup_key = unique("key \"");
    once.dedup_for = 1h;
    const task first = c.submit(queue, "1", once);
    c.lease_task(first.rn, me);
    c.complete(first.rn, me);
    EXPECT_EQ(c.submit(queue, "2", once, on_duplicate::ignore).rn, first.rn);
    EXPECT_EQ(c.submit_many({{queue, "2", once}}).at(0).rn, first.rn);
    thrown<duplicate>([&] { c.submit(queue, "2", once); });

    submit_options limited;
    limited.run_timeout = 1h;
    const task bounded = c.submit(queue, "1", limited);
    const auto leased = c.lease_task(bounded.rn, me, 24h);
    EXPECT_LE(leased.deadline.value() - leased.updated, 1h);
    c.complete(bounded.rn, me);
    const auto many = c.submit_many({{queue, "2", limited}});
    const auto second = c.lease_task(many.at(0).rn, me, 24h);
    EXPECT_LE(second.deadline.value() - second.updated, 1h);
    c.complete(second.rn, me);

    submit_options quiet;
    quiet.dedup_key = unique("quiet");
    quiet.debounce = 1h;
    const task waiting = c.submit(queue, "1", quiet);
    EXPECT_EQ(waiting.status, task_status::waiting);
    const task again = c.submit(queue, "2", quiet);
    EXPECT_EQ(again.rn, waiting.rn);
    EXPECT_EQ(again.spec, json{"2"});
    thrown<invalid_argument>([&] { c.submit_many({{queue, "2", quiet}}); });
    c.cancel(waiting.rn);
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
    EXPECT_EQ(c.get_plan(other).owner, ask(connection, "select current_user"));
    c.set_plan_owner(other, "pg_monitor");
    EXPECT_EQ(c.get_plan(other).owner, "pg_monitor");
    thrown<not_found>([&] { c.set_plan_owner(other, "no such role"); });
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

TEST_F(Calls, Expressions) {
    EXPECT_EQ(c.sel_eval("a + b > 10 ? 'x' : params['y']", R"({"a": 3, "b": 8})"), R"("x")");
    EXPECT_EQ(c.sel_eval("1 + 1"), "2");
    EXPECT_EQ(c.interpolate("hello $name", R"({"name": "world"})"), "hello world");
    EXPECT_THROW(c.sel_eval("1 +"), error);
    EXPECT_THROW(c.interpolate("$gone"), error);
}

TEST_F(Calls, WorkflowDefinitions) {
    EXPECT_TRUE(
        c.validate_workflow(R"({"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}})").empty());
    const auto problems = c.validate_workflow(R"({"workflow": {"id": "w", "steps": []}, "is_active": 5})");
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].place, "is_active");
    EXPECT_EQ(problems[1].place, "workflow.steps");
    EXPECT_EQ(problems[1].problem, "must have at least one step");
    EXPECT_EQ(
        thrown<invalid_argument>([&] { c.validate_workflow("\"" + std::string(300'000, 'x') + "\""); }).sqlstate(),
        "22023");
}

TEST_F(Calls, Workflows) {
    const workflow_name workflow{"calls_workflow"};
    const auto document = [](const std::string &more = "") {
        return json{R"({"properties": {"owner": "ann"}, "workflow": {"id": "calls_workflow",
                        "steps": [{"step": {"id": "s", "type": "NoOp"}}])" +
                    more + "}}"};
    };
    const auto versions = [&] {
        return pqxx::nontransaction{*std::make_unique<pqxx::connection>("")}
            .exec("select coalesce(active_version, 0) || ' of ' || latest_version from scylla.workflow where id = "
                  "'calls_workflow'")[0][0]
            .as<std::string>();
    };
    EXPECT_EQ(c.create_workflow(document()), 1);
    EXPECT_EQ(c.create_workflow(document(), false), 2);
    EXPECT_EQ(versions(), "1 of 2");
    c.activate_workflow(workflow);
    EXPECT_EQ(versions(), "2 of 2");
    c.activate_workflow(workflow, 1);
    EXPECT_EQ(versions(), "1 of 2");
    c.deactivate_workflow(workflow);
    EXPECT_EQ(versions(), "0 of 2");
    EXPECT_EQ(thrown<invalid_argument>([&] { c.create_workflow(document(", \"timeout\": 0")); }).sqlstate(), "22023");
    thrown<not_found>([&] { c.activate_workflow(workflow, 3); });
    for (const auto privilege : {workflow_privilege::run, workflow_privilege::view, workflow_privilege::admin}) {
        c.grant_workflow(workflow, "pg_monitor", privilege);
        c.revoke_workflow(workflow, "pg_monitor", privilege);
    }
    thrown<not_found>([&] { c.grant_workflow(workflow, "no such role", workflow_privilege::run); });
    c.alter_workflow(workflow, R"({"add_tag": "t"})");
    thrown<not_found>([&] { c.alter_workflow(workflow, R"({"delete_tag": "other"})"); });
    thrown<wrong_state>([&] { c.alter_workflow(workflow, R"({"reset_workflow_concurrency": true})"); });
    c.activate_workflow(workflow);
    start_options options;
    options.params = json{R"({"x": 1})"};
    options.request_id = "once";
    const started_run started = c.start_workflow(workflow, options);
    EXPECT_EQ(started.code, 1);
    EXPECT_EQ(started.workflow, workflow);
    EXPECT_EQ(started.instance, 1);
    EXPECT_EQ(started.run, 1);
    EXPECT_EQ(started.status, "CREATED");
    EXPECT_EQ(c.start_workflow(workflow, options).code, 0);
    start_options of_step;
    of_step.step_params = json{R"({"no such step": {}})"};
    thrown<invalid_argument>([&] { c.start_workflow(workflow, of_step); });
    thrown<invalid_argument>([&] { c.start_workflows({{workflow, of_step}}); });
    EXPECT_TRUE(c.start_workflows({}).empty());
    const resource_name no_step = c.submit(queue_name{"calls_no_step"}, "1").rn;
    step_output output;
    output.params = json{"{}"};
    thrown<invalid_argument>([&] { c.set_output(no_step, output); });
    thrown<not_found>([&] { c.set_output(resource_name{"calls_no_such_task"}, output); });
    const auto repeated = c.start_workflows({{workflow, options}, {workflow, options}});
    ASSERT_EQ(repeated.size(), 2U);
    EXPECT_EQ(repeated[1].code, 0);
    EXPECT_EQ(repeated[1].instance, started.instance);
    EXPECT_EQ(repeated[1].workflow, workflow);
    thrown<not_found>([&] { c.start_workflows({{workflow, options}, {workflow_name{"no_such_flow"}, {}}}); });
    const auto ended = [&] {
        c.advance();
        return pqxx::nontransaction{*std::make_unique<pqxx::connection>("")}
            .exec("select count(*) from scylla.workflow_run where workflow = 'calls_workflow' and status = 'SUCCEEDED'")
                [0][0]
            .as<int>();
    };
    while (ended() < 1)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    thrown<wrong_state>([&] { c.stop_run(workflow, 1); });
    thrown<wrong_state>([&] { c.kill_run(workflow, 1); });
    thrown<not_found>([&] { c.kill_run(workflow, 2); });
    thrown<wrong_state>([&] { c.unblock_run(workflow, 1); });
    EXPECT_EQ(c.unblock_workflow(workflow), 0);
    const auto tree = c.run_tree(workflow, 1);
    ASSERT_GE(tree.size(), 2U);
    EXPECT_EQ(tree[0].kind, "run");
    EXPECT_EQ(tree[0].status, "SUCCEEDED");
    EXPECT_EQ(tree[1].kind, "step");
    EXPECT_EQ(tree[1].depth, 1);
    EXPECT_EQ(tree[1].attempt, 1);
    EXPECT_TRUE(tree[1].iterations.empty());
    EXPECT_TRUE(c.failed_steps(workflow, 1).empty());
    thrown<not_found>([&] { c.run_tree(workflow, 2); });
    thrown<not_found>([&] { c.failed_steps(workflow, 2); });
    EXPECT_TRUE(c.explain_run(workflow, 1).empty());
    const workflow_name waiting{"calls_waits"};
    c.create_workflow(json{R"({"properties": {"owner": "ann"}, "workflow": {"id": "calls_waits", "steps": [
        {"step": {"id": "s", "type": "NoOp", "signal_dependencies": [{"name": "calls_never"}]}}]}})"});
    c.start_workflow(waiting);
    while (c.explain_run(waiting, 1).at(0).waits_for != "signal calls_never")
        c.advance();
    const auto waits = c.explain_run(waiting, 1, "s");
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(waits[0].workflow, waiting);
    EXPECT_EQ(waits[0].instance, 1);
    EXPECT_EQ(waits[0].step, "s");
    EXPECT_TRUE(waits[0].iterations.empty());
    EXPECT_TRUE(waits[0].since);
    EXPECT_FALSE(waits[0].until);
    EXPECT_EQ(waits[0].detail, "No signal \"calls_never\" has come.");
    c.kill_run(waiting, 1);
    thrown<not_found>([&] { c.explain_run(workflow, 1, "no such step"); });
    thrown<invalid_argument>([&] { c.run_tree(workflow, 1, -1); });
    EXPECT_EQ(c.workflow_dot(workflow).substr(0, 7), "digraph");
    EXPECT_EQ(c.workflow_mermaid(workflow, "1").substr(0, 9), "flowchart");
    EXPECT_EQ(c.run_dot(workflow, 1).substr(0, 7), "digraph");
    EXPECT_EQ(c.run_mermaid(workflow, 1).substr(0, 9), "flowchart");
    EXPECT_EQ(c.run_gantt(workflow, 1).substr(0, 5), "gantt");
    EXPECT_EQ(c.lineage_dot(workflow, 1).substr(0, 7), "digraph");
    EXPECT_EQ(c.lineage_mermaid(workflow, 1, 5).substr(0, 9), "flowchart");
    thrown<invalid_argument>([&] { c.lineage_dot(workflow, 1, 0); });
    thrown<not_found>([&] { c.workflow_dot(workflow, "99"); });
    EXPECT_EQ(c.stop_workflow(workflow), 0);
    EXPECT_EQ(c.kill_workflow(workflow), 0);
    thrown<wrong_state>([&] { c.stop_step(workflow, 1, "s"); });
    thrown<wrong_state>([&] { c.kill_step(workflow, 1, "s"); });
    thrown<not_found>([&] { c.skip_step(workflow, 2, "s", {1, 2}); });
    thrown<not_found>([&] { c.restart_step(workflow, 2, "s", {1, 2}); });
    thrown<not_found>([&] { c.restart_step(workflow, 2, "s", {1, 2}, true); });
    thrown<wrong_state>([&] { c.bypass_step(workflow, 1, "s"); });
    thrown<wrong_state>([&] { c.pause_step(workflow, 1, "s"); });
    thrown<wrong_state>([&] { c.resume_step(workflow, 1, "s"); });
    breakpoint_place place;
    place.version = 1;
    place.instance = 1;
    place.run = 1;
    c.set_breakpoint(workflow, "s", place);
    thrown<not_found>([&] { c.drop_breakpoint(workflow, "s"); });
    c.drop_breakpoint(workflow, "s", place, true);
    thrown<not_found>([&] { c.set_breakpoint(workflow, "nothing"); });
    c.create_job_template(json{R"({"job_type": "client", "version": "1", "type": "NoOp"})"});
    c.create_job_template(
        json{R"({"job_type": "client", "version": "2", "type": "NoOp", "inherit_from": {"client": "1"}})"});
    thrown<invalid_argument>([&] { c.create_job_template(json{R"({"job_type": "client"})"}); });
    thrown<wrong_state>([&] { c.drop_job_template("client", "1"); });
    c.drop_job_template("client", "2");
    c.drop_job_template("client", "1");
    thrown<not_found>([&] { c.drop_job_template("client", "1"); });
    c.pause_workflow(workflow);
    c.resume_workflow(workflow);
    thrown<wrong_state>([&] { c.restart_run(workflow, 1); });
    restart_options again;
    again.policy = restart_policy::from_specific;
    again.step = "no such step";
    thrown<invalid_argument>([&] { c.restart_run(workflow, 1, again); });
    again.policy = restart_policy::from_beginning;
    again.step.reset();
    again.params = json{R"({"x": 2})"};
    again.skip_steps = {"s"};
    again.alone = true;
    const started_run second = c.restart_run(workflow, 1, again);
    EXPECT_EQ(second.code, 1);
    EXPECT_EQ(second.workflow, workflow);
    EXPECT_EQ(second.instance, 1);
    EXPECT_EQ(second.run, 2);
    EXPECT_EQ(second.status, "CREATED");
    while (ended() < 2)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    start_options wrong;
    wrong.params = json{"[]"};
    thrown<invalid_argument>([&] { c.start_workflow(workflow, wrong); });
    c.drop_workflow(workflow);
    thrown<not_found>([&] { c.drop_workflow(workflow); });
}

TEST_F(Calls, Backfills) {
    const workflow_name workflow{"calls_backfill"};
    c.create_workflow(json{R"({"properties": {"owner": "ada"}, "workflow": {"id": "calls_backfill",
        "params": {"n": {"type": "LONG", "value": 0}}, "steps": [{"step": {"id": "one", "type": "NoOp"}}]}})"});
    const json items{R"({"n": {"from": 1, "to": 3}})"};
    backfill_options options;
    options.newest_first = true;
    const auto previewed = c.preview_backfill(workflow, items, options);
    ASSERT_EQ(previewed.size(), 3U);
    EXPECT_EQ(previewed[0].number, 1);
    EXPECT_EQ(previewed[0].params, json{R"({"n": 3})"});
    EXPECT_TRUE(previewed[0].starts);
    EXPECT_FALSE(previewed[0].instance);
    options.yields = true;
    const std::int64_t first = c.backfill(workflow, items, options);
    const auto ended = [&] {
        c.advance();
        return pqxx::nontransaction{*std::make_unique<pqxx::connection>("")}
            .exec(
                "select bool_and(status = 'ENDED') from scylla.workflow_backfill where workflow = 'calls_backfill'")[0]
                                                                                                                    [0]
            .as<bool>();
    };
    while (!ended())
        std::this_thread::sleep_for(1ms);
    thrown<wrong_state>([&] { c.pause_backfill(first); });
    options.existing = existing_run::skip;
    const auto skipped = c.preview_backfill(workflow, items, options);
    EXPECT_FALSE(skipped.at(0).starts);
    EXPECT_TRUE(skipped.at(0).instance);
    EXPECT_EQ(skipped.at(0).status, "SUCCEEDED");
    thrown<not_found>([&] { c.resume_backfill(0); });
    thrown<not_found>([&] { c.cancel_backfill(0, true); });
    thrown<invalid_argument>([&] { c.backfill(workflow, json{"{}"}); });
    c.drop_workflow(workflow);
}

} // namespace
