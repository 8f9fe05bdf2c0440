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

namespace {

// ---- settings ------------------------------------------------------------------------------------------------------

param given(const std::optional<duration> &value, const char * /*name*/) { return text(value); }
param given(const std::optional<int> &value, const char * /*name*/) { return text(value); }
param given(const std::optional<json> &value, const char *name) { return text(value, name); }
param given(const std::optional<std::string> &value, const char *name) { return text(value, name); }
param given(const std::optional<retry_policy> &value, const char * /*name*/) {
    return value ? param{to_json(*value)} : std::nullopt;
}
param given(double value, const char * /*name*/) { return from_double(value); }
param given(bool value, const char * /*name*/) { return value ? "t" : "f"; }

// A value as the server shows it; none: null.
using shown = std::optional<std::string_view>;
void take(std::optional<duration> &into, shown value) {
    into = value ? std::optional{duration{to_int64(*value)}} : std::nullopt;
}
void take(std::optional<int> &into, shown value) { into = value ? std::optional{to_int(*value)} : std::nullopt; }
void take(std::optional<json> &into, shown value) { into = value ? std::optional{json{*value}} : std::nullopt; }
void take(std::optional<std::string> &into, shown value) {
    into = value ? std::optional{std::string{*value}} : std::nullopt;
}
void take(double &into, shown value) { into = to_double(*value); }
void take(bool &into, shown value) { into = value == "t"; }

struct queue_setting {
    const char *name;
    const char *type; // in SQL
    param (*give)(const queue_options &options, const char *name);
    void (*take)(queue_info &info, shown value);
};

template <auto option, auto info> constexpr queue_setting entry(const char *name, const char *type) {
    return {name, type,
            [](const queue_options &options, const char *argument) { return given(options.*option, argument); },
            [](queue_info &queue, shown value) { take(queue.*info, value); }};
}

// All of them, in the order of the arguments of scylla.create_queue().
constexpr queue_setting k_settings[] = {
    entry<&queue_options::default_timeout, &queue_info::default_timeout>("default_timeout", "interval"),
    entry<&queue_options::retention, &queue_info::retention>("retention", "interval"),
    entry<&queue_options::aging, &queue_info::aging>("aging", "float8"),
    entry<&queue_options::max_attempts, &queue_info::max_attempts>("max_attempts", "int"),
    entry<&queue_options::retry, &queue_info::retry>("retry", "jsonb"),
    entry<&queue_options::retention_completed, &queue_info::retention_completed>("retention_completed", "interval"),
    entry<&queue_options::retention_aborted, &queue_info::retention_aborted>("retention_aborted", "interval"),
    entry<&queue_options::retention_cancelled, &queue_info::retention_cancelled>("retention_cancelled", "interval"),
    entry<&queue_options::paused, &queue_info::paused>("paused", "boolean"),
    entry<&queue_options::max_running, &queue_info::max_running>("max_running", "int"),
    entry<&queue_options::events, &queue_info::events>("events", "boolean"),
    entry<&queue_options::notify, &queue_info::notify>("notify", "boolean"),
    entry<&queue_options::max_running_per_key, &queue_info::max_running_per_key>("max_running_per_key", "int"),
    entry<&queue_options::max_depth, &queue_info::max_depth>("max_depth", "int"),
    {"on_full", "text",
     [](const queue_options &options, const char *) { return param{options.shed ? "shed" : "error"}; },
     [](queue_info &queue, shown value) { queue.shed = value == "shed"; }},
    entry<&queue_options::key_weights, &queue_info::key_weights>("key_weights", "jsonb"),
    entry<&queue_options::rate, &queue_info::rate>("rate", "jsonb"),
    entry<&queue_options::rate_per_key, &queue_info::rate_per_key>("rate_per_key", "jsonb"),
    entry<&queue_options::handler, &queue_info::handler>("handler", "text"),
    entry<&queue_options::run_timeout, &queue_info::run_timeout>("run_timeout", "interval"),
};

std::string text_to_create() {
    std::string text{"select scylla.create_queue($1"};
    int place = 1;
    for (const queue_setting &each : k_settings)
        text += std::string{", "} + each.name + " => $" + std::to_string(++place) + "::" + each.type;
    return text + ')';
}

// Times are read as microseconds, so that neither DateStyle nor TimeZone matters.
std::string microseconds(const std::string &column) { return "(extract(epoch from " + column + ") * 1000000)::bigint"; }

std::string text_to_read() {
    std::string text{"select queue, " + microseconds("created")};
    for (const queue_setting &each : k_settings)
        text += ", " + (each.type == std::string_view{"interval"} ? microseconds(each.name) : std::string{each.name});
    return text + ", array_to_string(pending, ',') from scylla.queue_settings order by queue";
}

} // namespace

namespace detail::sql {

const statement &create_queue() {
    static const std::string text = text_to_create();
    static const statement made{"scylla_create_queue", text.c_str()};
    return made;
}

const statement &queue_settings() {
    static const std::string text = text_to_read();
    static const statement made{"scylla_queue_settings", text.c_str()};
    return made;
}

} // namespace detail::sql

void client::create_queue(const queue_name &queue, const queue_options &options) {
    params values{text(queue, "queue")};
    for (const queue_setting &each : k_settings)
        values.push_back(each.give(options, each.name));
    m_executor->run(sql::create_queue(), values);
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
    const pqxx::result rows = m_executor->run(sql::queue_settings(), {});
    for_each_row(rows, [&](const auto &row) {
        queue_info q;
        q.queue = text_of(row[0]);
        q.created = to_time_point(text_of(row[1]));
        int column = 2;
        for (const queue_setting &each : k_settings) {
            const auto field = row[column++];
            each.take(q, field.is_null() ? std::nullopt : shown{text_of(field)});
        }
        if (!row[column].is_null())
            q.pending = words_of(text_of(row[column]));
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

void client::grant_role(const std::string &kind, const std::string &role) {
    m_executor->run(sql::grant_role, {checked(kind, "kind"), checked(role, "role")});
}
void client::revoke_role(const std::string &kind, const std::string &role) {
    m_executor->run(sql::revoke_role, {checked(kind, "kind"), checked(role, "role")});
}

std::vector<role_kind_grant> client::role_kinds() {
    std::vector<role_kind_grant> grants;
    const pqxx::result rows = m_executor->run(sql::role_kinds, {});
    for_each_row(rows, [&](const auto &row) {
        grants.push_back({row[0].is_null() ? std::nullopt : std::optional{std::string{text_of(row[0])}},
                          std::string{text_of(row[1])}, std::string{text_of(row[2])}});
    });
    return grants;
}

} // namespace scylla
