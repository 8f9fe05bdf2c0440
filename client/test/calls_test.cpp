// Every call of the client, over a transaction, a connection and a pool.
#include "calls_fixture.h"

#include <set>
#include <thread>

#include "executor.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

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
    for (const char *settings :
         {"set datestyle = 'German'; set timezone = 'Asia/Kathmandu'",
          "set datestyle = 'SQL, MDY'; set timezone = 'America/St_Johns'; set extra_float_digits = 0"}) {
        ask(connection, settings);
        const task t = c.submit(queue, "{}", later);
        EXPECT_EQ(t.status, task_status::waiting);
        EXPECT_EQ(t.not_before, later.not_before);
        EXPECT_EQ(c.get(t.rn).not_before, later.not_before);
        EXPECT_EQ(c.submit_many({{queue, "{}", later}}).size(), 1u);
    }
    EXPECT_EQ(ask(connection, "select count(distinct not_before) from scylla.task where queue = '" + queue.str() + "'"),
              "1");
}

TEST_F(Calls, SubmitMany) {
    submit_options first;
    first.rn = unique("many");
    first.priority = 9;
    const queue_name other{unique("other")};
    const auto done = c.submit_many({{queue, R"({"n": 1})", first}, {other, "[2, \"}, {\"]", {}}, {queue, "3", first}});
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

TEST_F(Calls, Work) {
    pqxx::nontransaction{connection}.exec(
        "create or replace function handle(t scylla.task) returns jsonb language sql as 'select to_jsonb(t.rn)'");
    const resource_name rn = submit();
    EXPECT_EQ(thrown<wrong_state>([&] { c.work(queue); }).sqlstate(), "55000");
    c.alter_queue(queue, queue_changes{}.handler("handle"));
    EXPECT_EQ(c.work(queue), 1);
    EXPECT_EQ(c.get(rn).result, json::string(rn.str()));
    EXPECT_EQ(c.work(queue, 1, 10ms), 0);
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

// The connection of an application keeps its verbosity and its transactions, and gets no prepared statements.
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

// Some versions of libpqxx do not pass on some of them.
TEST_F(Calls, EverySqlstateArrives) {
    for (const char *sqlstate : {"0A000", "22023", "22P02", "23505", "25001", "25006", "34000", "3F000", "40001",
                                 "40P01", "42501", "42601", "42703", "42704", "42710", "42883", "42P01", "53100",
                                 "53200", "55000", "55P03", "57014", "58030", "P0001", "P0002", "XX000"}) {
        const std::string sql =
            "do $$ begin raise exception 'message' using errcode = '" + std::string{sqlstate} + "'; end $$";
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
        EXPECT_EQ(e.hint(), "Run CREATE EXTENSION scylla in this database, or ALTER EXTENSION scylla UPDATE.");
    }
}

TEST(NoDatabase, IsToldApartAndSaysWhatToDo) {
    pool connections{"dbname=no_such_database", 1};
    try {
        client{connections}.get("x");
        FAIL();
    } catch (const not_found &e) {
        EXPECT_EQ(e.sqlstate(), "3D000");
        EXPECT_EQ(e.hint(), "Create the database, or name another one in the connection string.");
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
TEST_F(Calls, RescheduleAndRemove) {
    submit_options options;
    options.not_before = std::chrono::time_point_cast<duration>(std::chrono::system_clock::now()) + 1h;
    const resource_name rn = c.submit(queue, json{"1"}, options).rn;
    EXPECT_EQ(c.reschedule(rn).status, task_status::ready);
    EXPECT_EQ(c.reschedule(rn, options.not_before).status, task_status::waiting);
    EXPECT_EQ(c.set_priority(rn, 9).priority, 9);
    EXPECT_THROW(c.remove(rn), error);
    c.cancel(rn);
    EXPECT_THROW(c.set_priority(rn, 8), wrong_state);
    c.remove(rn);
    EXPECT_THROW(c.get(rn), not_found);
}

TEST_F(Calls, Resubmit) {
    const auto aborted = [&](const char *spec) {
        const resource_name rn = c.submit(queue, json{spec}).rn;
        c.lease_task(rn, me);
        c.abort(rn, me, {"oops", "", json{"{}"}});
        return rn;
    };
    const resource_name first = aborted("1");
    EXPECT_THROW(c.resubmit(c.submit(queue, json{"0"}).rn), wrong_state);
    const resource_name again{first.str() + "-again"};
    EXPECT_EQ(c.resubmit(first, again).rn, again);
    EXPECT_THROW(c.resubmit(first), wrong_state);
    const resource_name second = aborted("2");
    ASSERT_EQ(c.dead(queue).size(), 1u);
    EXPECT_EQ(c.dead(queue, "oops").at(0).rn, second);
    EXPECT_TRUE(c.dead(queue, "other").empty());
    ended_filter filter;
    filter.queue = queue;
    filter.code = "oops";
    const auto seen = c.resubmit_many(filter, true);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].rn, second);
    EXPECT_FALSE(seen[0].new_rn);
    const auto done = c.resubmit_many(filter);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(c.get(done[0].new_rn.value()).spec, json{"2"});
    EXPECT_TRUE(c.dead(queue).empty());
}

TEST_F(Calls, FindAndActOnMany) {
    submit_options keyed;
    keyed.key = "a key";
    for (int i = 0; i < 5; i++)
        c.submit(queue, json{std::to_string(i)}, keyed);
    task_filter filter;
    filter.queue = queue;
    filter.key = "a key";
    portion part;
    part.max_tasks = 3;
    const found_tasks first = c.find(filter, part);
    ASSERT_EQ(first.tasks.size(), 3u);
    EXPECT_EQ(first.tasks[0].spec, json{"4"});
    part.after = first.next.value();
    const found_tasks rest = c.find(filter, part);
    ASSERT_EQ(rest.tasks.size(), 2u);
    EXPECT_FALSE(rest.next);
    task_filter none = filter;
    none.spec = json{"null"};
    EXPECT_TRUE(c.find(none).tasks.empty());
    none.spec = json{"3"};
    none.live = true;
    none.created_after = rest.tasks[0].created;
    EXPECT_EQ(c.find(none).tasks.size(), 1u);
    none.created_before = rest.tasks[0].created;
    EXPECT_TRUE(c.find(none).tasks.empty());
    part.after = "x";
    EXPECT_THROW(c.find(filter, part), invalid_argument);

    c.lease(queue, me, 2);
    filter.worker = me;
    EXPECT_EQ(c.yield_many(filter, {}, true).tasks.at(0).status, task_status::running);
    const bulk_result back = c.yield_many(filter);
    ASSERT_EQ(back.tasks.size(), 2u);
    EXPECT_EQ(back.tasks[0].status, task_status::ready);
    EXPECT_FALSE(back.tasks[0].problem);
    filter.worker.reset();
    portion four;
    four.max_tasks = 4;
    const bulk_result some = c.cancel_many(filter, four);
    EXPECT_EQ(some.tasks.size(), 4u);
    EXPECT_TRUE(some.next);
    EXPECT_EQ(c.cancel_many(filter).tasks.size(), 1u);
    filter.status = task_status::aborted;
    EXPECT_THROW(c.cancel_many(filter), invalid_argument);
    filter.status = task_status::cancelled;
    const auto cancelled = c.find(filter).tasks;
    ASSERT_GE(cancelled.size(), 2u);
    portion first_one;
    first_one.max_tasks = 1;
    const resubmitted_tasks shown = c.resubmit_matching(filter, first_one, true);
    ASSERT_EQ(shown.tasks.size(), 1u);
    EXPECT_EQ(shown.tasks[0].rn, cancelled.back().rn) << "the oldest";
    EXPECT_FALSE(shown.tasks[0].new_rn);
    EXPECT_TRUE(shown.next);
    const resubmitted_tasks copied = c.resubmit_matching(filter, first_one);
    ASSERT_EQ(copied.tasks.size(), 1u);
    EXPECT_EQ(c.get(copied.tasks[0].new_rn.value()).status, task_status::ready);
    const resubmitted_tasks others = c.resubmit_matching(filter);
    EXPECT_EQ(others.tasks.size(), cancelled.size() - 1);
    EXPECT_FALSE(others.next);
    EXPECT_TRUE(c.resubmit_matching(filter).tasks.empty());
}

TEST_F(Calls, RerunPlan) {
    const plan_name plan = c.create_plan();
    submit_options options;
    options.plan = plan;
    c.submit(queue, json{"1"}, options);
    EXPECT_THROW(c.rerun_plan(plan), wrong_state);
    c.cancel_plan(plan);
    EXPECT_EQ(c.get_plan(c.rerun_plan(plan)).ready, 1);
    EXPECT_THROW(c.rerun_plan(plan, true), wrong_state); // its task has a copy
    EXPECT_EQ(c.rerun_plan(plan, false, plan_name{queue.str() + " again"}).str(), queue.str() + " again");
}

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
        tx.exec("select proname from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_' "
                "and 'scylla.task'::regtype <> all (proargtypes)"); // handlers, which the server calls
    for (const auto &row : rows)
        offered.emplace(row[0].c_str());
    for (const std::string &function : offered)
        EXPECT_EQ(called.count(function), 1u) << "no call of scylla." << function;
}

} // namespace
