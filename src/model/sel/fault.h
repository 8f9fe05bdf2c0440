// What is wrong with an expression, and where. Inside the room a fault travels as an exception; the entry points
// (sel.h) catch it and return it as a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scylla::model::sel {

// A place in the text, counted from 1; a column is a character. Line 0: the fault has no place.
struct Position {
    std::int32_t line = 0;
    std::int32_t column = 0;
};

enum class FaultKind : std::uint8_t {
    syntax,  // the text is not in the language
    value,   // a value has the wrong type, or an operation cannot be done with it
    unknown, // a class, method, member or parameter that does not exist
    thrown,  // the expression threw it
    limit,   // one of the limits
    stopped, // the caller asked to stop
};

struct Fault {
    FaultKind kind = FaultKind::value;
    Position place{};
    std::string message{};
};

// What is thrown inside the room.
struct Failure {
    Fault fault;
};

inline std::string no_parameter(std::string_view name) { return "there is no parameter \"" + std::string(name) + "\""; }

// Thrown to leave an evaluation undone for now: the caller evaluates it later, from its beginning.
struct NotYet {
    bool is_slow = false; // it took longer than Limits::patience
};

} // namespace scylla::model::sel
