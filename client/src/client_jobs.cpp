// Job types.
#include <scylla/client.h>

#include <charconv>

#include "values.h"

namespace scylla {

using namespace detail;

namespace {

// An int8multirange: {[1,4),[7,9)}.
id_ranges to_ids(std::string_view text) {
    id_ranges ids;
    std::vector<std::int64_t> numbers;
    for (std::size_t at = 0; (at = text.find_first_of("-0123456789", at)) != std::string_view::npos;) {
        std::int64_t number = 0;
        const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), number);
        at = static_cast<std::size_t>(parsed.ptr - text.data());
        numbers.push_back(number);
    }
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
        ids.emplace_back(numbers[i], numbers[i + 1]);
    return ids;
}

params request(const job_name &job, const std::optional<id_ranges> &ids, const json &args, const json &options) {
    return {text(job, "job"), ids_param(ids), checked(args.text(), "args"), checked(options.text(), "options")};
}

} // namespace

void client::define_job(const job_name &job, const queue_name &queue, const json &settings, const json &needs) {
    m_executor->run(sql::define_job, {text(job, "job"), text(queue, "queue"), checked(settings.text(), "settings"),
                                      checked(needs.text(), "needs")});
}

void client::drop_job(const job_name &job) { m_executor->run(sql::drop_job, {text(job, "job")}); }

void client::grant_job(const job_name &job, const std::string &role) {
    m_executor->run(sql::grant_job, {text(job, "job"), checked(role, "role")});
}
void client::revoke_job(const job_name &job, const std::string &role) {
    m_executor->run(sql::revoke_job, {text(job, "job"), checked(role, "role")});
}

plan_name client::run_job(const job_name &job, const std::optional<id_ranges> &ids, const json &args,
                          const json &options) {
    return plan_name{text_of(m_executor->run(sql::run_job, request(job, ids, args, options))[0][0])};
}

std::vector<job_step> client::explain_job(const job_name &job, const std::optional<id_ranges> &ids, const json &args,
                                          const json &options) {
    std::vector<job_step> steps;
    for_each_row(m_executor->run(sql::explain_job, request(job, ids, args, options)), [&](const auto &row) {
        steps.push_back({job_name{text_of(row[0])}, to_ids(text_of(row[1])), json{text_of(row[2])},
                         json{text_of(row[3])}, std::string{text_of(row[4])}, text_of(row[5]) == "t"});
    });
    return steps;
}

void client::mark_fresh(const job_name &job, const id_ranges &ids, std::optional<time_point> finished,
                        const std::string &variant) {
    m_executor->run(sql::mark_fresh, {text(job, "job"), text_of_ids(ids), text(finished),
                                      variant.empty() ? param{} : param{checked(variant, "variant")}});
}

std::int64_t client::forget_freshness(const job_name &job, const std::optional<id_ranges> &ids,
                                      const std::optional<std::string> &variant) {
    return to_count(
        m_executor->run(sql::forget_freshness, {text(job, "job"), ids_param(ids), text(variant, "variant")}));
}

std::string client::job_dot(const job_name &job) {
    return std::string{text_of(m_executor->run(sql::job_dot, {text(job, "job")})[0][0])};
}

std::string client::job_mermaid(const job_name &job) {
    return std::string{text_of(m_executor->run(sql::job_mermaid, {text(job, "job")})[0][0])};
}

} // namespace scylla
