#include "model/sel/interpolate.h"

#include <algorithm>

#include "model/sel/json.h"
#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

bool in_name(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_'; }
bool in_braces(char c) noexcept { return in_name(c) || c == '-' || c == '.' || c == '/'; }

std::size_t size_of_name(std::string_view text, bool (*belongs)(char) noexcept) noexcept {
    if (text.empty() || !(is_letter(text[0]) || text[0] == '_'))
        return 0;
    std::size_t size = 1;
    while (size < text.size() && belongs(text[size]))
        size++;
    return size;
}

// What a $ stands for.
struct Reference {
    std::string_view name{}; // empty: nothing
    std::size_t size = 1;    // with the $
    bool dollar = false;     // $$
};
Reference reference_at(std::string_view text) noexcept {
    const std::string_view after = text.substr(1);
    if (after.starts_with('$'))
        return {{}, 2, true};
    if (after.starts_with('{')) {
        const std::size_t size = size_of_name(after.substr(1), in_braces);
        if (size > 0 && size + 1 < after.size() && after[size + 1] == '}')
            return {after.substr(1, size), size + 3, false};
        return {};
    }
    const std::size_t size = size_of_name(after, in_name);
    return {after.substr(0, size), size + 1, false};
}

// Calls use for each piece of plain text, and each reference with its place in the text.
template <typename Plain, typename Refer> void for_each_piece(std::string_view text, Plain plain, Refer refer) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t dollar = std::min(text.find('$', at), text.size());
        plain(text.substr(at, dollar - at));
        if (dollar == text.size())
            return;
        const Reference reference = reference_at(text.substr(dollar));
        if (reference.name.empty())
            plain("$");
        else
            refer(reference.name, dollar);
        at = dollar + reference.size;
    }
}

Position place_at(std::string_view text, std::size_t at) noexcept {
    const std::string_view before = text.substr(0, at);
    const std::size_t newline = before.rfind('\n');
    return {
        static_cast<std::int32_t>(std::count(before.begin(), before.end(), '\n') + 1),
        static_cast<std::int32_t>(count_chars(before.substr(newline == std::string_view::npos ? 0 : newline + 1)) + 1)};
}

} // namespace

std::string interpolate(Context &context, std::string_view text) {
    const std::int64_t most = context.limits.output;
    std::string made;
    std::size_t last = 0; // position of the last reference
    const auto check = [&](std::int64_t size) {
        if (size > most)
            fail(FaultKind::limit, "the result is longer than " + std::to_string(most) + " characters");
    };
    const auto add = [&](std::string_view piece) {
        context.work_on(piece.size());
        made += piece;
        check(static_cast<std::int64_t>(made.size()) / 4); // no character has more bytes
    };
    try {
        for_each_piece(text, add, [&](std::string_view name, std::size_t at) {
            last = at;
            const auto value = context.params.find(name, context);
            if (!value)
                fail(FaultKind::unknown, no_parameter(name));
            add(write_text(context, *value));
        });
        check(static_cast<std::int64_t>(made.size()) > most ? count_chars(made) : 0);
    } catch (Failure &failure) {
        if (failure.fault.place.line == 0)
            failure.fault.place = place_at(text, last);
        throw;
    }
    return made;
}

std::vector<std::string> references_in(std::string_view text) {
    std::vector<std::string> names;
    for_each_piece(
        text, [](std::string_view /*plain*/) {},
        [&names](std::string_view name, std::size_t /*at*/) {
            if (std::find(names.begin(), names.end(), name) == names.end())
                names.emplace_back(name);
        });
    return names;
}

} // namespace scylla::model::sel
