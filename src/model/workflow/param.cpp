#include "model/workflow/param.h"

#include <array>
#include <cstddef>
#include <span>

#include "model/workflow/words.h"

namespace scylla::model::workflow {

namespace {

constexpr std::array<std::string_view, 10> k_types{"STRING",        "LONG",         "DOUBLE",     "BOOLEAN",
                                                   "STRING_MAP",    "STRING_ARRAY", "LONG_ARRAY", "DOUBLE_ARRAY",
                                                   "BOOLEAN_ARRAY", "MAP"};
constexpr std::array<std::string_view, 5> k_modes{"MUTABLE", "MUTABLE_ON_START_RESTART", "MUTABLE_ON_START",
                                                  "IMMUTABLE", "CONSTANT"};
constexpr std::array<std::string_view, 4> k_system_modes{"RESERVED", "REQUIRED", "OPTIONAL", "PROVIDED"};
constexpr std::array<std::string_view, 15> k_sources{
    "SYSTEM",      "TEMPLATE_SCHEMA", "SYSTEM_INJECTED",  "SYSTEM_DEFAULT", "DEFINITION",
    "SIGNAL",      "TIME_TRIGGER",    "OUTPUT_PARAMETER", "LAUNCH",         "RESTART",
    "SUBWORKFLOW", "TEMPLATE",        "FOREACH",          "WHILE",          "WORKFLOW_PARAMETER"};

template <typename Found>
std::optional<Found> find_in(std::span<const std::string_view> names, std::string_view name) noexcept {
    const auto place = find_word(names, name);
    return place ? std::optional(static_cast<Found>(*place)) : std::nullopt;
}

} // namespace

std::string_view name_of(ParamType type) noexcept { return k_types[static_cast<std::size_t>(type)]; }
std::string_view name_of(ParamMode mode) noexcept { return k_modes[static_cast<std::size_t>(mode)]; }
std::string_view name_of(ParamSource source) noexcept { return k_sources[static_cast<std::size_t>(source)]; }

std::optional<ParamType> find_type(std::string_view name) noexcept { return find_in<ParamType>(k_types, name); }
std::optional<ParamMode> find_mode(std::string_view name) noexcept { return find_in<ParamMode>(k_modes, name); }
std::optional<SystemMode> find_system_mode(std::string_view name) noexcept {
    return find_in<SystemMode>(k_system_modes, name);
}
std::optional<ParamSource> find_source(std::string_view name) noexcept { return find_in<ParamSource>(k_sources, name); }

void fail_param(std::string_view name, std::string message) {
    throw ParamFailure{std::string(name), {sel::FaultKind::value, {}, std::move(message)}};
}

std::string show_fault(const sel::Fault &fault) {
    if (fault.place.line == 0)
        return fault.message;
    return fault.message + " (line " + std::to_string(fault.place.line) + ", column " +
           std::to_string(fault.place.column) + ")";
}

} // namespace scylla::model::workflow
