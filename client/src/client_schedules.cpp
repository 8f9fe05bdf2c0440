// Recurring tasks.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

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

// The common arguments of schedule(), schedule_plan() and schedule_job().
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

std::optional<time_point> client::schedule_job(const schedule_name &name, const std::string &cron, const job_name &job,
                                               const std::optional<id_ranges> &ids, const json &args,
                                               const schedule_options &options) {
    params values{text(name, "name"), checked(cron, "cron"), text(job, "job"), ids_param(ids),
                  checked(args.text(), "args")};
    append(values, options);
    values.emplace_back(checked(options.options.text(), "options"));
    return to_time(m_executor->run(sql::schedule_job, values)[0][0]);
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
        if (!row[15].is_null())
            s.job = job_name{text_of(row[15])};
        if (!row[16].is_null())
            s.workflow = workflow_name{text_of(row[16])};
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

} // namespace scylla
