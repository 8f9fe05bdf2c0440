// String, and the methods of strings.
#include <algorithm>

#include "model/sel/format.h"
#include "model/sel/library.h"
#include "model/sel/regex.h"
#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

Value text_length(Context &context, const Value &self, Args /*args*/) {
    context.work_on(self.size);
    return Value::of(count_chars(self.view()));
}
Value text_is_empty(Context & /*context*/, const Value &self, Args /*args*/) { return Value::of(self.size == 0); }
Value text_itself(Context & /*context*/, const Value &self, Args /*args*/) { return self; }

Value text_substring(Context &context, const Value &self, Args args) {
    const std::string_view text = self.view();
    context.work_on(text.size());
    const std::int64_t length = count_chars(text);
    const std::int64_t from = to_long(args[0]);
    const std::int64_t to = args.size() > 1 ? to_long(args[1]) : length;
    if (from < 0 || to > length || from > to)
        fail(FaultKind::value, "there are no characters " + std::to_string(from) + " to " + std::to_string(to) +
                                   " in a string of " + std::to_string(length));
    const std::size_t begin = offset_of_char(text, from);
    return new_string(context, text.substr(begin, offset_of_char(text.substr(begin), to - from)));
}

// Where a text occurs in another one, in time proportional to their sizes: a long needle is searched for with the
// algorithm of Knuth, Morris and Pratt, because that of the standard library may compare it at every position. A
// backward search reads both from their ends.
constexpr std::size_t k_short_needle = 16;

class Finder {
public:
    Finder(Context &context, std::string_view needle, bool backwards)
        : context_{context}, needle_{needle}, backwards_{backwards} {
        if (needle.size() <= k_short_needle)
            return;
        context.work_on(needle.size() * 4);
        borders_ = context.heap.allocate<std::uint32_t>(needle.size());
        borders_[0] = 0;
        for (std::size_t at = 1; at < needle.size(); at++)
            borders_[at] = next_state(borders_[at - 1], get(needle_, at));
    }

