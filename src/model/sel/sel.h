// The expression language, for callers that must not see an exception: entry points are noexcept, and faults are
// returned as values. Nothing here owns memory by a destructor, so a frame of the server may hold it. release() frees
// an outcome.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/sel/limits.h"

namespace scylla::model::sel {

class World;

enum class OutcomeKind : std::uint8_t { value, syntax, fault, unknown, thrown, limit, stopped, not_yet, out_of_memory };

struct Outcome {
    OutcomeKind kind;
    std::int32_t line; // of a fault; 0: it has no place
    std::int32_t column;
    std::string_view text; // the result, or what is wrong
    void *owned;
};

// The value of an expression as JSON. params: a JSON object. getFromStep('s', 'p') and the like read the member whose
// name is the arguments with __ between them.
Outcome evaluate_json(std::string_view expression, std::string_view params, World &world,
                      const Limits &limits) noexcept;
// A text whose references are replaced by the values of the parameters.
Outcome interpolate_json(std::string_view text, std::string_view params, World &world, const Limits &limits) noexcept;
void release(Outcome &outcome) noexcept;

} // namespace scylla::model::sel
