#include "text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace scylla {

namespace {

constexpr std::array<std::string_view, 6> k_status{"waiting", "ready", "running", "completed", "aborted", "cancelled"};

[[noreturn]] void bad_argument(std::string message) {
    error_info info;
    info.message = std::move(message);
    throw invalid_argument{std::move(info)};
}

std::string full_text(const error_info &info) {
    std::string text = info.message;
    if (!info.detail.empty())
        text += "\nDetail: " + info.detail;
    if (!info.hint.empty())
        text += "\nHint: " + info.hint;
    return text;
}

} // namespace

error::error(error_info info) : std::runtime_error{full_text(info)}, m_info{std::move(info)} {}

std::string_view to_string(task_status status) noexcept { return k_status[static_cast<std::size_t>(status)]; }

task_status to_task_status(std::string_view name) {
    for (std::size_t i = 0; i < k_status.size(); i++)
        if (k_status[i] == name)
            return static_cast<task_status>(i);
    bad_argument("there is no task status \"" + std::string{name} + "\"");
}

json json::string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
            out += escape.data();
        } else {
            out += c;
        }
    }
    return json{out + '"'};
}

namespace detail {

std::string checked(const std::string &value, std::string_view argument) {
    if (value.find('\0') != std::string::npos)
        bad_argument("invalid value for argument \"" + std::string{argument} + "\": it has a zero byte");
    return value;
}

namespace {

// How many bytes the UTF-8 character at the start of the text has; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80)
        return first == 0 ? 0 : 1;
    const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    if (length == 0 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; i++)
        if (byte(i) < 0x80 || byte(i) > 0xbf)
            return 0;
    const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
    return overlong || beyond ? 0 : length;
}

} // namespace

std::string printable(std::string_view text, std::size_t room) {
    constexpr std::size_t room_for_note = 50;
    std::string result;
    std::size_t size = 0; // of its JSON
    std::size_t characters = 0;
    std::size_t kept = 0; // bytes of the result that leave room for the note
    for (; !text.empty(); characters++) {
        const std::size_t length = utf8_length(text);
        const std::string_view next = length == 0 ? "?" : text.substr(0, length);
        const auto first = static_cast<unsigned char>(next[0]);
        if (size <= room)
            result += next;
        size += first < 0x20 ? 6 : first == '"' || first == '\\' ? 2 : next.size();
        if (size + room_for_note <= room)
            kept = result.size();
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    if (size <= room)
        return result;
    result.resize(kept);
    return result + "… (cut: " + std::to_string(characters) + " characters)";
}

std::string interval(duration value) { return std::to_string(value.count()) + " microseconds"; }

std::string timestamp(time_point value) { return std::to_string(value.time_since_epoch().count()); }

namespace {

template <class T> T parse(std::string_view text) {
    T value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) {
        error_info info;
        info.message = "the server sent \"" + std::string{text} + "\" where a number was expected";
        throw error{std::move(info)};
    }
    return value;
}

} // namespace

int to_int(std::string_view text) { return parse<int>(text); }
std::int64_t to_int64(std::string_view text) { return parse<std::int64_t>(text); }
double to_double(std::string_view text) { return parse<double>(text); }

time_point to_time_point(std::string_view microseconds) { return time_point{duration{to_int64(microseconds)}}; }

// In the server's format, independent of the locale of this program.
std::string from_double(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value < 0 ? "-Infinity" : "Infinity";
    std::array<char, 64> text{};
    auto *const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

std::string json_number(double value) { return std::isfinite(value) ? from_double(value) : "null"; }

void array_literal::add(std::string_view value) {
    std::string &text = next();
    text += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\')
            text += '\\';
        text += c;
    }
    text += '"';
}

std::string json_array(const std::vector<resource_name> &names) {
    std::string text = "[";
    for (const resource_name &name : names) {
        if (text.size() > 1)
            text += ',';
        text += json::string(name.str()).text();
    }
    return text + ']';
}

namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

} // namespace

error_info parse_error(std::string_view text, std::string_view sqlstate) {
    error_info info;
    info.sqlstate = sqlstate;
    std::string *field = &info.message;
    std::string other; // a field that is not used
    bool first = true;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);

        std::string *start = nullptr;
        std::size_t label = 0;
        const auto begins = [&](std::string_view with, std::string &where) {
            if (start == nullptr && starts_with(line, with)) {
                start = &where;
                label = with.size();
            }
        };
        begins("DETAIL:  ", info.detail);
        begins("HINT:  ", info.hint);
        begins("CONSTRAINT NAME:  ", info.rule);
        for (const std::string_view ignored : {"QUERY:  ", "CONTEXT:  ", "LINE ", "SCHEMA NAME:  ", "TABLE NAME:  ",
                                               "COLUMN NAME:  ", "DATATYPE NAME:  ", "LOCATION:  "})
            begins(ignored, other);
        if (start != nullptr) {
            field = start;
            field->clear();
            line.remove_prefix(label);
        } else if (first) {
            // libpqxx from 7 on begins with the prepared statement's name.
            if (const std::size_t quote = line.find("': ");
                starts_with(line, "Failure during '") && quote != std::string_view::npos)
                line.remove_prefix(quote + 3);
            // "ERROR:  " or its translation, and the SQLSTATE
            const std::size_t severity = line.substr(0, 20).find(":  ");
            if (severity != std::string_view::npos)
                line.remove_prefix(severity + 3);
            if (!sqlstate.empty() && starts_with(line, sqlstate) && starts_with(line.substr(sqlstate.size()), ": "))
                line.remove_prefix(sqlstate.size() + 2);
        } else {
            *field += '\n';
        }
        *field += line;
        first = false;
    }
    while (!info.message.empty() && (info.message.back() == '\n' || info.message.back() == ' '))
        info.message.pop_back();
    return info;
}

// libpq has no SQLSTATE of a connection that was refused. A server may say this in another language.
void name_missing_database(error_info &info) {
    const std::size_t found = info.message.find("database \"");
    if (info.sqlstate.empty() && found != std::string::npos &&
        info.message.find("\" does not exist", found) != std::string::npos)
        info.sqlstate = "3D000";
}

void throw_error(error_info info) {
    const std::string &state = info.sqlstate;
    const auto is = [&](std::string_view code) { return state == code; };
    const auto in_class = [&](std::string_view code) { return starts_with(state, code); };
    const bool lacks_extension = is("42883") || is("3F000") || is("42P01");
    if (lacks_extension && info.hint.empty())
        info.hint = "Run CREATE EXTENSION scylla in this database, or ALTER EXTENSION scylla UPDATE.";
    if (is("3D000") && info.hint.empty())
        info.hint = "Create the database, or name another one in the connection string.";
    if (state.empty() || in_class("08") || in_class("57P"))
        throw connection_lost{std::move(info)};
    if (is("55000")) {
        if (info.rule == "held")
            throw lease_lost{std::move(info)};
        throw wrong_state{std::move(info)};
    }
    if (is("2BP01"))
        throw wrong_state{std::move(info)};
    if (is("P0002") || is("42704") || is("3D000"))
        throw not_found{std::move(info)};
    if (is("23505") || is("42710"))
        throw duplicate{std::move(info)};
    if (in_class("22"))
        throw invalid_argument{std::move(info)};
    if (is("0A000") || lacks_extension)
        throw not_supported{std::move(info)};
    if (is("42501"))
        throw denied{std::move(info)};
    if (is("25006"))
        throw read_only{std::move(info)};
    if (in_class("40") || is("55P03"))
        throw conflict{std::move(info)};
    if (is("57014"))
        throw timed_out{std::move(info)};
    throw error{std::move(info)};
}

} // namespace detail
} // namespace scylla
