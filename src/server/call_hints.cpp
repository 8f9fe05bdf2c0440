#include "server/call_hints.h"

#include "model/duration.h"
#include "model/role_kinds.h"
#include "pg/prelude.h"

namespace scylla {

namespace {

constinit emit_log_hook_type previous_hook = nullptr;

constexpr std::string_view k_prefix = "scylla.";

// The functions that have an argument of type jsonb.
constexpr std::array<std::string_view, 17> k_with_json{
    "submit",      "submit_many", "complete",         "abort",           "fail",        "create_queue",
    "alter_queue", "schedule",    "schedule_plan",    "schedule_job",    "create_plan", "define_job",
    "run_job",     "explain_job", "resolve_callback", "reject_callback", "send_signal"};

// The message is translated, but not the names in it: function scylla.submit(text, text) does not exist.
bool is_call_with_text(std::string_view message) {
    const std::size_t schema = message.find(k_prefix);
    const std::size_t open = message.find('(');
    const std::size_t close = message.rfind(')');
    if (schema == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos ||
        schema > open || close < open)
        return false;
    const std::string_view name = message.substr(schema + k_prefix.size(), open - schema - k_prefix.size());
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

bool mentions(const char *text, std::string_view what) {
    return text != nullptr && std::string_view(text).find(what) != std::string_view::npos;
}

bool is_our_statement() { return mentions(debug_query_string, k_prefix); }

// ---- rights --------------------------------------------------------------------------------------------------------

using model::Grantable;

constexpr bool is_part_of_name(char c) { return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9'); }

// The name that ends there, and where it begins.
std::string_view name_before(std::string_view text, std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && is_part_of_name(text[begin - 1]))
        begin--;
    return text.substr(begin, end - begin);
}

bool contains_name(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
        if (name_before(text, at).empty() &&
            (at + name.size() == text.size() || !is_part_of_name(text[at + name.size()])))
            return true;
    return false;
}

// The message may be translated, but not the name in it. In most languages it is the last word.
const Grantable *find_named(std::span<const Grantable> among, std::string_view message) {
    for (std::size_t end = message.size(); end > 0;) {
        const std::string_view name = name_before(message, end);
        if (const Grantable *found = find(among, name))
            return found;
        end -= Max(name.size(), std::size_t{1});
    }
    return nullptr;
}

// The first function or view of ours that a statement names with its schema.
const Grantable *find_used(std::string_view statement) {
    for (std::size_t at = statement.find(k_prefix); at != std::string_view::npos;
         at = statement.find(k_prefix, at + k_prefix.size())) {
        const std::size_t begin = at + k_prefix.size();
        std::size_t end = begin;
        while (end < statement.size() && is_part_of_name(statement[end]))
            end++;
        const std::string_view name = statement.substr(begin, end - begin);
        if (const Grantable *found = find(model::k_grantable_functions, name))
            return found;
        if (const Grantable *found = find(model::k_grantable_views, name))
            return found;
    }
    return nullptr;
}

// What the role was refused. The catalog cannot be asked any more: the transaction is about to end.
const Grantable *find_refused(const ErrorData &error) {
    const std::string_view kind = error.message_id == nullptr ? "" : error.message_id;
    if (kind == "permission denied for function %s" || kind == "permission denied for procedure %s")
        return find_named(model::k_grantable_functions, error.message);
    if (kind == "permission denied for view %s")
        return find_named(model::k_grantable_views, error.message);
    if (kind == "permission denied for schema %s" && debug_query_string != nullptr)
        return find_used(debug_query_string);
    return nullptr;
}

// Another schema may have functions with the same names. What a function in SQL calls is not known here.
bool may_be_ours(const ErrorData &error) {
    return is_our_statement() || mentions(error.internalquery, k_prefix) || mentions(error.context, k_prefix) ||
           mentions(error.context, "SQL function") || mentions(namespace_search_path, "scylla");
}

// Null if it may be another one, which would have to be looked up: in a function, and where a call does something for
// another role.
const char *current_role(std::string_view refused) {
    if (GetUserId() != GetOuterUserId() || debug_query_string == nullptr || !contains_name(debug_query_string, refused))
        return nullptr;
    const char *role = GetConfigOption("role", true, false);
    return role != nullptr && strcmp(role, "none") != 0 ? role : GetConfigOption("session_authorization", true, false);
}

const char *hint_of_kinds(const Grantable &refused) {
    if (refused.kinds == 0)
        return "It belongs to no kind of role: it is for the owner of the extension and superusers.";
    StringInfoData hint;
    initStringInfo(&hint);
    bool is_first = true;
    for (std::size_t i = 0; i < model::k_role_kinds.size(); i++) {
        const char *kind = model::k_role_kinds[i].data();
        if (!has(refused.kinds, static_cast<model::RoleKind>(i)))
            continue;
        if (!is_first) {
            appendStringInfo(&hint, "%s %s", hint.data[hint.len - 1] == '.' ? " Other kinds with it:" : ",", kind);
            continue;
        }
        is_first = false;
        const char *role = current_role(refused.name);
        if (role != nullptr)
            appendStringInfo(&hint, "\"SELECT scylla.grant_role('%s', %s)\" gives role \"%s\" this right.", kind,
                             quote_literal_cstr(role), role);
        else
            appendStringInfo(&hint, "scylla.grant_role('%s', …) gives a role this right.", kind);
    }
    if (hint.data[hint.len - 1] != '.')
        appendStringInfoChar(&hint, '.');
    return hint.data;
}

const char *hint_for(const ErrorData &error) {
    if (error.elevel != ERROR || error.message == nullptr)
        return nullptr;
    if (error.sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE && error.hint == nullptr) {
        const Grantable *refused = find_refused(error);
        return refused != nullptr && may_be_ours(error) ? hint_of_kinds(*refused) : nullptr;
    }
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
