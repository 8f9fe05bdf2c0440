// Pools.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

std::string_view to_string(pool_policy policy) noexcept {
    switch (policy) {
    case pool_policy::strict:
        return "strict";
    case pool_policy::greedy:
        return "greedy";
    case pool_policy::backfill:
        break;
    }
    return "backfill";
}

std::string_view to_string(pool_privilege privilege) noexcept {
    switch (privilege) {
    case pool_privilege::use:
        return "use";
    case pool_privilege::report:
        return "report";
    case pool_privilege::admin:
        break;
    }
    return "admin";
}

namespace {

pool_policy to_policy(std::string_view text) {
    for (const pool_policy policy : {pool_policy::strict, pool_policy::greedy})
        if (text == to_string(policy))
            return policy;
    return pool_policy::backfill;
}

template <class Field> std::optional<json> to_json_or_none(const Field &field) {
    return field.is_null() ? std::nullopt : std::optional{json{text_of(field)}};
}

} // namespace

void client::create_pool(const pool_name &pool, const json &capacity, pool_policy policy, const json &settings) {
    m_executor->run(sql::create_pool, {text(pool, "pool"), checked(capacity.text(), "capacity"),
                                       std::string{to_string(policy)}, checked(settings.text(), "settings")});
}
void client::alter_pool(const pool_name &pool, const json &changes) {
    m_executor->run(sql::alter_pool, {text(pool, "pool"), checked(changes.text(), "changes")});
}
void client::drop_pool(const pool_name &pool) { m_executor->run(sql::drop_pool, {text(pool, "pool")}); }
void client::drain_pool(const pool_name &pool) { m_executor->run(sql::drain_pool, {text(pool, "pool")}); }
void client::resume_pool(const pool_name &pool) { m_executor->run(sql::resume_pool, {text(pool, "pool")}); }
void client::report_usage(const pool_name &pool, const json &used, std::optional<time_point> at) {
    m_executor->run(sql::report_usage, {text(pool, "pool"), checked(used.text(), "used"), text(at)});
}
void client::grant_pool(const pool_name &pool, const std::string &role, pool_privilege privilege) {
    m_executor->run(sql::grant_pool, {text(pool, "pool"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::revoke_pool(const pool_name &pool, const std::string &role, pool_privilege privilege) {
    m_executor->run(sql::revoke_pool, {text(pool, "pool"), checked(role, "role"), std::string{to_string(privilege)}});
}

std::vector<placed_task> client::place(const std::optional<pool_name> &pool) {
    std::vector<placed_task> placed;
    for_each_row(m_executor->run(sql::place, {text(pool, "pool")}), [&](const auto &row) {
        placed.push_back({resource_name{text_of(row[0])},
                          row[1].is_null() ? std::nullopt : std::optional{pool_name{text_of(row[1])}}});
    });
    return placed;
}

std::vector<pool_waiter> client::list_pool_queue(const std::optional<pool_name> &pool, int max_tasks) {
    std::vector<pool_waiter> waiting;
    for_each_row(m_executor->run(sql::list_pool_queue, {text(pool, "pool"), std::to_string(max_tasks)}),
                 [&](const auto &row) {
                     pool_waiter task;
                     task.pool = pool_name{text_of(row[0])};
                     task.rn = resource_name{text_of(row[1])};
                     task.queue = queue_name{text_of(row[2])};
                     task.priority = to_int(text_of(row[3]));
                     task.created = to_time_point(text_of(row[4]));
                     task.since = to_time(row[5]);
                     task.needs = json{text_of(row[6])};
                     if (!row[7].is_null())
                         task.reason = text_of(row[7]);
                     task.planned = to_time(row[8]);
                     waiting.push_back(std::move(task));
                 });
    return waiting;
}

std::vector<pool_info> client::pools() {
    std::vector<pool_info> found;
    for_each_row(m_executor->run(sql::pools, {}), [&](const auto &row) {
        pool_info pool;
        pool.name = text_of(row[0]);
        pool.policy = to_policy(text_of(row[1]));
        pool.capacity = json{text_of(row[2])};
        pool.reserved = to_json_or_none(row[3]);
        pool.reported = to_json_or_none(row[4]);
        pool.reported_at = to_time(row[5]);
        pool.free = to_json_or_none(row[6]);
        pool.drained = text_of(row[7]) == "t";
        pool.stale = text_of(row[8]) == "t";
        pool.waiting = to_int64(text_of(row[9]));
        pool.placed = to_int64(text_of(row[10]));
        pool.owner = text_of(row[11]);
        found.push_back(std::move(pool));
    });
    return found;
}

} // namespace scylla
