#include <scylla/client.h>

#include <array>

#include "calls.h"
#include "pooled.h"

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

std::string text(on_duplicate existing) { return existing == on_duplicate::error ? "error" : "ignore"; }

template <class Tag> param text(const std::optional<basic_name<Tag>> &name, std::string_view argument) {
    return name ? param{checked(name->str(), argument)} : std::nullopt;
}
template <class Tag> std::string text(const basic_name<Tag> &name, std::string_view argument) {
    return checked(name.str(), argument);
}
param text(const std::optional<std::string> &value, std::string_view argument) {
    return value ? param{checked(*value, argument)} : std::nullopt;
}
param text(const std::optional<json> &value, std::string_view argument) {
    return value ? param{checked(value->text(), argument)} : std::nullopt;
}
param text(std::optional<int> value) { return value ? param{std::to_string(*value)} : std::nullopt; }
param text(std::optional<double> value) { return value ? param{from_double(*value)} : std::nullopt; }
param text(std::optional<duration> value) { return value ? param{interval(*value)} : std::nullopt; }
param text(std::optional<time_point> value) { return value ? param{timestamp(*value)} : std::nullopt; }

void add(array_literal &array, const param &value) {
    if (value)
        array.add(*value);
    else
        array.add_null();
}

// Columns of the select list TASK in statements.cpp.
enum column {
    c_rn, c_queue, c_spec, c_status, c_priority, c_progress, c_created, c_updated, c_owner, c_deadline, c_errors, c_history,
    c_result, c_metrics, c_args, c_attempt, c_failures, c_max_attempts, c_not_before, c_plan, c_key
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
    return t;
}

// The numbers of rows and columns have other types in each libpqxx.
template <class F> void for_each_row(const pqxx::result &rows, F function) {
    for (decltype(rows.size()) i = 0; i < rows.size(); i++)
        function(rows[i]);
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

template <class Field> std::optional<duration> to_duration(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{duration{to_int64(text_of(field))}};
}

template <class Field> std::optional<time_point> to_time(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{to_time_point(text_of(field))};
}

std::int64_t to_count(const pqxx::result &rows) { return to_int64(text_of(rows[0][0])); }

struct error_params {
    std::string code, description, args;
};

error_params to_params(const task_error &error) {
    return {checked(error.code, "error"), checked(error.description, "error"), checked(error.args.text(), "error")};
}

// The attempts of a batch: the server wants all of them, or none.
class attempt_array {
public:
    void add(std::optional<int> attempt) {
        (attempt ? m_with : m_without)++;
        if (attempt)
            m_array.add_plain(std::to_string(*attempt));
    }
    [[nodiscard]] param value() const {
        if (m_with > 0 && m_without > 0) {
            error_info info;
            info.message = "some tasks come with an attempt, and some without";
            throw invalid_argument{std::move(info)};
        }
        return m_with > 0 ? param{m_array.str()} : std::nullopt;
    }

private:
    array_literal m_array;
    std::size_t m_with = 0;
    std::size_t m_without = 0;
};

struct completion_params {
    array_literal rns, results;
    attempt_array attempts;
};

completion_params to_params(const std::vector<completion> &tasks) {
    completion_params arrays;
    for (const completion &task : tasks) {
        arrays.rns.add(text(task.rn, "rns"));
        add(arrays.results, text(task.result, "results"));
        arrays.attempts.add(task.attempt);
    }
    return arrays;
}

} // namespace

// ---- calls ----------------------------------------------------------------------------------------------------------

void yield_each(executor &on, const std::vector<held_task> &tasks, const worker_name &worker) {
    array_literal rns;
    attempt_array attempts;
    for (const held_task &task : tasks) {
        rns.add(text(task.rn, "rn"));
        attempts.add(task.attempt);
    }
    on.run(sql::yield_each, {rns.str(), text(worker, "worker"), attempts.value()});
}

