#include "calls.h"

#include "values.h"

namespace scylla::detail {

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
    array_literal rns;
    array_literal progress;
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
        if (!row[13].is_null())
            t.pool = pool_name{text_of(row[13])};
        jobs.push_back(std::move(job));
    });
    return jobs;
}

} // namespace

std::vector<leased_job> lease_jobs(executor &on, const queue_name &queue, const worker_name &worker, int max_tasks,
                                   std::optional<duration> timeout) {
    return to_jobs(on.run(sql::lease_jobs,
                          {text(queue, "queue"), text(worker, "worker"), std::to_string(max_tasks), text(timeout)}),
                   worker);
}

std::vector<leased_job> complete_and_lease_jobs(executor &on, const std::vector<completion> &tasks,
                                                const worker_name &worker, const queue_name &queue, int max_tasks,
                                                std::optional<duration> timeout) {
    const completion_params arrays = to_params(tasks);
    return to_jobs(on.run(sql::complete_and_lease_jobs,
                          {arrays.rns.str(), text(worker, "worker"), text(queue, "queue"), std::to_string(max_tasks),
                           text(timeout), arrays.results.str(), arrays.attempts.value()}),
                   worker);
}

} // namespace scylla::detail