    // The distance of the first occurrence from the side where the search begins; npos if there is none.
    std::size_t find(std::string_view text) const {
        if (borders_ == nullptr) {
            const std::size_t found = find_short(text);
            context_.work_on(found == std::string_view::npos ? text.size() : found);
            return found;
        }
        std::uint32_t state = 0;
        for (std::size_t at = 0; at < text.size(); at++) {
            if (at % 65'536 == 0)
                context_.work_on(65'536);
            state = next_state(state, get(text, at));
            if (state == needle_.size())
                return at + 1 - needle_.size();
        }
        return std::string_view::npos;
    }

private:
    char get(std::string_view text, std::size_t at) const noexcept {
        return text[backwards_ ? text.size() - 1 - at : at];
    }
    std::uint32_t next_state(std::uint32_t state, char c) const noexcept {
        while (state > 0 && (state == needle_.size() || get(needle_, state) != c))
            state = borders_[state - 1];
        return get(needle_, state) == c ? state + 1 : 0;
    }
    std::size_t find_short(std::string_view text) const noexcept {
        if (!backwards_)
            return text.find(needle_);
        const std::size_t found = text.rfind(needle_);
        return found == std::string_view::npos ? found : text.size() - found - needle_.size();
    }

    Context &context_;
    std::string_view needle_;
    bool backwards_;
    std::uint32_t *borders_ = nullptr;
};

Value text_contains(Context &context, const Value &self, Args args) {
    return Value::of(Finder(context, to_string(args[0]), false).find(self.view()) != std::string_view::npos);
}
Value text_starts_with(Context &context, const Value &self, Args args) {
    std::string_view text = self.view();
    if (args.size() > 1) {
        const std::int64_t from = to_long(args[1]);
        context.work_on(text.size());
        if (from < 0 || from > count_chars(text))
            return Value::of(false);
        text = text.substr(offset_of_char(text, from));
    }
    return Value::of(text.starts_with(to_string(args[0])));
}
Value text_ends_with(Context & /*context*/, const Value &self, Args args) {
    return Value::of(self.view().ends_with(to_string(args[0])));
}
Value place_of(std::string_view text, std::size_t found) {
    return Value::of(found == std::string_view::npos ? std::int64_t{-1} : count_chars(text.substr(0, found)));
}
Value text_index_of(Context &context, const Value &self, Args args) {
    context.work_on(self.size);
    const std::size_t from = args.size() > 1 ? offset_of_char(self.view(), to_long(args[1])) : 0;
    const std::size_t found = Finder(context, to_string(args[0]), false).find(self.view().substr(from));
    return place_of(self.view(), found == std::string_view::npos ? found : from + found);
}
// The last one that begins at that character or before.
Value text_last_index_of(Context &context, const Value &self, Args args) {
    context.work_on(self.size);
    const std::string_view needle = to_string(args[0]);
    if (args.size() > 1 && to_long(args[1]) < 0)
        return Value::of(std::int64_t{-1});
    const std::size_t from = args.size() > 1 ? offset_of_char(self.view(), to_long(args[1])) : self.size;
    const std::string_view text = self.view().substr(0, std::min<std::size_t>(self.size, from + needle.size()));
    const std::size_t found = Finder(context, needle, true).find(text);
    return place_of(text, found == std::string_view::npos ? found : text.size() - found - needle.size());
}

Value text_trim(Context &context, const Value &self, Args /*args*/) {
    std::string_view text = self.view();
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return new_string(context, text);
}

// Letters of the Latin, Greek and Cyrillic alphabets.
char32_t to_upper(char32_t c) noexcept {
    if ((c >= 'a' && c <= 'z') || (c >= 0xE0 && c <= 0xFE && c != 0xF7) || (c >= 0x3B1 && c <= 0x3C9 && c != 0x3C2) ||
        (c >= 0x430 && c <= 0x44F))
        return c - 32;
    if (c >= 0x450 && c <= 0x45F)
        return c - 80;
    if (((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) && c != 0x131 && (c & 1U) == 1)
        return c - 1;
    if (((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) && (c & 1U) == 0)
        return c - 1;
    return c;
}
char32_t to_lower(char32_t c) noexcept {
    if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) ||
        (c >= 0x410 && c <= 0x42F))
        return c + 32;
    if (c >= 0x400 && c <= 0x40F)
        return c + 80;
    if (((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) && c != 0x130 && (c & 1U) == 0)
        return c + 1;
    if (((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) && (c & 1U) == 1)
        return c + 1;
    return c;
}
template <char32_t (*change)(char32_t) noexcept> Value text_case(Context &context, const Value &self, Args /*args*/) {
    const std::string_view text = self.view();
    context.work_on(text.size() * 4);
    const Value made = make_string(context.heap, text);
    for (std::size_t at = 0; at < text.size(); at += char_size(text, at)) {
        std::string changed;
        const char32_t c = char_at(text, at);
        // Each of these letters has as many bytes in upper as in lower case.
        if (char_size(text, at) > 1 || c < 0x80)
            append_char(changed, change(c));
        if (changed.size() == char_size(text, at))
            std::copy(changed.begin(), changed.end(), made.text->bytes + at);
    }
    return made;
}

Value text_equals(Context &context, const Value &self, Args args) {
    context.work_on(self.size);
    return Value::of(args[0].type == Type::string && args[0].view() == self.view());
}
// As Java: the difference of the first characters that differ, or of the lengths.
Value text_compare(Context &context, const Value &self, Args args) {
    const std::string_view left = self.view();
    const std::string_view right = to_string(args[0]);
    context.work_on(left.size());
    std::size_t at = 0;
    while (at < left.size() && at < right.size()) {
        const char32_t a = char_at(left, at);
        const char32_t b = char_at(right, at);
        if (a != b)
            return Value::of(std::int64_t{a} - std::int64_t{b});
        at += char_size(left, at);
    }
    return Value::of(count_chars(left) - count_chars(right));
}

// With `with` around all characters: what replacing the empty text gives.
std::string interspersed(std::string_view text, std::string_view with) {
    std::string made(with);
    for (std::size_t at = 0; at < text.size(); at += char_size(text, at)) {
        made += text.substr(at, char_size(text, at));
        made += with;
    }
    return made;
}

Value text_replace(Context &context, const Value &self, Args args) {
    const std::string_view to = to_string(args[1]);
    const Finder finder(context, to_string(args[0]), false);
    const std::size_t size = args[0].size;
    const auto most = static_cast<std::size_t>(context.limits.memory / 2);
    std::string_view text = self.view();
    if (size == 0) {
        if (to.size() * (text.size() + 1) > most)
            fail(FaultKind::limit, "the expression needs too much memory");
        return new_string(context, interspersed(text, to));
    }
    std::string made;
    for (std::size_t found = finder.find(text); found != std::string_view::npos; found = finder.find(text)) {
        context.work_on(to.size());
        made += text.substr(0, found);
        made += to;
        if (made.size() > most)
            fail(FaultKind::limit, "the expression needs too much memory");
        text.remove_prefix(found + size);
    }
    made += text;
    return new_string(context, made);
}

// $1 stands for a group, and \ escapes a character.
void append_replacement(std::string &made, std::string_view replacement, std::string_view text,
                        const Regex::Match &match) {
    for (std::size_t i = 0; i < replacement.size(); i++) {
        const char c = replacement[i];
        if (c != '\\' && c != '$') {
            made += c;
            continue;
        }
        if (++i >= replacement.size())
            fail(FaultKind::value, std::string("a replacement must not end with ") + c);
        const char next = replacement[i];
        if (c == '\\') {
            made += next;
            continue;
        }
        const auto group = static_cast<std::size_t>(next - '0');
        if (next < '0' || next > '9' || group * 2 >= match.bounds.size())
            fail(FaultKind::value, "there is no group \"$" + std::string(1, next) + "\"");
        if (match.bounds[group * 2] != Regex::k_none)
            made += text.substr(match.bounds[group * 2], match.bounds[group * 2 + 1] - match.bounds[group * 2]);
    }
}

Value replace_matches(Context &context, const Value &self, Args args, bool all) {
    const std::string_view text = self.view();
    const std::string_view replacement = to_string(args[1]);
    const Regex regex(context, to_string(args[0]));
    std::string made;
    std::size_t at = 0;
    Regex::Match match;
    for (std::size_t from = 0; from <= text.size() && regex.find(context, text, from, match);) {
        made += text.substr(at, match.begin() - at);
        append_replacement(made, replacement, text, match);
        at = match.end();
        context.work_on(replacement.size() + (match.end() - from));
        if (static_cast<std::int64_t>(made.size()) > context.limits.memory / 2)
            fail(FaultKind::limit, "a string is too long");
        const bool empty = match.begin() == match.end();
        from = empty && at < text.size() ? at + char_size(text, at) : at + (empty ? 1 : 0);
        if (!all)
            break;
    }
    made += text.substr(at);
    return new_string(context, made);
}
Value text_replace_all(Context &context, const Value &self, Args args) {
    return replace_matches(context, self, args, true);
}
Value text_replace_first(Context &context, const Value &self, Args args) {
    return replace_matches(context, self, args, false);
}

Value to_array(Context &context, const std::vector<std::string_view> &parts) {
    Array *array = new_array(context, Elements::string, static_cast<std::int64_t>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); i++)
        array->items[i] = new_string(context, parts[i]);
    return Value::of(array);
}

// As Java: with a limit of 0, empty parts at the end are dropped. An empty match at the start does not split.
Value text_split(Context &context, const Value &self, Args args) {
    const std::string_view text = self.view();
    const std::int64_t most = args.size() > 1 ? to_long(args[1]) : 0;
    const Regex regex(context, to_string(args[0]));
    std::vector<std::string_view> parts;
    std::size_t at = 0;
    Regex::Match match;
    for (std::size_t from = 0;
         from <= text.size() && (most <= 0 || static_cast<std::int64_t>(parts.size()) < most - 1);) {
        if (!regex.find(context, text, from, match))
            break;
        const bool empty = match.begin() == match.end();
        if (match.end() > 0) {
            parts.push_back(text.substr(at, match.begin() - at));
            at = match.end();
        }
        from = match.end() + (empty ? (match.end() < text.size() ? char_size(text, match.end()) : 1) : 0);
        context.work_on(match.end());
        if (static_cast<std::int64_t>(parts.size()) >= context.limits.array && most == 0)
            break; // the array will be too long
    }
    const bool is_split = at > 0;
    parts.push_back(text.substr(at));
    while (most == 0 && is_split && !parts.empty() && parts.back().empty())
        parts.pop_back();
    return to_array(context, parts);
}

Value text_escape(Context &context, const Value &self, Args args) {
    const std::string_view text = args.empty() ? self.view() : to_string(args[0]);
    constexpr std::string_view k_meant = "\\\t\b\n\r\f\"";
    constexpr std::string_view k_written = "\\tbnrf\"";
    std::string made;
    for (const char c : text) {
        const std::size_t known = k_meant.find(c);
        if (known == std::string_view::npos)
            made += c;
        else
            made.append({'\\', k_written[known]});
    }
    context.work_on(made.size());
    return new_string(context, made);
}

// The arguments after the first, or the elements of the only one.
Args rest(Args args) noexcept {
    if (args.size() == 2 && args[1].type == Type::array)
        return args[1].array->values();
    return args.subspan(1);
}
Value text_format(Context &context, const Value & /*self*/, Args args) {
    return new_string(context, format(context, to_string(args[0]), rest(args)));
}
Value text_join(Context &context, const Value & /*self*/, Args args) {
    const std::string_view between = to_string(args[0]);
    Value made = make_string(context.heap, "");
    bool first = true;
    for (const Value &part : rest(args)) {
        if (!first)
            made = append(context.heap, made, between);
        first = false;
        const std::string_view text = part.is_null() ? "null" : to_string(part);
        context.work_on(text.size());
        made = append(context.heap, made, text);
    }
    return made;
}
Value text_value_of(Context &context, const Value & /*self*/, Args args) {
    return new_string(context, show(context, args[0]));
}
Value text_new(Context &context, const Value & /*self*/, Args args) {
    return new_string(context, args.empty() ? std::string_view{} : to_string(args[0]));
}

// As in the library of SEL, a string has the methods of its class, too, and they do not look at it.
constexpr auto k_string = std::to_array<Function>({{"length", 0, 0, text_length},
                                                   {"isEmpty", 0, 0, text_is_empty},
                                                   {"substring", 1, 2, text_substring},
                                                   {"contains", 1, 1, text_contains},
                                                   {"startsWith", 1, 2, text_starts_with},
                                                   {"endsWith", 1, 1, text_ends_with},
                                                   {"indexOf", 1, 2, text_index_of},
                                                   {"lastIndexOf", 1, 2, text_last_index_of},
                                                   {"trim", 0, 0, text_trim},
                                                   {"toUpperCase", 0, 0, text_case<to_upper>},
                                                   {"toLowerCase", 0, 0, text_case<to_lower>},
                                                   {"equals", 1, 1, text_equals},
                                                   {"compareTo", 1, 1, text_compare},
                                                   {"replace", 2, 2, text_replace},
                                                   {"replaceAll", 2, 2, text_replace_all},
                                                   {"replaceFirst", 2, 2, text_replace_first},
                                                   {"split", 1, 2, text_split},
                                                   {"escape", 0, 1, text_escape},
                                                   {"format", 1, k_any_number, text_format},
                                                   {"join", 1, k_any_number, text_join},
                                                   {"valueOf", 1, 1, text_value_of},
                                                   {"toString", 0, 0, text_itself}});
constexpr auto k_string_class = std::to_array<Function>({{"new", 0, 1, text_new},
                                                         {"format", 1, k_any_number, text_format},
                                                         {"join", 1, k_any_number, text_join},
                                                         {"escape", 1, 1, text_escape},
                                                         {"valueOf", 1, 1, text_value_of}});

} // namespace

std::span<const Function> text_functions(Receiver receiver) noexcept {
    if (receiver == Receiver::string)
        return k_string;
    return receiver == Receiver::string_class ? std::span<const Function>(k_string_class) : std::span<const Function>{};
}

} // namespace scylla::model::sel
