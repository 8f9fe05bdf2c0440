// Regular expressions of Java, as split() and replaceAll() take them: literals, ., classes, \d \w \s, ^ $ \b, groups,
// alternatives and repetitions, greedy or lazy. No look-around and no back references, so a match takes time in
// proportion to the text: all paths through the pattern are followed at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/sel/context.h"

namespace scylla::model::sel {

class Regex {
public:
    Regex(Context &context, std::string_view pattern);

    static constexpr std::size_t k_none = SIZE_MAX;
    struct Match {
        std::vector<std::size_t> bounds; // begin and end of each group, the whole match first; k_none: no part of it
        std::size_t begin() const noexcept { return bounds[0]; }
        std::size_t end() const noexcept { return bounds[1]; }
    };
    // The first match at `from` or behind it; false if there is none.
    bool find(Context &context, std::string_view text, std::size_t from, Match &match) const;
    std::size_t groups() const noexcept { return groups_; }

private:
    friend class RegexParser;
    enum class Code : std::uint8_t {
        character,
        any,
        set,
        split,
        jump,
        save,
        line_start,
        line_end,
        word,
        not_word,
        match
    };
    struct Span {
        char32_t first;
        char32_t last;
    };
    struct Set {
        bool negated = false;
        std::vector<Span> spans{};
        bool has(char32_t c) const noexcept;
    };
    struct Instruction {
        Code code;
        char32_t value = 0;    // a character; the number of a set, or of the bound to save
        std::size_t first = 0; // the next instruction; of a split, the preferred one
        std::size_t second = 0;
    };
    struct Threads;

    void follow(Context &context, Threads &threads, std::size_t pc, std::string_view text, std::size_t at,
                std::vector<std::size_t> &bounds) const;
    bool holds(Code code, std::string_view text, std::size_t at) const noexcept;
    bool takes(const Instruction &instruction, char32_t c) const noexcept;

    std::vector<Instruction> code_{};
    std::vector<Set> sets_{};
    std::size_t groups_ = 1;
};

} // namespace scylla::model::sel
