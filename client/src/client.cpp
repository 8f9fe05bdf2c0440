#include <scylla/client.h>

#include "pooled.h"
#include "values.h"

namespace scylla {

namespace detail {
namespace {

class transaction_executor final : public executor {
public:
    explicit transaction_executor(pqxx::transaction_base &tx) : m_transaction{tx} {}
    pqxx::result run(const statement &call, const params &values) override {
        return translated(call, false, [&] { return exec_params(m_transaction, call.sql, values); });
    }

private:
    pqxx::transaction_base &m_transaction;
};

class connection_executor final : public executor {
public:
    explicit connection_executor(pqxx::connection &connection) : m_connection{connection} {}
    pqxx::result run(const statement &call, const params &values) override {
        return translated(call, false, [&] {
            pqxx::nontransaction tx{m_connection};
            return exec_params(tx, call.sql, values);
        });
    }

private:
    pqxx::connection &m_connection;
};

} // namespace
} // namespace detail

client::client(pqxx::transaction_base &transaction)
    : m_executor{std::make_unique<detail::transaction_executor>(transaction)} {}
client::client(pqxx::connection &connection) : m_executor{std::make_unique<detail::connection_executor>(connection)} {}
client::client(pool &pool) : m_executor{std::make_unique<detail::pool_executor>(pool)} {}
client::client(std::unique_ptr<detail::executor> on) : m_executor{std::move(on)} {}
client::~client() = default;
client::client(client &&) noexcept = default;
client &client::operator=(client &&) noexcept = default;

namespace detail {
namespace {

std::string text(on_duplicate existing) {
    switch (existing) {
    case on_duplicate::error:
        return "error";
    case on_duplicate::ignore:
        return "ignore";
    case on_duplicate::replace:
        break;
    }
    return "replace";
}

// Columns of the select list TASK in statements.cpp.
enum column {
    c_rn,
    c_queue,
    c_spec,
    c_status,
    c_priority,
    c_progress,
    c_created,
    c_updated,
    c_owner,
    c_deadline,
    c_errors,
    c_history,
    c_result,
    c_metrics,
    c_args,
    c_attempt,
    c_failures,
    c_max_attempts,
    c_not_before,
    c_plan,
    c_key,
    c_pool,
    c_state,
    c_answers,
    c_answered
};

template <class Row> task to_task(const Row &row) {
    const auto optional = [&](column c) {
        const auto field = row[static_cast<int>(c)];
        return field.is_null() ? std::optional<std::string_view>{} : std::optional<std::string_view>{text_of(field)};
    };
    const auto value = [&](column c) { return optional(c).value_or(std::string_view{}); };
    const auto time = [&](column c) {
        const auto text = optional(c);
        return text ? std::optional{to_time_point(*text)} : std::nullopt;
    };
    task t;
    t.rn = value(c_rn);
    t.queue = value(c_queue);
    if (const auto spec = optional(c_spec))
        t.spec = json{*spec};
    t.status = to_task_status(value(c_status));
    t.priority = to_int(value(c_priority));
    t.progress = to_double(value(c_progress));
    t.created = time(c_created).value_or(time_point{});
    t.updated = time(c_updated).value_or(time_point{});
    if (const auto owner = optional(c_owner))
        t.owner = worker_name{*owner};
    t.deadline = time(c_deadline);
    t.errors = json{optional(c_errors).value_or("[]")};
    t.history = json{optional(c_history).value_or("[]")};
    if (const auto result = optional(c_result))
        t.result = json{*result};
    if (const auto metrics = optional(c_metrics))
        t.metrics = json{*metrics};
    t.args = json{optional(c_args).value_or("[]")};
    t.attempt = to_int(value(c_attempt));
    t.failures = to_int(value(c_failures));
    if (const auto max_attempts = optional(c_max_attempts))
        t.max_attempts = to_int(*max_attempts);
    t.not_before = time(c_not_before);
    if (const auto plan = optional(c_plan))
        t.plan = plan_name{*plan};
    if (const auto key = optional(c_key))
        t.key = std::string{*key};
    if (const auto pool = optional(c_pool))
        t.pool = pool_name{*pool};
    if (const auto state = optional(c_state))
        t.state = json{*state};
    t.answers = to_int64(value(c_answers));
    t.answered = time(c_answered);
    return t;
}

std::vector<task> to_tasks(const pqxx::result &rows) {
    std::vector<task> tasks;
    tasks.reserve(static_cast<std::size_t>(rows.size()));
    for_each_row(rows, [&](const auto &row) { tasks.push_back(to_task(row)); });
    return tasks;
}

// A call that raises or returns one row.
task to_one_task(const pqxx::result &rows) {
    if (rows.size() != 1) {
        error_info info;
        info.message = "the server returned " + std::to_string(rows.size()) + " rows where one was expected";
        throw error{std::move(info)};
    }
    return to_task(rows[0]);
}

std::optional<task_status> to_status(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional{to_task_status(text)};
}

struct error_params {
    std::string code, message, args;
};

error_params to_params(const task_error &error) {
    return {checked(error.code, "error"), checked(error.message, "error"), checked(error.args.text(), "error")};
}

} // namespace
} // namespace detail

using namespace detail;

namespace {

param text_array(const std::vector<resource_name> &names, std::string_view argument) {
    if (names.empty())
        return std::nullopt;
    array_literal array;
    for (const resource_name &name : names)
        array.add(text(name, argument));
    return array.str();
}

} // namespace

std::string_view to_string(dependency_failure policy) noexcept {
    switch (policy) {
    case dependency_failure::cascade:
        return "cascade";
    case dependency_failure::ignore:
        return "ignore";
    case dependency_failure::skip:
        break;
    }
    return "skip";
}

task client::submit(const queue_name &queue, const json &spec, const submit_options &options, on_duplicate existing) {
    return to_one_task(m_executor->run(
        sql::submit,
        {text(queue, "queue"), checked(spec.text(), "spec"), std::to_string(options.priority), text(options.rn, "rn"),
         text(options.not_before), text(options.max_attempts), text(existing),
         text_array(options.depends_on, "depends_on"), std::string{to_string(options.on_dependency_failure)},
         text(options.plan, "plan"), text(options.dedup_key, "dedup_key"),
         options.retry ? param{to_json(*options.retry)} : std::nullopt, text(options.key, "key"),
         text(options.wait_for, "wait_for"), text(options.needs, "needs"), text(options.expected_runtime),
         text(options.dedup_for), text(options.debounce), text(options.run_timeout)}));
}

namespace detail {

params task_arrays(const std::vector<new_task> &tasks) {
    // NOLINTNEXTLINE(readability-isolate-declaration): one for each column
    array_literal queues, specs, priorities, rns, times, max_attempts, providers, policies, plans, dedup_keys, retries,
        keys, conditions, needs, runtimes, dedup_times, debounces, run_timeouts;
    for (const new_task &task : tasks) {
        const submit_options &options = task.options;
        queues.add(text(task.queue, "queue"));
        specs.add(checked(task.spec.text(), "spec"));
        priorities.add_plain(std::to_string(options.priority));
        add(rns, text(options.rn, "rn"));
        add(times, text(options.not_before));
        add(max_attempts, text(options.max_attempts));
        if (options.depends_on.empty())
            providers.add_null();
        else
            providers.add(checked(json_array(options.depends_on), "depends_on"));
        policies.add(to_string(options.on_dependency_failure));
        add(plans, text(options.plan, "plan"));
        add(dedup_keys, text(options.dedup_key, "dedup_key"));
        add(retries, options.retry ? param{to_json(*options.retry)} : std::nullopt);
        add(keys, text(options.key, "key"));
        add(conditions, text(options.wait_for, "wait_for"));
        add(needs, text(options.needs, "needs"));
        add(runtimes, text(options.expected_runtime));
        add(dedup_times, text(options.dedup_for));
        add(debounces, text(options.debounce));
        add(run_timeouts, text(options.run_timeout));
    }
    return {queues.str(),     specs.str(),    priorities.str(), rns.str(),         times.str(),     max_attempts.str(),
            providers.str(),  policies.str(), plans.str(),      dedup_keys.str(),  retries.str(),   keys.str(),
            conditions.str(), needs.str(),    runtimes.str(),   dedup_times.str(), debounces.str(), run_timeouts.str()};
}

} // namespace detail

std::vector<submitted> client::submit_many(const std::vector<new_task> &tasks, on_duplicate existing) {
    std::vector<submitted> done;
    if (tasks.empty())
        return done;
    done.reserve(tasks.size());
    params values = task_arrays(tasks);
    values.emplace_back(text(existing));
    const pqxx::result rows = m_executor->run(sql::submit_many, values);
    for_each_row(rows, [&](const auto &row) {
        done.push_back({resource_name{text_of(row[0])}, text_of(row[1]) == "t"});
    });
    return done;
}

std::int64_t client::submit_bulk(const queue_name &queue, const std::vector<json> &specs,
                                 const std::vector<resource_name> &rns, int priority) {
    array_literal spec_array;
    array_literal rn_array;
    for (const json &spec : specs)
        spec_array.add(checked(spec.text(), "specs"));
    for (const resource_name &rn : rns)
        rn_array.add(text(rn, "rns"));
    return to_count(m_executor->run(sql::submit_bulk,
                                    {text(queue, "queue"), spec_array.str(),
                                     rns.empty() ? std::nullopt : param{rn_array.str()}, std::to_string(priority)}));
}

std::vector<task> client::lease(const queue_name &queue, const worker_name &worker, int max_tasks,
                                std::optional<duration> timeout) {
    return to_tasks(m_executor->run(
        sql::lease, {text(queue, "queue"), text(worker, "worker"), std::to_string(max_tasks), text(timeout)}));
}

task client::lease_task(const resource_name &rn, const worker_name &worker, std::optional<duration> timeout) {
    return to_one_task(m_executor->run(sql::lease_task, {text(rn, "rn"), text(worker, "worker"), text(timeout)}));
}

task client::heartbeat(const resource_name &rn, const worker_name &worker, const heartbeat_options &options) {
    return to_one_task(m_executor->run(sql::heartbeat, {text(rn, "rn"), text(worker, "worker"), text(options.progress),
                                                        text(options.timeout), text(options.attempt)}));
}

std::vector<heartbeat_status> client::heartbeat_many(const std::vector<held_task> &tasks, const worker_name &worker,
                                                     std::optional<duration> timeout) {
    array_literal rns;
    attempt_array attempts;
    for (const held_task &task : tasks) {
        rns.add(text(task.rn, "rns"));
        attempts.add(task.attempt);
    }
    std::vector<heartbeat_status> states;
    states.reserve(tasks.size());
    const pqxx::result rows =
        m_executor->run(sql::heartbeat_many, {rns.str(), text(worker, "worker"), text(timeout), attempts.value()});
    for_each_row(rows, [&](const auto &row) {
        states.push_back({resource_name{text_of(row[0])}, text_of(row[1]) == "t", to_status(text_of(row[2]))});
    });
    return states;
}

task client::complete(const resource_name &rn, const worker_name &worker, const std::optional<json> &result,
                      const std::optional<json> &metrics, std::optional<int> attempt) {
    return to_one_task(m_executor->run(sql::complete, {text(rn, "rn"), text(worker, "worker"), text(result, "result"),
                                                       text(metrics, "metrics"), text(attempt)}));
}

std::vector<completion_status> client::complete_many(const std::vector<completion> &tasks, const worker_name &worker) {
    const completion_params arrays = to_params(tasks);
    std::vector<completion_status> states;
    states.reserve(tasks.size());
    const pqxx::result rows = m_executor->run(
        sql::complete_many, {arrays.rns.str(), text(worker, "worker"), arrays.results.str(), arrays.attempts.value()});
    for_each_row(rows, [&](const auto &row) {
        states.push_back({resource_name{text_of(row[0])}, text_of(row[1]) == "t", to_status(text_of(row[2]))});
    });
    return states;
}

std::vector<task> client::complete_and_lease(const std::vector<completion> &tasks, const worker_name &worker,
                                             const queue_name &queue, int max_tasks, std::optional<duration> timeout) {
    const completion_params arrays = to_params(tasks);
    return to_tasks(
        m_executor->run(sql::complete_and_lease,
                        {arrays.rns.str(), text(worker, "worker"), text(queue, "queue"), std::to_string(max_tasks),
                         text(timeout), arrays.results.str(), arrays.attempts.value()}));
}

task client::abort(const resource_name &rn, const worker_name &worker, const task_error &error,
                   std::optional<int> attempt) {
    const error_params e = to_params(error);
    return to_one_task(m_executor->run(
        sql::abort, {text(rn, "rn"), text(worker, "worker"), e.code, e.message, e.args, text(attempt)}));
}

task client::fail(const resource_name &rn, const worker_name &worker, const task_error &error,
                  std::optional<duration> retry_after, std::optional<int> attempt) {
    const error_params e = to_params(error);
    return to_one_task(m_executor->run(sql::fail, {text(rn, "rn"), text(worker, "worker"), e.code, e.message, e.args,
                                                   text(retry_after), text(attempt)}));
}

task client::yield(const resource_name &rn, const worker_name &worker, std::optional<int> attempt) {
    return to_one_task(m_executor->run(sql::yield, {text(rn, "rn"), text(worker, "worker"), text(attempt)}));
}

task client::not_yet(const resource_name &rn, const worker_name &worker, std::optional<duration> retry_after,
                     std::optional<int> attempt) {
    return to_one_task(
        m_executor->run(sql::not_yet, {text(rn, "rn"), text(worker, "worker"), text(retry_after), text(attempt)}));
}

task client::defer(const resource_name &rn, const worker_name &worker, const json &wait_for,
                   const std::optional<json> &state, std::optional<int> attempt) {
    return to_one_task(
        m_executor->run(sql::defer, {text(rn, "rn"), text(worker, "worker"), checked(wait_for.text(), "wait_for"),
                                     text(state, "state"), text(attempt)}));
}

worker_name client::register_worker() { return worker_name{text_of(m_executor->run(sql::register_worker, {})[0][0])}; }

bool client::wait(const queue_name &queue, duration timeout) {
    return text_of(m_executor->run(sql::wait, {text(queue, "queue"), interval(timeout)})[0][0]) == "t";
}

std::optional<queue_name> client::wait_any(const std::vector<queue_name> &queues, duration timeout) {
    array_literal names;
    for (const queue_name &queue : queues)
        names.add(text(queue, "queues"));
    const pqxx::result rows = m_executor->run(sql::wait_any, {names.str(), interval(timeout)});
    return rows[0][0].is_null() ? std::nullopt : std::optional{queue_name{text_of(rows[0][0])}};
}

std::int64_t client::work(const queue_name &queue, std::optional<int> max_tasks, duration timeout) {
    return to_count(m_executor->run(sql::work, {text(queue, "queue"), text(max_tasks), interval(timeout)}));
}

task client::cancel(const resource_name &rn) { return to_one_task(m_executor->run(sql::cancel, {text(rn, "rn")})); }

task client::reschedule(const resource_name &rn, std::optional<time_point> not_before) {
    return to_one_task(m_executor->run(sql::reschedule, {text(rn, "rn"), text(not_before)}));
}

task client::set_priority(const resource_name &rn, int priority) {
    return to_one_task(m_executor->run(sql::set_priority, {text(rn, "rn"), std::to_string(priority)}));
}

void client::remove(const resource_name &rn) { m_executor->run(sql::delete_task, {text(rn, "rn")}); }

task client::resubmit(const resource_name &rn, const std::optional<resource_name> &new_rn) {
    return to_one_task(m_executor->run(sql::resubmit, {text(rn, "rn"), text(new_rn, "new_rn")}));
}

std::vector<resubmission> client::resubmit_many(const ended_filter &filter, bool preview) {
    const pqxx::result rows = m_executor->run(
        sql::resubmit_many, {text(filter.queue, "queue"), std::string{to_string(filter.status)},
                             text(filter.code, "code"), text(filter.ended_after), text(filter.ended_before),
                             std::to_string(filter.max_tasks), preview ? "true" : "false"});
    std::vector<resubmission> result;
    result.reserve(static_cast<std::size_t>(rows.size()));
    for_each_row(rows, [&](const auto &row) {
        result.push_back({resource_name{text_of(row[0])},
                          row[1].is_null() ? std::nullopt : std::optional{resource_name{text_of(row[1])}}});
    });
    return result;
}

std::vector<task> client::dead(const std::optional<queue_name> &queue, const std::optional<std::string> &code,
                               int max_tasks) {
    return to_tasks(
        m_executor->run(sql::dead_tasks, {text(queue, "queue"), text(code, "code"), std::to_string(max_tasks)}));
}

task client::get(const resource_name &rn) { return to_one_task(m_executor->run(sql::get_task, {text(rn, "rn")})); }

std::vector<waiting_reason> client::explain_waiting(const resource_name &rn) {
    std::vector<waiting_reason> reasons;
    for_each_row(m_executor->run(sql::explain_waiting, {text(rn, "rn")}), [&](const auto &row) {
        reasons.push_back({to_int(text_of(row[0])), std::string{text_of(row[1])}, to_time(row[2]), to_time(row[3]),
                           std::string{text_of(row[4])}});
    });
    return reasons;
}

namespace {

params to_params(const task_filter &filter, const portion &part) {
    const auto status = filter.live     ? param{"live"}
                        : filter.status ? param{std::string{to_string(*filter.status)}}
                                        : std::nullopt;
    return {text(filter.queue, "queue"),    status,
            text(filter.worker, "worker"),  text(filter.key, "key"),
            text(filter.code, "code"),      text(filter.spec, "spec"),
            text(filter.created_after),     text(filter.created_before),
            std::to_string(part.max_tasks), text(part.after, "after"),
            std::to_string(part.max_looks)};
}

bulk_result run_bulk(executor &server, const statement &call, params values, bool preview) {
    values.emplace_back(preview ? "true" : "false");
    bulk_result result;
    for_each_row(server.run(call, values), [&](const auto &row) {
        if (row[1].is_null())
            result.next = std::string{text_of(row[0])};
        else
            result.tasks.push_back({resource_name{text_of(row[1])}, to_task_status(text_of(row[2])),
                                    row[3].is_null() ? std::nullopt : std::optional{std::string{text_of(row[3])}}});
    });
    return result;
}

} // namespace

found_tasks client::find(const task_filter &filter, const portion &part) {
    const pqxx::result rows = m_executor->run(sql::find_tasks, to_params(filter, part));
    found_tasks found;
    for_each_row(rows, [&](const auto &row) {
        if (row[0].is_null())
            found.next = std::string{text_of(row[c_answered + 1])};
        else
            found.tasks.push_back(to_task(row));
    });
    return found;
}

bulk_result client::cancel_many(const task_filter &filter, const portion &part, bool preview) {
    return run_bulk(*m_executor, sql::cancel_many, to_params(filter, part), preview);
}

bulk_result client::yield_many(const task_filter &filter, const portion &part, bool preview) {
    return run_bulk(*m_executor, sql::yield_many, to_params(filter, part), preview);
}

resubmitted_tasks client::resubmit_matching(const task_filter &filter, const portion &part, bool preview) {
    params values = to_params(filter, part);
    values.emplace_back(preview ? "true" : "false");
    resubmitted_tasks result;
    for_each_row(m_executor->run(sql::resubmit_matching, values), [&](const auto &row) {
        if (row[1].is_null())
            result.next = std::string{text_of(row[0])};
        else
            result.tasks.push_back({resource_name{text_of(row[1])},
                                    row[2].is_null() ? std::nullopt : std::optional{resource_name{text_of(row[2])}}});
    });
    return result;
}

std::vector<task> client::list(const list_filter &filter) {
    return to_tasks(
        m_executor->run(sql::list_tasks, {text(filter.queue, "queue"),
                                          filter.status ? param{std::string{to_string(*filter.status)}} : std::nullopt,
                                          text(filter.worker, "worker"), std::to_string(filter.max_tasks)}));
}

} // namespace scylla
