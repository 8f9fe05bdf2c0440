// How the instances of a workflow follow each other (docs/workflows.md, Runs).
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/workflow/words.h"

namespace scylla::model::workflow {

enum class Rule : std::uint8_t { parallel, sequential, strict_sequential, first_only, last_only, serial_latest_only };
inline constexpr std::array<std::string_view, 6> k_rules = {"PARALLEL",   "SEQUENTIAL", "STRICT_SEQUENTIAL",
                                                            "FIRST_ONLY", "LAST_ONLY",  "SERIAL_LATEST_ONLY"};
// The statuses of a run that can block the runs after it. The engine's SQL knows them too (workflow/write.cpp).
inline constexpr std::array<std::string_view, 3> k_blocking = {"FAILED", "TIMED_OUT", "STOPPED"};
inline constexpr std::int32_t k_default_parallelism = 20;

struct RunStrategy {
    Rule rule = Rule::sequential;
    std::int32_t concurrency = 1; // maximum number of live instances
};

constexpr std::string_view name(Rule rule) noexcept { return k_rules[static_cast<std::size_t>(rule)]; }

constexpr RunStrategy parallel(std::int32_t concurrency) noexcept { return {Rule::parallel, concurrency}; }

// From a word, which is a rule or a number. Nothing: it is neither. usual: concurrency of PARALLEL without a number.
inline std::optional<RunStrategy> read_run_strategy(std::string_view word, std::optional<std::int32_t> concurrency,
                                                    std::int32_t usual = k_default_parallelism) noexcept {
    std::int32_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc{} && stop == word.data() + word.size())
        return parallel(number);
    const auto rule = find_word(k_rules, word);
    if (!rule)
        return std::nullopt;
    if (static_cast<Rule>(*rule) == Rule::parallel)
        return parallel(concurrency.value_or(usual));
    return RunStrategy{static_cast<Rule>(*rule), 1};
}

} // namespace scylla::model::workflow