void heartbeat_each(executor &on, const std::vector<progress_report> &reports, const worker_name &worker,
                    std::optional<duration> timeout) {
    array_literal rns, progress;
    attempt_array attempts;
    for (const progress_report &report : reports) {
        rns.add(text(report.task.rn, "rn"));
        progress.add_plain(from_double(report.progress));
        attempts.add(report.task.attempt);
    }
    on.run(sql::heartbeat_each, {rns.str(), text(worker, "worker"), progress.str(), attempts.value(), text(timeout)});
}

namespace {

std::vector<leased_job> to_jobs(const pqxx::result &rows, const worker_name &worker) {
    std::vector<leased_job> jobs;
    jobs.reserve(static_cast<std::size_t>(rows.size()));
    for_each_row(rows, [&](const auto &row) {
        leased_job job;
        task &t = job.what;
        t.rn = text_of(row[0]);
        t.queue = text_of(row[1]);
        t.spec = json{text_of(row[2])};
        t.status = task_status::running;
        t.priority = to_int(text_of(row[3]));
        t.created = t.updated = to_time_point(text_of(row[4]));
        t.owner = worker;
        t.errors = json{text_of(row[5])};
        t.history = json{"[]"};
        t.args = json{text_of(row[6])};
        t.attempt = to_int(text_of(row[7]));
        t.failures = to_int(text_of(row[8]));
        if (!row[9].is_null())
            t.max_attempts = to_int(text_of(row[9]));
        if (!row[10].is_null())
            t.plan = plan_name{text_of(row[10])};
        job.lasts = duration{to_int64(text_of(row[11]))};
        if (!row[12].is_null())
            t.key = std::string{text_of(row[12])};
        jobs.push_back(std::move(job));
    });
    return jobs;
}

} // namespace

std::vector<leased_job> lease_jobs(executor &on, const queue_name &queue, const worker_name &worker, int max_tasks,
                                   std::optional<duration> timeout) {
    return to_jobs(on.run(sql::lease_jobs, {text(queue, "queue"), text(worker, "worker"), std::to_string(max_tasks), text(timeout)}),
                   worker);
}

std::vector<leased_job> complete_and_lease_jobs(executor &on, const std::vector<completion> &tasks, const worker_name &worker,
                                                const queue_name &queue, int max_tasks, std::optional<duration> timeout) {
    const completion_params arrays = to_params(tasks);
    return to_jobs(on.run(sql::complete_and_lease_jobs,
                          {arrays.rns.str(), text(worker, "worker"), text(queue, "queue"), std::to_string(max_tasks),
                           text(timeout), arrays.results.str(), arrays.attempts.value()}),
                   worker);
}

} // namespace detail

using namespace detail;

namespace {

std::string to_json(const retry_policy &policy) {
    std::string text;
    const auto add = [&](const char *key, const std::string &value) {
        text += (text.empty() ? "{\"" : ", \"") + std::string{key} + "\": " + value;
    };
    if (policy.initial)
        add("initial", '"' + interval(*policy.initial) + '"');
    if (policy.factor)
        add("factor", json_number(*policy.factor));
    if (policy.max)
        add("max", '"' + interval(*policy.max) + '"');
    if (policy.jitter)
        add("jitter", json_number(*policy.jitter));
    return text.empty() ? "{}" : text + '}';
}

} // namespace

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
        sql::submit, {text(queue, "queue"), checked(spec.text(), "spec"), std::to_string(options.priority),
                      text(options.rn, "rn"), text(options.not_before), text(options.max_attempts), text(existing),
                      text_array(options.depends_on, "depends_on"), std::string{to_string(options.on_dependency_failure)},
                      text(options.plan, "plan"), text(options.dedup_key, "dedup_key"),
                      options.retry ? param{to_json(*options.retry)} : std::nullopt, text(options.key, "key")}));
}

