#include "model/workflow/names.h"

#include <algorithm>

#include "model/sel/utf8.h"

namespace scylla::model::workflow {

namespace {

using sel::is_digit;

bool begins_id(char c) noexcept { return sel::is_letter(c) || c == '_'; }
bool in_id(char c) noexcept { return begins_id(c) || is_digit(c) || c == '.' || c == '-'; }
bool in_name(char c) noexcept {
    constexpr std::string_view k_others = " .,:@&='(){}$+[]-/\\";
    return begins_id(c) || is_digit(c) || k_others.find(c) != std::string_view::npos;
}

bool begins_with_maestro(std::string_view id) noexcept {
    constexpr std::string_view k_prefix = "maestro_";
    return id.size() >= k_prefix.size() && std::equal(k_prefix.begin(), k_prefix.end(), id.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
           });
}

bool is_reserved(std::string_view param) noexcept {
    constexpr std::string_view k_reserved[] = {"maestro",
                                               "Maestro",
                                               "MAESTRO",
                                               "scheduler",
                                               "Scheduler",
                                               "SCHEDULER",
                                               "util",
                                               "Util",
                                               "UTIL",
                                               "params",
                                               "Params",
                                               "PARAMS",
                                               "AUTH_BLOB",
                                               "AUTH_DATA",
                                               "AUTH_ACTING_ON_BEHALF_OF_BLOB",
                                               "AUTH_TRIGGERING_ON_BEHALF_OF_BLOB",
                                               "AUTHORIZED_MANAGERS"};
    return std::find(std::begin(k_reserved), std::end(k_reserved), param) != std::end(k_reserved);
}

} // namespace

void check_id(const Reader &reader, std::string_view id, const Where &where, Named named) {
    const bool may_begin_with_digit = named == Named::workflow || named == Named::job_template;
    if (const auto size = static_cast<std::int64_t>(id.size()); size > reader.limits().of_texts.id)
        return reader.problem(where, too_many(size, "characters", reader.limits().of_texts.id));
    if (id.empty() || !(begins_id(id[0]) || (may_begin_with_digit && is_digit(id[0]))) ||
        !std::all_of(id.begin(), id.end(), in_id))
        return reader.problem(
            where, quoted(id) + " must consist of letters, digits, \".\", \"-\" and \"_\", and begin with a letter" +
                       (may_begin_with_digit ? ", a digit" : "") + " or \"_\"");
    if (begins_with_maestro(id))
        reader.problem(where, quoted(id) + " begins with \"maestro_\", which is reserved");
    if (named == Named::workflow && id.ends_with("_maestro"))
        reader.problem(where, quoted(id) + " ends with \"_maestro\", which is reserved");
    if (named == Named::step && id.find("__") != std::string_view::npos)
        reader.problem(where, quoted(id) + " contains \"__\", which stands between a step and its parameter");
    if (named == Named::param && is_reserved(id))
        reader.problem(where, quoted(id) + " is reserved");
}

std::string_view require_id(const Reader &reader, const Object &of, Named named) {
    const auto id = reader.require_text(of, "id");
    if (id)
        check_id(reader, *id, of.where.member("id"), named);
    return id.value_or(std::string_view{});
}

void check_words(const Reader &reader, const Object &of) {
    const auto name = reader.text(of, "name", reader.limits().of_texts.name);
    if (name && (name->empty() || !std::all_of(name->begin(), name->end(), in_name)))
        reader.problem(of.where.member("name"),
                       quoted(*name) + R"( must consist of letters, digits, blanks and _.,:@&='(){}$+[]-/\)");
    reader.text(of, "description");
}

} // namespace scylla::model::workflow
