// Parameters of workflows and steps (docs/workflows.md, Parameters), as definitions write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/sel/fault.h"
#include "model/sel/value.h"
#include "model/workflow/ordered_map.h"

namespace scylla::model::workflow {

enum class ParamType : std::uint8_t {
    string,
    long_,
    double_,
    boolean,
    string_map,
    string_array,
    long_array,
    double_array,
    boolean_array,
    map,
};

// From the least strict to the strictest.
enum class ParamMode : std::uint8_t { mutable_, mutable_on_start_restart, mutable_on_start, immutable, constant };

// A mode that only the system may set.
enum class SystemMode : std::uint8_t { reserved, required, optional, provided };

// Who wrote a parameter last. The first four are the system.
enum class ParamSource : std::uint8_t {
    system,
    template_schema,
    system_injected,
    system_default,
    definition,
    signal,
    time_trigger,
    output_parameter,
    launch,
    restart,
    subworkflow,
    template_,
    foreach,
    while_,
    workflow_parameter,
};

std::string_view name_of(ParamType type) noexcept;
std::string_view name_of(ParamMode mode) noexcept;
std::string_view name_of(ParamSource source) noexcept;
// Names may be written in any case.
std::optional<ParamType> find_type(std::string_view name) noexcept;
std::optional<ParamMode> find_mode(std::string_view name) noexcept;
std::optional<SystemMode> find_system_mode(std::string_view name) noexcept;
std::optional<ParamSource> find_source(std::string_view name) noexcept;

struct Param;
using ParamMap = OrderedMap<Param>;

enum class ParamForm : std::uint8_t { empty, literal, expression };

struct Param {
    ParamType type = ParamType::string;
    ParamForm form = ParamForm::empty;
    bool evaluated = false; // the literal is a result: its $ begin no references
    std::optional<ParamMode> mode{};
    std::optional<SystemMode> system_mode{};
    std::optional<ParamSource> source{};
    sel::Value value{}; // of a literal; a MAP has members instead
    ParamMap members{};
    std::string expression{};
    std::vector<std::string> tags{};
    std::string validator{};
};

// What is wrong with a parameter. Thrown inside the room.
struct ParamFailure {
    std::string name; // of a member of a MAP: with the name of the MAP and a point before it
    sel::Fault fault;
};

[[noreturn]] void fail_param(std::string_view name, std::string message);
// With its place, if it has one.
std::string show_fault(const sel::Fault &fault);

} // namespace scylla::model::workflow
