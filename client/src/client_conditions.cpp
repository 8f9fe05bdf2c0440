// Callbacks, signals and triggers.
#include <scylla/client.h>

#include "values.h"

namespace scylla {

using namespace detail;

std::string client::create_callback(const std::optional<std::string> &token, std::optional<duration> expires) {
    const pqxx::result rows = m_executor->run(sql::create_callback, {text(token, "token"), text(expires)});
    return std::string{text_of(rows[0][0])};
}
bool client::resolve_callback(const std::string &token, const std::optional<json> &value) {
    return text_of(m_executor->run(sql::resolve_callback, {checked(token, "token"), text(value, "value")})[0][0]) ==
           "t";
}
bool client::reject_callback(const std::string &token, const task_error &error) {
    return text_of(m_executor->run(sql::reject_callback, {checked(token, "token"), checked(error.code, "error"),
                                                          checked(error.message, "error"),
                                                          checked(error.args.text(), "error")})[0][0]) == "t";
}

std::int64_t client::send_signal(const std::string &name, const json &params, const std::optional<json> &payload,
                                 const std::optional<std::string> &request_id) {
    return to_count(m_executor->run(sql::send_signal, {checked(name, "name"), checked(params.text(), "params"),
                                                       text(payload, "payload"), text(request_id, "request_id")}));
}

std::string_view to_string(signal_privilege privilege) noexcept {
    switch (privilege) {
    case signal_privilege::send:
        return "send";
    case signal_privilege::wait:
        return "wait";
    case signal_privilege::admin:
        break;
    }
    return "admin";
}

void client::grant_signal(const std::string &name, const std::string &role, signal_privilege privilege) {
    m_executor->run(sql::grant_signal,
                    {checked(name, "name"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::revoke_signal(const std::string &name, const std::string &role, signal_privilege privilege) {
    m_executor->run(sql::revoke_signal,
                    {checked(name, "name"), checked(role, "role"), std::string{to_string(privilege)}});
}
void client::set_signal_owner(const std::string &name, const std::string &owner) {
    m_executor->run(sql::set_signal_owner, {checked(name, "name"), checked(owner, "owner")});
}

void client::create_trigger(const std::string &name, const json &signals, const json &action,
                            const std::optional<std::string> &condition, std::optional<duration> grace) {
    m_executor->run(sql::create_trigger, {checked(name, "name"), checked(signals.text(), "signals"),
                                          checked(action.text(), "action"), text(condition, "condition"), text(grace)});
}
void client::drop_trigger(const std::string &name) { m_executor->run(sql::drop_trigger, {checked(name, "name")}); }
void client::pause_trigger(const std::string &name) { m_executor->run(sql::pause_trigger, {checked(name, "name")}); }
void client::resume_trigger(const std::string &name) { m_executor->run(sql::resume_trigger, {checked(name, "name")}); }
std::int64_t client::clear_trigger(const std::string &name, std::optional<std::int64_t> seq) {
    return to_count(
        m_executor->run(sql::clear_trigger, {checked(name, "name"), seq ? param{std::to_string(*seq)} : std::nullopt}));
}

} // namespace scylla