namespace {

// The parameters of TASKS in statements.cpp.
params task_arrays(const std::vector<new_task> &tasks) {
    array_literal queues, specs, priorities, rns, times, max_attempts, providers, policies, plans, dedup_keys, retries, keys;
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
    }
    return {queues.str(), specs.str(),     priorities.str(), rns.str(),   times.str(),      max_attempts.str(),
            providers.str(), policies.str(), plans.str(),      dedup_keys.str(), retries.str(), keys.str()};
}

} // namespace

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
    array_literal spec_array, rn_array;
    for (const json &spec : specs)
        spec_array.add(checked(spec.text(), "specs"));
    for (const resource_name &rn : rns)
        rn_array.add(text(rn, "rns"));
    return to_count(m_executor->run(sql::submit_bulk,
                                    {text(queue, "queue"), spec_array.str(),
                                     rns.empty() ? std::nullopt : param{rn_array.str()}, std::to_string(priority)}));
}

plan_name client::create_plan(const std::optional<plan_name> &name, const std::optional<json> &spec) {
    return text_of(m_executor->run(sql::create_plan, {text(name, "name"), text(spec, "spec")})[0][0]);
}
void client::open_plan(const plan_name &plan) { m_executor->run(sql::open_plan, {text(plan, "plan")}); }
std::int64_t client::cancel_plan(const plan_name &plan) {
    return to_count(m_executor->run(sql::cancel_plan, {text(plan, "plan")}));
}
bool client::plan_completed(const plan_name &plan) {
    return text_of(m_executor->run(sql::plan_completed, {text(plan, "plan")})[0][0]) == "t";
}
bool client::wait_plan(const plan_name &plan, duration timeout) {
    return text_of(m_executor->run(sql::wait_plan, {text(plan, "plan"), interval(timeout)})[0][0]) == "t";
}

namespace {

constexpr std::array<std::string_view, 5> k_plan_status{"building", "running", "completed", "failed", "cancelled"};

plan_status to_plan_status(std::string_view name) {
    for (std::size_t i = 0; i < k_plan_status.size(); i++)
        if (k_plan_status[i] == name)
            return static_cast<plan_status>(i);
    error_info info;
    info.message = "there is no plan status \"" + std::string{name} + "\"";
    throw error{std::move(info)};
}

} // namespace

std::string_view to_string(plan_status status) noexcept { return k_plan_status[static_cast<std::size_t>(status)]; }

plan_info client::get_plan(const plan_name &plan) {
    const pqxx::result rows = m_executor->run(sql::get_plan, {text(plan, "plan")});
    if (rows.empty()) {
        error_info info;
        info.message = "plan \"" + plan.str() + "\" does not exist";
        throw not_found{std::move(info)};
    }
    const auto row = rows[0];
    const auto optional_json = [](const auto &field) {
        return field.is_null() ? std::nullopt : std::optional{json{text_of(field)}};
    };
    plan_info p;
    p.name = text_of(row[0]);
    p.status = to_plan_status(text_of(row[1]));
    p.spec = optional_json(row[2]);
    int column = 3;
    for (std::int64_t *count : {&p.waiting, &p.ready, &p.running, &p.completed, &p.aborted, &p.cancelled})
        *count = to_int64(text_of(row[column++]));
    p.progress = to_double(text_of(row[9]));
    p.created = to_time_point(text_of(row[10]));
    p.opened = to_time(row[11]);
    p.finished = to_time(row[12]);
    p.result = optional_json(row[13]);
    return p;
}

std::string client::plan_dot(const plan_name &plan, int max_tasks) {
    return std::string{text_of(m_executor->run(sql::plan_dot, {text(plan, "plan"), std::to_string(max_tasks)})[0][0])};
}
std::string client::plan_mermaid(const plan_name &plan, int max_tasks) {
    return std::string{text_of(m_executor->run(sql::plan_mermaid, {text(plan, "plan"), std::to_string(max_tasks)})[0][0])};
}

