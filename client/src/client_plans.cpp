// Plans.
#include <scylla/client.h>

#include <array>

#include "values.h"

namespace scylla {

using namespace detail;

plan_name client::create_plan(const std::optional<plan_name> &name, const std::optional<json> &spec) {
    return text_of(m_executor->run(sql::create_plan, {text(name, "name"), text(spec, "spec")})[0][0]);
}
void client::open_plan(const plan_name &plan) { m_executor->run(sql::open_plan, {text(plan, "plan")}); }
std::int64_t client::cancel_plan(const plan_name &plan) {
    return to_count(m_executor->run(sql::cancel_plan, {text(plan, "plan")}));
}
plan_name client::rerun_plan(const plan_name &plan, bool only_failed, const std::optional<plan_name> &new_plan) {
    return text_of(m_executor->run(
        sql::rerun_plan, {text(plan, "plan"), only_failed ? "true" : "false", text(new_plan, "new_plan")})[0][0]);
}
bool client::plan_completed(const plan_name &plan) {
    return text_of(m_executor->run(sql::plan_completed, {text(plan, "plan")})[0][0]) == "t";
}
void client::set_plan_owner(const plan_name &plan, const std::string &owner) {
    m_executor->run(sql::set_plan_owner, {text(plan, "plan"), checked(owner, "owner")});
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
    p.owner = text_of(row[14]);
    return p;
}

std::string client::plan_dot(const plan_name &plan, int max_tasks) {
    return std::string{text_of(m_executor->run(sql::plan_dot, {text(plan, "plan"), std::to_string(max_tasks)})[0][0])};
}
std::string client::plan_mermaid(const plan_name &plan, int max_tasks) {
    return std::string{
        text_of(m_executor->run(sql::plan_mermaid, {text(plan, "plan"), std::to_string(max_tasks)})[0][0])};
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

} // namespace scylla
