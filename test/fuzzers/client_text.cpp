// The client's texts: what it writes for the server, and what it reads from it.
#include "fuzz.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "text.h"

using namespace scylla;
using namespace scylla::detail;

namespace {

// An array literal as the server reads it: elements in quotes with backslashes, or NULL.
std::vector<std::optional<std::string>> read_array(const std::string &text) {
    std::vector<std::optional<std::string>> elements;
    require(text.size() >= 2 && text.front() == '{' && text.back() == '}', "an array is in braces");
    std::size_t at = 1;
    while (at < text.size() - 1) {
        if (!elements.empty())
            require(text[at++] == ',', "a comma stands between elements");
        if (text.compare(at, 4, "NULL") == 0) {
            elements.emplace_back();
            at += 4;
            continue;
        }
        require(text[at++] == '"', "an element is in quotes");
        std::string element;
        for (; text.at(at) != '"'; at++) {
            at += text[at] == '\\' ? 1 : 0;
            element += text.at(at);
        }
        at++;
        elements.emplace_back(element);
    }
    return elements;
}

void arrays(FuzzedDataProvider &input) {
    array_literal literal;
    std::vector<std::optional<std::string>> elements;
    while (input.remaining_bytes() > 0) {
        if (input.ConsumeBool()) {
            elements.emplace_back(input.ConsumeRandomLengthString(20));
            literal.add(*elements.back());
        } else {
            elements.emplace_back();
            literal.add_null();
        }
    }
    require(read_array(literal.str()) == elements, "an array comes back as it was");
}

void strings(FuzzedDataProvider &input) {
    const std::string text = input.ConsumeRemainingBytesAsString();
    const std::string shown = printable(text);
    require(shown.size() <= 64 * 1024, "what is shown has an end");
    require(printable(shown) == shown, "what is shown can be shown");
    require(shown.find('\0') == std::string::npos, "and has no zero byte");
    const std::string quoted = json::string(shown).text();
    const auto parsed = nlohmann::json::parse(quoted, nullptr, false);
    require(parsed.is_string() && parsed.get<std::string>() == shown, "a JSON string comes back as it was");
    const auto names = nlohmann::json::parse(json_array({shown, "", shown}), nullptr, false);
    require(names == nlohmann::json::array({shown, "", shown}), "an array of names comes back as it was");
}

// Long enough to be cut.
void long_strings(FuzzedDataProvider &input) {
    const std::string part = input.ConsumeRandomLengthString(7);
    std::string text = input.ConsumeRandomLengthString(7);
    if (part.empty())
        return;
    while (text.size() < 65 * 1024)
        text += part;
    const std::string shown = printable(text);
    std::size_t size = 0; // of its JSON, with the longest escapes
    for (const char c : shown)
        size += static_cast<unsigned char>(c) < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
    constexpr std::size_t room = 64 * 1024;
    constexpr std::size_t note_and_character = 50 + 6;
    require(size <= room && size > room - note_and_character,
            "what is shown has an end, and is no shorter than it must be");
}

template <class Read> void number(const std::string &text, Read read) {
    try {
        static_cast<void>(read(text));
    } catch (const error &problem) {
        require(problem.message().find("the server sent \"") == 0, "what is no number is called so");
    }
}

void numbers(FuzzedDataProvider &input) {
    const auto value = input.ConsumeFloatingPoint<double>();
    if (value == value && value - value == 0) // finite
        require(to_double(from_double(value)) == value && to_double(json_number(value)) == value,
                "a number comes back as it was");
    const auto moment = input.ConsumeIntegral<std::int64_t>();
    require(to_time_point(timestamp(time_point{duration{moment}})) == time_point{duration{moment}},
            "a time comes back as it was");
    const std::string text = input.ConsumeRemainingBytesAsString();
    number(text, to_int);
    number(text, to_int64);
    number(text, to_double);
}

void errors(FuzzedDataProvider &input) {
    const std::string state = input.ConsumeRandomLengthString(5);
    const std::string text = input.ConsumeRemainingBytesAsString();
    const error_info info = parse_error(text, state);
    require(info.sqlstate == state, "the SQLSTATE is the one that was given");
    require(info.message.size() + info.detail.size() + info.hint.size() + info.rule.size() <= text.size(),
            "nothing is made up");
    bool thrown = false;
    try {
        throw_error(info);
    } catch (const error &problem) {
        thrown = problem.message() == info.message;
    }
    require(thrown, "every error is thrown as one of ours, with its message");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    switch (input.ConsumeIntegralInRange(0, 31)) {
    case 0:
        long_strings(input);
        break; // they take long
    case 1:
        numbers(input);
        break;
    default:
        for (const auto part : {arrays, strings, errors}) {
            FuzzedDataProvider same(data, size);
            part(same);
        }
    }
    return 0;
}
