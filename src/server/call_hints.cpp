#include "server/call_hints.h"

#include "model/duration.h"
#include "pg/prelude.h"

namespace scylla {

namespace {

constinit emit_log_hook_type previous_hook = nullptr;

// The functions that have an argument of type jsonb.
constexpr std::array<std::string_view, 17> k_with_json{
    "submit",      "submit_many", "complete",         "abort",           "fail",        "create_queue",
    "alter_queue", "schedule",    "schedule_plan",    "schedule_job",    "create_plan", "define_job",
    "run_job",     "explain_job", "resolve_callback", "reject_callback", "send_signal"};

// The message is translated, but not the names in it: function scylla.submit(text, text) does not exist.
bool is_call_with_text(std::string_view message) {
    constexpr std::string_view k_schema = "scylla.";
    const std::size_t schema = message.find(k_schema);
    const std::size_t open = message.find('(');
    const std::size_t close = message.rfind(')');
    if (schema == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos ||
        schema > open || close < open)
        return false;
    const std::string_view name = message.substr(schema + k_schema.size(), open - schema - k_schema.size());
    const std::string_view types = message.substr(open, close - open);
    return std::find(k_with_json.begin(), k_with_json.end(), name) != k_with_json.end() &&
           (types.find("text") != std::string_view::npos || types.find("character varying") != std::string_view::npos);
}

// What stands in quotes at the end: invalid input syntax for type timestamp with time zone: "5 minutes".
bool is_about_duration(std::string_view message) {
    const std::size_t close = message.rfind('"');
    const std::size_t open = close == 0 || close == std::string_view::npos ? close : message.rfind('"', close - 1);
    if (open == std::string_view::npos)
        return false;
    return model::read_duration(message.substr(open + 1, close - open - 1)).has_value();
}

bool is_our_statement() {
    return debug_query_string != nullptr &&
           std::string_view(debug_query_string).find("scylla.") != std::string_view::npos;
}

const char *hint_for(const ErrorData &error) {
    if (error.elevel != ERROR || error.message == nullptr)
        return nullptr;
    if (error.sqlerrcode == ERRCODE_UNDEFINED_FUNCTION && is_call_with_text(error.message))
        return "Arguments that are JSON have the type jsonb: add a cast to a text that is JSON, as in $1::jsonb, and "
               "make "
               "JSON of any other with to_jsonb().";
    if (error.sqlerrcode == ERRCODE_INVALID_DATETIME_FORMAT && is_our_statement() && is_about_duration(error.message))
        return "A time is expected. The time after a delay is now() + interval '5 minutes', for example.";
    return nullptr;
}

// Called before the error goes to the log and to the client.
extern "C" void add_call_hint(ErrorData *error) {
    if (const char *hint = hint_for(*error))
        error->hint = MemoryContextStrdup(error->assoc_context, hint);
    if (previous_hook != nullptr)
        previous_hook(error);
}

} // namespace

void install_call_hints() {
    previous_hook = emit_log_hook;
    emit_log_hook = add_call_hint;
}

} // namespace scylla
