#include "model/sel/program_cache.h"

#include <array>
#include <functional>
#include <string>

namespace scylla::model::sel {

namespace {

constexpr std::size_t k_longest = 512; // bytes of an expression that is kept: those that every run evaluates are
constexpr std::size_t k_places = 512;

// A text that parses under some limits need not under others.
struct Kept {
    std::string text{};
    int depth = 0;
    std::shared_ptr<const Program> program{};
};

// Each text has one place, which it takes from the one before. Never freed: nothing is to run when a process ends.
Kept &place_of(std::string_view text) {
    static auto *const places = new std::array<Kept, k_places>;
    return (*places)[std::hash<std::string_view>{}(text) % k_places];
}

} // namespace

std::shared_ptr<const Program> program_of(std::string_view text, const Limits &limits) {
    if (text.size() > k_longest || static_cast<std::int64_t>(text.size()) > limits.text)
        return Program::parse(text, limits);
    Kept &kept = place_of(text);
    if (kept.program == nullptr || kept.text != text || kept.depth != limits.depth)
        kept = Kept{std::string(text), limits.depth, Program::parse(text, limits)};
    return kept.program;
}

} // namespace scylla::model::sel
