// Queues and the rights on them.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

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
queue_changes &queue_changes::key_weights(const std::optional<json> &value) {
    return set("key_weights", value ? value->text() : "null");
}
queue_changes &queue_changes::rate(const std::optional<json> &value) {
    return set("rate", value ? value->text() : "null");
}
queue_changes &queue_changes::rate_per_key(const std::optional<json> &value) {
    return set("rate_per_key", value ? value->text() : "null");
}
queue_changes &queue_changes::handler(const std::optional<std::string> &value) {
    return set("handler", value ? json::string(*value).text() : "null");
}
queue_changes &queue_changes::retry(const std::optional<retry_policy> &value) {
    return set("retry", value ? detail::to_json(*value) : "null");
}
json queue_changes::to_json() const { return m_text.empty() ? "{}" : m_text + '}'; }

void client::create_queue(const queue_name &queue, const queue_options &options) {
    m_executor->run(sql::create_queue, {text(queue, "queue"),
                                        text(options.default_timeout),
                                        text(options.retention),
                                        from_double(options.aging),
                                        text(options.max_attempts),
                                        options.retry ? param{to_json(*options.retry)} : std::nullopt,
                                        text(options.retention_completed),
                                        text(options.retention_aborted),
                                        text(options.retention_cancelled),
                                        options.paused ? "t" : "f",
                                        text(options.max_running),
                                        options.events ? "t" : "f",
                                        options.notify ? "t" : "f",
                                        text(options.max_running_per_key),
                                        text(options.max_depth),
                                        options.shed ? "shed" : "error",
                                        text(options.key_weights, "key_weights"),
                                        options.rate ? param{options.rate->text()} : std::nullopt,
                                        options.rate_per_key ? param{options.rate_per_key->text()} : std::nullopt,
                                        text(options.handler, "handler"),
                                        text(options.run_timeout)});
}

void client::alter_queue(const queue_name &queue, const queue_changes &changes) {
    m_executor->run(sql::alter_queue, {text(queue, "queue"), changes.to_json().text()});
}
void client::pause_queue(const queue_name &queue) { m_executor->run(sql::pause_queue, {text(queue, "queue")}); }
void client::resume_queue(const queue_name &queue) { m_executor->run(sql::resume_queue, {text(queue, "queue")}); }
void client::drop_queue(const queue_name &queue, bool force) {
    m_executor->run(sql::drop_queue, {text(queue, "queue"), force ? "t" : "f"});
}

namespace {

// The words of a text that are separated by commas.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t from = 0, to = 0; to != std::string_view::npos; from = to + 1) {
        to = text.find(',', from);
        words.emplace_back(text.substr(from, to - from));
    }
    return words;
}

} // namespace

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
        if (!row[17].is_null())
            q.key_weights = json{text_of(row[17])};
        if (!row[18].is_null())
            q.rate = json{text_of(row[18])};
        if (!row[19].is_null())
            q.rate_per_key = json{text_of(row[19])};
        if (!row[20].is_null())
            q.handler = text_of(row[20]);
        q.run_timeout = to_duration(row[21]);
        if (!row[22].is_null())
            q.pending = words_of(text_of(row[22]));
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
    case queue_privilege::depend:
        return "depend";
    case queue_privilege::admin:
        break;
    }
    return "admin";
}

void client::grant_queue(const queue_name &queue, const std::string &role, queue_privilege privilege) {
    m_executor->run(sql::grant_queue, {text(queue, "queue"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::revoke_queue(const queue_name &queue, const std::string &role, queue_privilege privilege) {
    m_executor->run(sql::revoke_queue,
                    {text(queue, "queue"), checked(role, "role"), std::string{to_string(privilege)}});
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

} // namespace scylla
