// Views of runs of workflows.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

namespace {

// An array of numbers as the server writes it: {3,1}. Null: empty.
template <class Field> std::vector<std::int64_t> to_numbers(const Field &field) {
    std::vector<std::int64_t> numbers;
    std::string_view rest = text_of(field);
    while (rest.size() > 1) {
        rest.remove_prefix(1);
        const auto end = rest.find_first_of(",}");
        numbers.push_back(to_int64(rest.substr(0, end)));
        rest.remove_prefix(end);
    }
    return numbers;
}

template <class Field> std::optional<json> optional_json(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{json{std::string{text_of(field)}}};
}

template <class Field> std::optional<resource_name> to_task(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional<resource_name>{text_of(field)};
}

template <class Field> std::optional<int> to_attempt(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{to_int(text_of(field))};
}

} // namespace

std::vector<run_node> client::run_tree(const workflow_name &workflow, std::int64_t instance, int max_iterations,
                                       bool failed_first) {
    std::vector<run_node> nodes;
    const pqxx::result rows =
        m_executor->run(sql::run_tree, {text(workflow, "workflow"), std::to_string(instance),
                                        std::to_string(max_iterations), failed_first ? "true" : "false"});
    for_each_row(rows, [&](const auto &row) {
        run_node node;
        node.depth = to_int(text_of(row[0]));
        node.kind = text_of(row[1]);
        node.name = text_of(row[2]);
        node.iterations = to_numbers(row[3]);
        if (!row[4].is_null())
            node.count = to_int64(text_of(row[4]));
        node.status = text_of(row[5]);
        node.attempt = to_attempt(row[6]);
        node.started = to_time(row[7]);
        node.ended = to_time(row[8]);
        node.params = optional_json(row[9]);
        node.error = optional_json(row[10]);
        node.task = to_task(row[11]);
        node.workflow = workflow_name{std::string{text_of(row[12])}};
        node.instance = to_int64(text_of(row[13]));
        nodes.push_back(std::move(node));
    });
    return nodes;
}

std::vector<failed_step> client::failed_steps(const workflow_name &workflow, std::int64_t instance, int max_steps) {
    std::vector<failed_step> steps;
    const pqxx::result rows = m_executor->run(
        sql::failed_steps, {text(workflow, "workflow"), std::to_string(instance), std::to_string(max_steps)});
    for_each_row(rows, [&](const auto &row) {
        failed_step step;
        step.workflow = workflow_name{std::string{text_of(row[0])}};
        step.instance = to_int64(text_of(row[1]));
        step.step = text_of(row[2]);
        step.iterations = to_numbers(row[3]);
        step.attempt = to_int(text_of(row[4]));
        step.status = text_of(row[5]);
        step.ended = to_time(row[6]);
        step.params = optional_json(row[7]);
        step.error = optional_json(row[8]);
        step.task = to_task(row[9]);
        steps.push_back(std::move(step));
    });
    return steps;
}

std::vector<run_wait> client::explain_run(const workflow_name &workflow, std::int64_t instance,
                                          const std::optional<std::string> &step, int max_rows) {
    std::vector<run_wait> waits;
    const pqxx::result rows = m_executor->run(sql::explain_run, {text(workflow, "workflow"), std::to_string(instance),
                                                                 text(step, "step"), std::to_string(max_rows)});
    for_each_row(rows, [&](const auto &row) {
        run_wait wait;
        wait.workflow = workflow_name{std::string{text_of(row[0])}};
        wait.instance = to_int64(text_of(row[1]));
        if (!row[2].is_null())
            wait.step = text_of(row[2]);
        wait.iterations = to_numbers(row[3]);
        wait.waits_for = text_of(row[4]);
        wait.since = to_time(row[5]);
        wait.until = to_time(row[6]);
        wait.detail = text_of(row[7]);
        waits.push_back(std::move(wait));
    });
    return waits;
}

std::string client::workflow_dot(const workflow_name &workflow, const std::string &version) {
    return std::string{
        text_of(m_executor->run(sql::workflow_dot, {text(workflow, "workflow"), checked(version, "version")})[0][0])};
}
std::string client::workflow_mermaid(const workflow_name &workflow, const std::string &version) {
    return std::string{text_of(
        m_executor->run(sql::workflow_mermaid, {text(workflow, "workflow"), checked(version, "version")})[0][0])};
}
std::string client::run_dot(const workflow_name &workflow, std::int64_t instance) {
    return std::string{
        text_of(m_executor->run(sql::run_dot, {text(workflow, "workflow"), std::to_string(instance)})[0][0])};
}
std::string client::run_mermaid(const workflow_name &workflow, std::int64_t instance) {
    return std::string{
        text_of(m_executor->run(sql::run_mermaid, {text(workflow, "workflow"), std::to_string(instance)})[0][0])};
}
std::string client::run_gantt(const workflow_name &workflow, std::int64_t instance, int max_iterations) {
    return std::string{text_of(m_executor->run(
        sql::run_gantt, {text(workflow, "workflow"), std::to_string(instance), std::to_string(max_iterations)})[0][0])};
}
std::string client::lineage_dot(const workflow_name &workflow, std::int64_t instance, int max_signals) {
    return std::string{text_of(m_executor->run(
        sql::lineage_dot, {text(workflow, "workflow"), std::to_string(instance), std::to_string(max_signals)})[0][0])};
}
std::string client::lineage_mermaid(const workflow_name &workflow, std::int64_t instance, int max_signals) {
    return std::string{
        text_of(m_executor->run(sql::lineage_mermaid, {text(workflow, "workflow"), std::to_string(instance),
                                                       std::to_string(max_signals)})[0][0])};
}

} // namespace scylla
