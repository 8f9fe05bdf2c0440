#include "server/json_hint.h"

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

// Called before the error goes to the log and to the client.
extern "C" void add_json_hint(ErrorData *error) {
    if (error->elevel == ERROR && error->sqlerrcode == ERRCODE_UNDEFINED_FUNCTION && error->message != nullptr &&
        is_call_with_text(error->message))
        error->hint =
            MemoryContextStrdup(error->assoc_context, "Arguments that are JSON have the type jsonb: add a cast "
                                                      "to a text that is JSON, as in $1::jsonb, and make JSON "
                                                      "of any other with to_jsonb().");
    if (previous_hook != nullptr)
        previous_hook(error);
}

} // namespace

void install_json_hint() {
    previous_hook = emit_log_hook;
    emit_log_hook = add_json_hint;
}

} // namespace scylla
