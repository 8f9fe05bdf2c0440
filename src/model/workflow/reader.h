// Reads members of a JSON document, and notes invalid ones as problems.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/sel/context.h"
#include "model/workflow/problem.h"
#include "model/workflow_limits.h"

namespace scylla::model::workflow {

std::string quoted(std::string_view text);
// "has 301 steps, and at most 300 are possible"
std::string too_many(std::int64_t count, std::string_view what, std::int64_t most);

struct Bounds {
    std::int64_t least;
    std::int64_t most;
};

// A JSON object and its place.
struct Object {
    const sel::Map &map;
    const Where &where;
};

class Reader {
public:
    Reader(sel::Context &context, Problems &problems, const DefinitionLimits &limits = {}) noexcept
        : context_{context}, problems_{problems}, limits_{limits} {}

    const DefinitionLimits &limits() const noexcept { return limits_; }
    sel::Context &context() const noexcept { return context_; }
    Problems &problems() const noexcept { return problems_; }
    void problem(const Where &where, std::string what) const { problems_.add(where, std::move(what)); }

    // A member that is null is not there, here and in each of these.
    bool has(const Object &of, std::string_view name) const { return find(of, name) != nullptr; }
    const sel::Map *object(const Object &of, std::string_view name) const;
    const sel::Array *array(const Object &of, std::string_view name) const;
    std::optional<std::string_view> text(const Object &of, std::string_view name) const {
        return text(of, name, limits_.of_texts.text);
    }
    std::optional<std::string_view> text(const Object &of, std::string_view name, std::int64_t most) const;
    std::optional<bool> flag(const Object &of, std::string_view name) const;
    std::optional<std::int64_t> whole(const Object &of, std::string_view name, Bounds bounds) const;
    // A whole number, or a text with one. A text with references to parameters is checked when they are known.
    void parsable(const Object &of, std::string_view name, Bounds bounds) const;
    // The same for seconds: also a duration in words, as "1 day 2 hours".
    void duration(const Object &of, std::string_view name, Bounds seconds) const;
    // One of these words, in any case: its index.
    std::optional<std::size_t> choice(const Object &of, std::string_view name,
                                      std::span<const std::string_view> words) const;
    std::optional<std::string_view> expression(const Object &of, std::string_view name) const;
    // An expression, or a boolean, which stands for the expression of it.
    std::optional<std::string_view> condition(const Object &of, std::string_view name) const;
    void refuse_limit(const Object &tag) const;
    void check_expression(std::string_view text, const Where &where) const;
    // A tag is a name, or an object that has one.
    std::vector<std::string> tags(const Object &of) const;

    std::optional<std::string_view> require_text(const Object &of, std::string_view name) const;
    const sel::Map *as_object(const sel::Value &json, const Where &where) const;
    void refuse_others(const Object &of, std::initializer_list<std::string_view> known,
                       std::initializer_list<std::string_view> more = {}) const;

private:
    const sel::Value *find(const Object &of, std::string_view name) const;

    sel::Context &context_;
    Problems &problems_;
    DefinitionLimits limits_;
};

// A member that is a text, or an object; empty and null if it is not there, or something else.
std::string_view text_of(const sel::Map &object, std::string_view name) noexcept;
const sel::Map *object_of(const sel::Map &object, std::string_view name) noexcept;

// All of it is a number.
std::optional<std::int64_t> parse_whole(std::string_view text) noexcept;

// A time in words: "120 days", "2 minutes", "90 seconds".
std::string show_seconds(std::int64_t seconds);

// The milliseconds of a duration (model/duration.h), rounded up. Nothing: it is none, or has months or years, whose
// length is not fixed.
std::optional<std::int64_t> parse_millis(std::string_view text) noexcept;
// What is wrong with a text that is none.
std::string no_duration(std::string_view text);

} // namespace scylla::model::workflow