std::vector<plan_run> client::plan_timeline(const plan_name &plan) {
    std::vector<plan_run> runs;
    const pqxx::result rows = m_executor->run(sql::plan_timeline, {text(plan, "plan")});
    for_each_row(rows, [&](const auto &row) {
        plan_run run;
        run.rn = text_of(row[0]);
        run.queue = text_of(row[1]);
        if (!row[2].is_null())
            run.owner = worker_name{text_of(row[2])};
        run.attempt = row[3].is_null() ? 0 : to_int(text_of(row[3]));
        run.started = to_time(row[4]);
        run.ended = to_time(row[5]);
        run.status = text_of(row[6]);
        runs.push_back(std::move(run));
    });
    return runs;
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
    const pqxx::result rows = m_executor->run(sql::complete_many, {arrays.rns.str(), text(worker, "worker"),
                                                                   arrays.results.str(), arrays.attempts.value()});
    for_each_row(rows, [&](const auto &row) {
        states.push_back({resource_name{text_of(row[0])}, text_of(row[1]) == "t", to_status(text_of(row[2]))});
    });
    return states;
}

std::vector<task> client::complete_and_lease(const std::vector<completion> &tasks, const worker_name &worker,
                                             const queue_name &queue, int max_tasks, std::optional<duration> timeout) {
    const completion_params arrays = to_params(tasks);
    return to_tasks(m_executor->run(sql::complete_and_lease,
                                    {arrays.rns.str(), text(worker, "worker"), text(queue, "queue"),
                                     std::to_string(max_tasks), text(timeout), arrays.results.str(), arrays.attempts.value()}));
}

task client::abort(const resource_name &rn, const worker_name &worker, const task_error &error, std::optional<int> attempt) {
    const error_params e = to_params(error);
    return to_one_task(m_executor->run(
        sql::abort, {text(rn, "rn"), text(worker, "worker"), e.code, e.description, e.args, text(attempt)}));
}

task client::fail(const resource_name &rn, const worker_name &worker, const task_error &error,
                  std::optional<duration> retry_after, std::optional<int> attempt) {
    const error_params e = to_params(error);
    return to_one_task(m_executor->run(sql::fail, {text(rn, "rn"), text(worker, "worker"), e.code, e.description, e.args,
                                                   text(retry_after), text(attempt)}));
}

