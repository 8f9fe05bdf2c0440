// Statistics, events and maintenance.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

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
        for (auto *value : {&s.submitted, &s.leased, &s.completed, &s.aborted, &s.cancelled, &s.failed, &s.expired,
                            &s.yielded, &s.purged})
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

bool client::has_live_tasks(const std::vector<queue_name> &queues) {
    array_literal names;
    for (const queue_name &queue : queues)
        names.add(text(queue, "queues"));
    return text_of(m_executor->run(sql::has_live_tasks, {names.str()})[0][0]) == "t";
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

std::vector<workflow_event> client::read_workflow_events(const std::string &after, int max_events) {
    std::vector<workflow_event> events;
    const pqxx::result rows =
        m_executor->run(sql::read_workflow_events,
                        {after.empty() ? std::nullopt : param{checked(after, "after")}, std::to_string(max_events)});
    for_each_row(rows, [&](const auto &row) {
        const auto text_at = [&](int column) {
            return row[column].is_null() ? std::nullopt : std::optional{std::string{text_of(row[column])}};
        };
        const auto number_at = [&](int column) {
            return row[column].is_null() ? std::nullopt : std::optional{to_int(text_of(row[column]))};
        };
        workflow_event e;
        e.cursor = text_of(row[0]);
        e.time = to_time_point(text_of(row[1]));
        e.workflow = text_of(row[2]);
        e.kind = text_of(row[3]);
        if (!row[4].is_null())
            e.instance = to_int64(text_of(row[4]));
        e.run = number_at(5);
        e.step = text_at(6);
        if (!row[7].is_null())
            e.iterations = to_numbers(text_of(row[7]));
        e.attempt = number_at(8);
        e.old_status = text_at(9);
        e.status = text_at(10);
        e.version = number_at(11);
        events.push_back(std::move(e));
    });
    return events;
}

std::string client::metrics() { return std::string{text_of(m_executor->run(sql::metrics, {})[0][0])}; }

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
