#include "model/workflow/reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "model/duration.h"
#include "model/sel/program.h"
#include "model/sel/utf8.h"
#include "model/workflow/param.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

bool fits(std::int64_t number, Bounds bounds) noexcept { return number >= bounds.least && number <= bounds.most; }

std::string between(Bounds bounds) {
    return "must be from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
}
std::string not_between(std::int64_t number, Bounds bounds) {
    return between(bounds) + ", not " + std::to_string(number);
}

} // namespace

std::string_view text_of(const sel::Map &object, std::string_view name) noexcept {
    const Value *found = object.find(name);
    return found != nullptr && found->type == sel::Type::string ? found->view() : std::string_view{};
}

const sel::Map *object_of(const sel::Map &object, std::string_view name) noexcept {
    const Value *found = object.find(name);
    return found != nullptr && found->type == sel::Type::map ? found->map : nullptr;
}

std::optional<std::int64_t> parse_whole(std::string_view text) noexcept {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || stop != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string too_many(std::int64_t count, std::string_view what, std::int64_t most) {
    return "has " + std::to_string(count) + " " + std::string(what) + ", and at most " + std::to_string(most) +
           " are possible";
}

std::optional<std::int64_t> parse_millis(std::string_view text) noexcept {
    constexpr std::int64_t k_micros = 1'000;
    const auto micros = read_fixed_duration(text);
    return micros ? std::optional(*micros / k_micros + (*micros % k_micros != 0 ? 1 : 0)) : std::nullopt;
}

std::string no_duration(std::string_view text) { return quoted(text) + " must be " + std::string(k_duration_rule); }

const Value *Reader::find(const Object &of, std::string_view name) const {
    context_.work();
    const Value *found = of.map.find(name);
    return found == nullptr || found->is_null() ? nullptr : found;
}

const sel::Map *Reader::as_object(const Value &json, const Where &where) const {
    if (json.type == sel::Type::map)
        return json.map;
    problem(where, "must be an object");
    return nullptr;
}

const sel::Map *Reader::object(const Object &of, std::string_view name) const {
    const Value *found = find(of, name);
    return found == nullptr ? nullptr : as_object(*found, of.where.member(name));
}

const sel::Array *Reader::array(const Object &of, std::string_view name) const {
    const Value *found = find(of, name);
    if (found == nullptr)
        return nullptr;
    if (found->type == sel::Type::array)
        return found->array;
    problem(of.where.member(name), "must be an array");
    return nullptr;
}

std::optional<std::string_view> Reader::text(const Object &of, std::string_view name, std::int64_t most) const {
    const Value *found = find(of, name);
    if (found == nullptr)
        return std::nullopt;
    if (found->type != sel::Type::string) {
        problem(of.where.member(name), "must be a string");
        return std::nullopt;
    }
    context_.work_on(found->size);
    if (static_cast<std::int64_t>(found->size) > most) {
        if (const std::int64_t size = sel::count_chars(found->view()); size > most) {
            problem(of.where.member(name), too_many(size, "characters", most));
            return std::nullopt;
        }
    }
    return found->view();
}

std::optional<std::string_view> Reader::require_text(const Object &of, std::string_view name) const {
    if (!has(of, name))
        problem(of.where, "has no " + quoted(name));
    return text(of, name);
}

std::optional<bool> Reader::flag(const Object &of, std::string_view name) const {
    const Value *found = find(of, name);
    if (found == nullptr)
        return std::nullopt;
    if (found->type == sel::Type::boolean)
        return found->truth;
    problem(of.where.member(name), "must be true or false");
    return std::nullopt;
}

std::optional<std::int64_t> Reader::whole(const Object &of, std::string_view name, Bounds bounds) const {
    const Value *found = find(of, name);
    if (found == nullptr)
        return std::nullopt;
    const bool is_whole = found->type == sel::Type::long_;
    if (is_whole && fits(found->number, bounds))
        return found->number;
    problem(of.where.member(name), is_whole ? not_between(found->number, bounds) : between(bounds));
    return std::nullopt;
}

std::optional<std::size_t> Reader::choice(const Object &of, std::string_view name,
                                          std::span<const std::string_view> words) const {
    const auto given = text(of, name);
    const auto place = given ? find_word(words, *given) : std::nullopt;
    if (!given || place)
        return place;
    std::string all;
    for (const std::string_view word : words)
        all += (all.empty() ? "" : ", ") + std::string(word);
    problem(of.where.member(name), quoted(*given) + " is none of " + all);
    return std::nullopt;
}

void Reader::parsable(const Object &of, std::string_view name, Bounds bounds) const {
    const Value *found = find(of, name);
    if (found == nullptr || found->type != sel::Type::string) {
        whole(of, name, bounds);
        return;
    }
    if (found->view().find('$') != std::string_view::npos)
        return;
    const auto number = parse_whole(found->view());
    if (!number || !fits(*number, bounds))
        problem(of.where.member(name), number ? not_between(*number, bounds) : between(bounds));
}

void Reader::duration(const Object &of, std::string_view name, Bounds seconds) const {
    constexpr std::int64_t k_millis = 1'000;
    const Value *found = find(of, name);
    if (found == nullptr || found->type != sel::Type::string) {
        whole(of, name, seconds);
        return;
    }
    if (found->view().find('$') != std::string_view::npos)
        return;
    const auto millis = parse_millis(found->view());
    if (!millis)
        problem(of.where.member(name), no_duration(found->view()));
    else if (*millis < seconds.least * k_millis || *millis > seconds.most * k_millis)
        problem(of.where.member(name), between(seconds) + " seconds, not " + quoted(found->view()));
}

void Reader::check_expression(std::string_view text, const Where &where) const {
    context_.work_on(text.size());
    try {
        (void)sel::Program::parse(text, context_.limits);
    } catch (const sel::Failure &failure) {
        problem(where, show_fault(failure.fault));
    }
}

std::optional<std::string_view> Reader::expression(const Object &of, std::string_view name) const {
    const auto source = text(of, name);
    if (source)
        check_expression(*source, of.where.member(name));
    return source;
}

std::optional<std::string_view> Reader::condition(const Object &of, std::string_view name) const {
    const Value *found = find(of, name);
    if (found != nullptr && found->type == sel::Type::boolean)
        return found->truth ? "true" : "false";
    return expression(of, name);
}

void Reader::refuse_limit(const Object &tag) const {
    if (has(tag, "permit"))
        problem(tag.where, "the limit of a tag is not part of a definition: create_pool('tag:" +
                               std::string(text(tag, "name").value_or("")) + "', …) sets it");
}

std::vector<std::string> Reader::tags(const Object &of) const {
    std::vector<std::string> tags;
    const sel::Array *json = array(of, "tags");
    if (json == nullptr)
        return tags;
    const Where where = of.where.member("tags");
    for (std::uint32_t i = 0; i < json->size; i++) {
        context_.work();
        const Value &tag = json->items[i];
        const Value *name = tag.type == sel::Type::map ? tag.map->find("name") : &tag;
        if (tag.type == sel::Type::map)
            refuse_limit({*tag.map, where.element(i)});
        if (name == nullptr || name->type != sel::Type::string)
            problem(where.element(i), R"(must be a name or an object with a "name")");
        else if (std::find(tags.begin(), tags.end(), name->view()) != tags.end())
            problem(where.element(i), "the tag " + quoted(name->view()) + " is there twice");
        else
            tags.emplace_back(name->view());
    }
    return tags;
}

void Reader::refuse_others(const Object &of, std::initializer_list<std::string_view> known,
                           std::initializer_list<std::string_view> more) const {
    const auto in = [](std::initializer_list<std::string_view> names, std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const sel::Map::Member &member : of.map.all()) {
        context_.work();
        if (!in(known, member.key.view()) && !in(more, member.key.view()))
            problem(of.where.member(member.key.view()), "is not known here");
    }
}

std::string show_seconds(std::int64_t seconds) {
    const auto counted = [&](std::int64_t unit, const char *name) {
        return std::to_string(seconds / unit) + " " + name + (seconds == unit ? "" : "s");
    };
    constexpr std::int64_t k_day = 86'400;
    constexpr std::int64_t k_minute = 60;
    return seconds % k_day == 0      ? counted(k_day, "day")
           : seconds % k_minute == 0 ? counted(k_minute, "minute")
                                     : counted(1, "second");
}

} // namespace scylla::model::workflow
