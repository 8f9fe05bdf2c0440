// Workflows.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

std::string_view to_string(existing_run value) noexcept {
    switch (value) {
    case existing_run::start:
        return "start";
    case existing_run::skip:
        return "skip";
    case existing_run::skip_all:
        return "skip_all";
    }
    return "";
}
std::string_view to_string(workflow_privilege privilege) noexcept {
    switch (privilege) {
    case workflow_privilege::run:
        return "run";
    case workflow_privilege::view:
        return "view";
    case workflow_privilege::admin:
        break;
    }
    return "admin";
}

std::vector<workflow_problem> client::validate_workflow(const json &definition) {
    std::vector<workflow_problem> problems;
    for_each_row(m_executor->run(sql::validate_workflow, {checked(definition.text(), "definition")}),
                 [&](const auto &row) {
                     problems.push_back({std::string{text_of(row[0])}, std::string{text_of(row[1])}});
                 });
    return problems;
}

int client::create_workflow(const json &definition, bool activate) {
    const pqxx::result rows =
        m_executor->run(sql::create_workflow, {checked(definition.text(), "definition"), activate ? "true" : "false"});
    return rows[0][0].as<int>();
}

void client::activate_workflow(const workflow_name &workflow, std::optional<int> version) {
    m_executor->run(sql::activate_workflow, {text(workflow, "workflow"), text(version)});
}
void client::deactivate_workflow(const workflow_name &workflow) {
    m_executor->run(sql::deactivate_workflow, {text(workflow, "workflow")});
}
void client::alter_workflow(const workflow_name &workflow, const json &changes) {
    m_executor->run(sql::alter_workflow, {text(workflow, "workflow"), checked(changes.text(), "changes")});
}
void client::drop_workflow(const workflow_name &workflow) {
    m_executor->run(sql::drop_workflow, {text(workflow, "workflow")});
}
void client::create_job_template(const json &definition) {
    m_executor->run(sql::create_job_template, {checked(definition.text(), "definition")});
}
void client::drop_job_template(const std::string &job_type, const std::string &version) {
    m_executor->run(sql::drop_job_template, {checked(job_type, "job_type"), checked(version, "version")});
}
void client::grant_workflow(const workflow_name &workflow, const std::string &role, workflow_privilege privilege) {
    m_executor->run(sql::grant_workflow,
                    {text(workflow, "workflow"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::revoke_workflow(const workflow_name &workflow, const std::string &role, workflow_privilege privilege) {
    m_executor->run(sql::revoke_workflow,
                    {text(workflow, "workflow"), checked(role, "role"), std::string{to_string(privilege)}});
}

namespace {

template <typename Row> started_run to_started(const Row &row) {
    started_run started;
    started.code = row[0].template as<int>();
    started.workflow = workflow_name{std::string{text_of(row[1])}};
    started.instance = row[2].template as<std::int64_t>();
    started.run = row[3].template as<int>();
    started.status = std::string{text_of(row[4])};
    return started;
}

} // namespace

started_run client::start_workflow(const workflow_name &workflow, const start_options &options) {
    const pqxx::result rows = m_executor->run(
        sql::start_workflow,
        {text(workflow, "workflow"), checked(options.params.text(), "params"), checked(options.version, "version"),
         text(options.request_id, "request_id"), checked(options.step_params.text(), "step_params")});
    return to_started(rows[0]);
}

std::vector<started_run> client::start_workflows(const std::vector<start_request> &requests) {
    std::vector<started_run> all;
    if (requests.empty())
        return all;
    all.reserve(requests.size());
    detail::array_literal workflows, params, versions, request_ids, step_params;
    for (const start_request &request : requests) {
        workflows.add(text(request.workflow, "workflow"));
        params.add(checked(request.options.params.text(), "params"));
        versions.add(checked(request.options.version, "version"));
        if (request.options.request_id)
            request_ids.add(checked(*request.options.request_id, "request_id"));
        else
            request_ids.add_null();
        step_params.add(checked(request.options.step_params.text(), "step_params"));
    }
    const pqxx::result rows = m_executor->run(
        sql::start_workflows, {workflows.str(), params.str(), versions.str(), request_ids.str(), step_params.str()});
    for_each_row(rows, [&](const auto &row) { all.push_back(to_started(row)); });
    return all;
}

void client::set_output(const resource_name &rn, const step_output &output) {
    m_executor->run(sql::set_output,
                    {text(rn, "rn"), text(output.params, "params"), text(output.artifacts, "artifacts"),
                     text(output.worker, "worker"), text(output.attempt)});
}

started_run client::restart_run(const workflow_name &workflow, std::int64_t instance, const restart_options &options) {
    const char *policy = options.policy == restart_policy::from_incomplete  ? "RESTART_FROM_INCOMPLETE"
                         : options.policy == restart_policy::from_beginning ? "RESTART_FROM_BEGINNING"
                                                                            : "RESTART_FROM_SPECIFIC";
    detail::array_literal skipped;
    for (const std::string &step : options.skip_steps)
        skipped.add(checked(step, "skip_steps"));
    const pqxx::result rows = m_executor->run(
        sql::restart_run, {text(workflow, "workflow"), std::to_string(instance), policy,
                           checked(options.params.text(), "params"), checked(options.step_params.text(), "step_params"),
                           skipped.str(), text(options.step, "step"), options.alone ? "t" : "f"});
    return to_started(rows[0]);
}

void client::stop_run(const workflow_name &workflow, std::int64_t instance) {
    m_executor->run(sql::stop_run, {text(workflow, "workflow"), std::to_string(instance)});
}
void client::kill_run(const workflow_name &workflow, std::int64_t instance) {
    m_executor->run(sql::kill_run, {text(workflow, "workflow"), std::to_string(instance)});
}
std::int64_t client::stop_workflow(const workflow_name &workflow) {
    return m_executor->run(sql::stop_workflow, {text(workflow, "workflow")})[0][0].as<std::int64_t>();
}
std::int64_t client::kill_workflow(const workflow_name &workflow) {
    return m_executor->run(sql::kill_workflow, {text(workflow, "workflow")})[0][0].as<std::int64_t>();
}

namespace {

std::string numbers_of(const std::vector<std::int64_t> &numbers) {
    std::string array = "{";
    for (const std::int64_t number : numbers)
        array += (array.size() == 1 ? "" : ",") + std::to_string(number);
    return array + "}";
}

template <typename Rows> std::optional<std::int64_t> id_of(const Rows &rows) {
    return rows[0][0].is_null() ? std::nullopt : std::optional{rows[0][0].template as<std::int64_t>()};
}

} // namespace

std::optional<std::int64_t> client::stop_step(const workflow_name &workflow, std::int64_t instance,
                                              const std::string &step, const std::vector<std::int64_t> &iterations) {
    return id_of(m_executor->run(sql::stop_step, {text(workflow, "workflow"), std::to_string(instance),
                                                  checked(step, "step"), numbers_of(iterations)}));
}
std::optional<std::int64_t> client::kill_step(const workflow_name &workflow, std::int64_t instance,
                                              const std::string &step, const std::vector<std::int64_t> &iterations) {
    return id_of(m_executor->run(sql::kill_step, {text(workflow, "workflow"), std::to_string(instance),
                                                  checked(step, "step"), numbers_of(iterations)}));
}
std::optional<std::int64_t> client::skip_step(const workflow_name &workflow, std::int64_t instance,
                                              const std::string &step, const std::vector<std::int64_t> &iterations) {
    return id_of(m_executor->run(sql::skip_step, {text(workflow, "workflow"), std::to_string(instance),
                                                  checked(step, "step"), numbers_of(iterations)}));
}
std::optional<std::int64_t> client::restart_step(const workflow_name &workflow, std::int64_t instance,
                                                 const std::string &step, const std::vector<std::int64_t> &iterations,
                                                 bool alone) {
    return id_of(
        m_executor->run(sql::restart_step, {text(workflow, "workflow"), std::to_string(instance), checked(step, "step"),
                                            numbers_of(iterations), alone ? "t" : "f"}));
}
std::optional<std::int64_t> client::bypass_step(const workflow_name &workflow, std::int64_t instance,
                                                const std::string &step, const std::vector<std::int64_t> &iterations) {
    return id_of(m_executor->run(sql::bypass_step, {text(workflow, "workflow"), std::to_string(instance),
                                                    checked(step, "step"), numbers_of(iterations)}));
}
void client::pause_step(const workflow_name &workflow, std::int64_t instance, const std::string &step,
                        const std::vector<std::int64_t> &iterations) {
    m_executor->run(sql::pause_step, {text(workflow, "workflow"), std::to_string(instance), checked(step, "step"),
                                      numbers_of(iterations)});
}
std::optional<std::int64_t> client::resume_step(const workflow_name &workflow, std::int64_t instance,
                                                const std::string &step, const std::vector<std::int64_t> &iterations) {
    return id_of(m_executor->run(sql::resume_step, {text(workflow, "workflow"), std::to_string(instance),
                                                    checked(step, "step"), numbers_of(iterations)}));
}

namespace {

template <typename Number> std::optional<std::string> number_of(const std::optional<Number> &number) {
    return number ? std::optional{std::to_string(*number)} : std::nullopt;
}

} // namespace

void client::set_breakpoint(const workflow_name &workflow, const std::string &step, const breakpoint_place &at) {
    m_executor->run(sql::set_breakpoint, {text(workflow, "workflow"), checked(step, "step"), number_of(at.version),
                                          number_of(at.instance), number_of(at.run)});
}
void client::drop_breakpoint(const workflow_name &workflow, const std::string &step, const breakpoint_place &at,
                             bool resume) {
    m_executor->run(sql::drop_breakpoint, {text(workflow, "workflow"), checked(step, "step"), number_of(at.version),
                                           number_of(at.instance), number_of(at.run), std::string{resume ? "t" : "f"}});
}
void client::pause_workflow(const workflow_name &workflow) {
    m_executor->run(sql::pause_workflow, {text(workflow, "workflow")});
}
void client::resume_workflow(const workflow_name &workflow) {
    m_executor->run(sql::resume_workflow, {text(workflow, "workflow")});
}

void client::unblock_run(const workflow_name &workflow, std::int64_t instance) {
    m_executor->run(sql::unblock_run, {text(workflow, "workflow"), std::to_string(instance)});
}
std::int64_t client::unblock_workflow(const workflow_name &workflow) {
    return m_executor->run(sql::unblock_workflow, {text(workflow, "workflow")})[0][0].as<std::int64_t>();
}

std::int64_t client::backfill(const workflow_name &workflow, const json &items, const backfill_options &options) {
    return m_executor
        ->run(sql::backfill,
              {text(workflow, "workflow"), checked(items.text(), "items"), checked(options.version, "version"),
               std::to_string(options.concurrency), std::string{options.newest_first ? "t" : "f"},
               std::string{to_string(options.existing)}, std::string{options.yields ? "t" : "f"}})[0][0]
        .as<std::int64_t>();
}
std::vector<backfill_item> client::preview_backfill(const workflow_name &workflow, const json &items,
                                                    const backfill_options &options) {
    const pqxx::result rows = m_executor->run(
        sql::preview_backfill,
        {text(workflow, "workflow"), checked(items.text(), "items"), checked(options.version, "version"),
         std::string{options.newest_first ? "t" : "f"}, std::string{to_string(options.existing)}});
    std::vector<backfill_item> previewed;
    for (const auto &row : rows) {
        backfill_item item;
        item.number = row[0].as<int>();
        item.params = json{std::string{text_of(row[1])}};
        item.starts = text_of(row[2]) == "start";
        if (!row[3].is_null())
            item.instance = row[3].as<std::int64_t>();
        item.status = std::string{text_of(row[4])};
        previewed.push_back(std::move(item));
    }
    return previewed;
}
void client::pause_backfill(std::int64_t backfill) { m_executor->run(sql::pause_backfill, {std::to_string(backfill)}); }
void client::resume_backfill(std::int64_t backfill) {
    m_executor->run(sql::resume_backfill, {std::to_string(backfill)});
}
std::int64_t client::cancel_backfill(std::int64_t backfill, bool stop_runs) {
    return m_executor->run(sql::cancel_backfill, {std::to_string(backfill), std::string{stop_runs ? "t" : "f"}})[0][0]
        .as<std::int64_t>();
}

std::int64_t client::advance() { return m_executor->run(sql::advance, {})[0][0].as<std::int64_t>(); }

} // namespace scylla