task client::yield(const resource_name &rn, const worker_name &worker, std::optional<int> attempt) {
    return to_one_task(m_executor->run(sql::yield, {text(rn, "rn"), text(worker, "worker"), text(attempt)}));
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

task client::cancel(const resource_name &rn) { return to_one_task(m_executor->run(sql::cancel, {text(rn, "rn")})); }

task client::get(const resource_name &rn) { return to_one_task(m_executor->run(sql::get_task, {text(rn, "rn")})); }

std::vector<task> client::list(const list_filter &filter) {
    return to_tasks(m_executor->run(
        sql::list_tasks, {text(filter.queue, "queue"),
                          filter.status ? param{std::string{to_string(*filter.status)}} : std::nullopt,
                          text(filter.worker, "worker"), std::to_string(filter.max_tasks)}));
}

queue_changes &queue_changes::set(std::string_view setting, const std::string &text) {
    m_text += (m_text.empty() ? "{\"" : ", \"") + std::string{setting} + "\": " + text;
    return *this;
}
queue_changes &queue_changes::set(std::string_view setting, std::optional<duration> value) {
    return set(setting, value ? '"' + interval(*value) + '"' : "null");
}
queue_changes &queue_changes::aging(double value) { return set("aging", json_number(value)); }
queue_changes &queue_changes::max_attempts(std::optional<int> value) {
    return set("max_attempts", value ? std::to_string(*value) : "null");
}
queue_changes &queue_changes::max_running(std::optional<int> value) {
    return set("max_running", value ? std::to_string(*value) : "null");
}
queue_changes &queue_changes::max_running_per_key(std::optional<int> value) {
    return set("max_running_per_key", value ? std::to_string(*value) : "null");
}
queue_changes &queue_changes::max_depth(std::optional<int> value) {
    return set("max_depth", value ? std::to_string(*value) : "null");
}
queue_changes &queue_changes::retry(const std::optional<retry_policy> &value) {
    return set("retry", value ? scylla::to_json(*value) : "null");
}
json queue_changes::to_json() const { return m_text.empty() ? "{}" : m_text + '}'; }

void client::create_queue(const queue_name &queue, const queue_options &options) {
    m_executor->run(sql::create_queue,
                    {text(queue, "queue"), text(options.default_timeout), text(options.retention), from_double(options.aging),
                     text(options.max_attempts), options.retry ? param{to_json(*options.retry)} : std::nullopt,
                     text(options.retention_completed), text(options.retention_aborted), text(options.retention_cancelled),
                     options.paused ? "t" : "f", text(options.max_running),
                     options.events ? "t" : "f", options.notify ? "t" : "f", text(options.max_running_per_key),
                     text(options.max_depth), options.shed ? "shed" : "error"});
}

void client::alter_queue(const queue_name &queue, const queue_changes &changes) {
    m_executor->run(sql::alter_queue, {text(queue, "queue"), changes.to_json().text()});
}
void client::pause_queue(const queue_name &queue) { m_executor->run(sql::pause_queue, {text(queue, "queue")}); }
void client::resume_queue(const queue_name &queue) { m_executor->run(sql::resume_queue, {text(queue, "queue")}); }
void client::drop_queue(const queue_name &queue, bool force) {
    m_executor->run(sql::drop_queue, {text(queue, "queue"), force ? "t" : "f"});
}

std::vector<queue_info> client::queues() {
    std::vector<queue_info> queues;
    const pqxx::result rows = m_executor->run(sql::queue_settings, {});
    for_each_row(rows, [&](const auto &row) {
        queue_info q;
        q.queue = text_of(row[0]);
        q.created = to_time_point(text_of(row[1]));
        q.default_timeout = to_duration(row[2]);
        q.retention = to_duration(row[3]);
        q.aging = to_double(text_of(row[4]));
        if (!row[5].is_null())
            q.max_attempts = to_int(text_of(row[5]));
        if (!row[6].is_null())
            q.retry = json{text_of(row[6])};
        q.retention_completed = to_duration(row[7]);
        q.retention_aborted = to_duration(row[8]);
        q.retention_cancelled = to_duration(row[9]);
        q.paused = text_of(row[10]) == "t";
        if (!row[11].is_null())
            q.max_running = to_int(text_of(row[11]));
        q.events = text_of(row[12]) == "t";
        q.notify = text_of(row[13]) == "t";
        if (!row[14].is_null())
            q.max_running_per_key = to_int(text_of(row[14]));
        if (!row[15].is_null())
            q.max_depth = to_int(text_of(row[15]));
        q.shed = text_of(row[16]) == "shed";
        queues.push_back(std::move(q));
    });
    return queues;
}

std::string_view to_string(queue_privilege privilege) noexcept {
    switch (privilege) {
    case queue_privilege::submit:
        return "submit";
    case queue_privilege::work:
        return "work";
    case queue_privilege::view:
        return "view";
    case queue_privilege::admin:
        break;
    }
    return "admin";
}

void client::grant_queue(const queue_name &queue, const std::string &role, queue_privilege privilege) {
    m_executor->run(sql::grant_queue, {text(queue, "queue"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::revoke_queue(const queue_name &queue, const std::string &role, queue_privilege privilege) {
    m_executor->run(sql::revoke_queue, {text(queue, "queue"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::set_queue_owner(const queue_name &queue, const std::string &owner) {
    m_executor->run(sql::set_queue_owner, {text(queue, "queue"), checked(owner, "owner")});
}

std::vector<queue_grant> client::grants() {
    std::vector<queue_grant> grants;
    const pqxx::result rows = m_executor->run(sql::queue_grants, {});
    for_each_row(rows, [&](const auto &row) {
        grants.push_back({text_of(row[0]), std::string{text_of(row[1])}, std::string{text_of(row[2])}});
    });
    return grants;
}

namespace {

// Numbers separated by blanks.
std::vector<std::int64_t> to_numbers(std::string_view text) {
    std::vector<std::int64_t> numbers;
    while (!text.empty()) {
        const std::size_t end = text.find(' ');
        numbers.push_back(to_int64(text.substr(0, end)));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return numbers;
}

} // namespace

std::vector<queue_statistics> client::statistics() {
    std::vector<queue_statistics> statistics;
    const pqxx::result rows = m_executor->run(sql::stat_queue, {});
    for_each_row(rows, [&](const auto &row) {
        int column = 0;
        const auto count = [&] {
            const auto field = row[column++];
            return field.is_null() ? std::nullopt : std::optional{to_int64(text_of(field))};
        };
        queue_statistics s;
        s.queue = text_of(row[column++]);
        for (auto *value : {&s.waiting, &s.ready, &s.running, &s.terminal})
            *value = count();
        s.oldest_ready = to_duration(row[column++]);
        for (auto *value : {&s.submitted, &s.leased, &s.completed, &s.aborted, &s.cancelled, &s.failed, &s.expired, &s.yielded,
                            &s.purged})
            *value = count();
        s.wait_histogram = to_numbers(text_of(row[column++]));
        s.run_histogram = to_numbers(text_of(row[column++]));
        if (!row[column].is_null())
            s.stats_reset = to_time_point(text_of(row[column]));
        column++;
        for (auto *value : {&s.refused, &s.shed})
            *value = count();
        statistics.push_back(std::move(s));
    });
    return statistics;
}

std::optional<duration> client::quantile(const std::vector<std::int64_t> &histogram, double fraction) {
    array_literal array;
    for (const std::int64_t count : histogram)
        array.add_plain(std::to_string(count));
    return to_duration(m_executor->run(sql::quantile, {array.str(), from_double(fraction)})[0][0]);
}

std::vector<task_count> client::count_tasks(const std::optional<queue_name> &queue) {
    std::vector<task_count> counts;
    const pqxx::result rows = m_executor->run(sql::count_tasks, {text(queue, "queue")});
    for_each_row(rows, [&](const auto &row) {
        counts.push_back({text_of(row[0]), to_task_status(text_of(row[1])), to_int64(text_of(row[2]))});
    });
    return counts;
}

void client::reset_statistics(const std::optional<queue_name> &queue) {
    m_executor->run(sql::stat_reset, {text(queue, "queue")});
}

duration client::backoff(int count, duration initial, double factor, duration max) {
    return to_duration(m_executor->run(sql::backoff, {std::to_string(count), interval(initial), from_double(factor),
                                                      interval(max)})[0][0])
        .value_or(initial);
}

std::vector<event> client::read_events(const std::string &after, int max_events) {
    std::vector<event> events;
    const pqxx::result rows = m_executor->run(
        sql::read_events, {after.empty() ? std::nullopt : param{checked(after, "after")}, std::to_string(max_events)});
    for_each_row(rows, [&](const auto &row) {
        event e;
        e.cursor = text_of(row[0]);
        e.time = to_time_point(text_of(row[1]));
        e.queue = text_of(row[2]);
        e.rn = text_of(row[3]);
        e.status = to_task_status(text_of(row[4]));
        e.attempt = to_int(text_of(row[5]));
        e.failures = to_int(text_of(row[6]));
        if (!row[7].is_null())
            e.worker = worker_name{text_of(row[7])};
        events.push_back(std::move(e));
    });
    return events;
}

std::string client::metrics() { return std::string{text_of(m_executor->run(sql::metrics, {})[0][0])}; }

std::string_view to_string(overlap_policy policy) noexcept {
    switch (policy) {
    case overlap_policy::allow:
        return "allow";
    case overlap_policy::skip:
        return "skip";
    case overlap_policy::replace:
        break;
    }
    return "replace";
}

std::string_view to_string(catch_up_policy policy) noexcept {
    switch (policy) {
    case catch_up_policy::none:
        return "none";
    case catch_up_policy::latest:
        return "latest";
    case catch_up_policy::all:
        break;
    }
    return "all";
}

namespace {

// What schedule() and schedule_plan() have in common.
void append(params &values, const schedule_options &options) {
    const params common{checked(options.timezone, "timezone"),
                        std::string{to_string(options.overlap)},
                        std::string{to_string(options.catch_up)},
                        text(options.grace),
                        std::to_string(options.max_catch_up),
                        interval(options.jitter),
                        text(options.starts),
                        text(options.ends),
                        options.planned_key ? param{checked(*options.planned_key, "planned_key")} : std::nullopt};
    values.insert(values.end(), common.begin(), common.end());
}

} // namespace

std::optional<time_point> client::schedule(const schedule_name &name, const std::string &cron, const queue_name &queue,
                                           const json &spec, const schedule_options &options) {
    params values{text(name, "name"), checked(cron, "cron"), text(queue, "queue"), checked(spec.text(), "spec")};
    append(values, options);
    values.emplace_back(checked(options.options.text(), "options"));
    return to_time(m_executor->run(sql::schedule, values)[0][0]);
}

std::optional<time_point> client::schedule_plan(const schedule_name &name, const std::string &cron,
                                                const std::vector<new_task> &tasks, const schedule_options &options) {
    params values = task_arrays(tasks);
    values.emplace_back(text(name, "name"));
    values.emplace_back(checked(cron, "cron"));
    append(values, options);
    return to_time(m_executor->run(sql::schedule_plan, values)[0][0]);
}

void client::unschedule(const schedule_name &name) { m_executor->run(sql::unschedule, {text(name, "name")}); }

std::vector<schedule_info> client::schedules() {
    std::vector<schedule_info> schedules;
    const pqxx::result rows = m_executor->run(sql::schedules, {});
    for_each_row(rows, [&](const auto &row) {
        schedule_info s;
        s.name = text_of(row[0]);
        s.owner = text_of(row[1]);
        s.cron = text_of(row[2]);
        s.timezone = text_of(row[3]);
        s.queue = text_of(row[4]);
        s.spec = text_of(row[5]);
        s.options = text_of(row[6]);
        s.armed = text_of(row[7]) == "t";
        s.next_run = to_time(row[8]);
        s.last_run = to_time(row[9]);
        if (!row[10].is_null())
            s.last_task = text_of(row[10]);
        s.runs = to_int64(text_of(row[11]));
        s.skipped = to_int64(text_of(row[12]));
        s.missed = to_int64(text_of(row[13]));
        if (!row[14].is_null())
            s.last_error = text_of(row[14]);
        schedules.push_back(std::move(s));
    });
    return schedules;
}

std::int64_t client::run_schedules() { return to_count(m_executor->run(sql::run_schedules, {})); }
std::int64_t client::arm_schedules() { return to_count(m_executor->run(sql::arm_schedules, {})); }

std::optional<time_point> client::cron_next(const std::string &cron, std::optional<time_point> after,
                                            const std::string &timezone) {
    return to_time(
        m_executor->run(sql::cron_next, {checked(cron, "cron"), text(after), checked(timezone, "timezone")})[0][0]);
}

std::int64_t client::reset_expired() { return to_count(m_executor->run(sql::reset_expired, {})); }
std::int64_t client::purge() { return to_count(m_executor->run(sql::purge, {})); }
void client::maintain() { m_executor->run(sql::maintain, {}); }

std::vector<problem> client::check() {
    std::vector<problem> problems;
    const pqxx::result rows = m_executor->run(sql::check, {});
    for_each_row(rows, [&](const auto &row) {
        problems.push_back({row[0].is_null() ? std::nullopt : std::optional{resource_name{text_of(row[0])}},
                            std::string{text_of(row[1])}});
    });
    return problems;
}

} // namespace scylla
