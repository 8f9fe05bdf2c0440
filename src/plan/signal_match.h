// What a condition on a signal compares, and whether a signal matches it.
//
// A signal has parameters: an object of scalars. A condition compares some of them, by equality, and at most one by
// <, <=, > or >=. A number never equals or exceeds a text. Texts compare byte by byte, numbers by value.
//
// A signal does not look at every condition on its name. Conditions that compare the same parameters for equality with
// the same values, and the same parameter by the same operator, have one digest; their bounds are sorted. The shapes of
// a name (store/condition_rows.h) say which digests a signal has to make.
#pragma once

#include "store/dirty.h"

namespace scylla {

inline constexpr std::size_t k_max_signal_params = 16;

// A parameter with a value that compares byte by byte (model/sortable.h).
struct SignalTerm {
    enum class Type : char { number = 'n', text = 's', boolean = 'b', null = '0' };
    std::string_view param;
    Type type;
    std::string_view value;
};

enum class SignalOp : std::uint8_t { none, less, less_equal, greater, greater_equal };

struct SignalMatch {
    std::span<const SignalTerm> equal; // in the order of the members of a jsonb
    SignalOp op;                       // of the range; none: there is none
    SignalTerm range;
};

// The parameters of a signal. 22023.
std::span<const SignalTerm> read_signal_params(Jsonb *params);
// What a condition compares: {"table": "orders", "day": {">=": 20260101}}. 22023.
SignalMatch read_signal_match(Jsonb *match);

bool matches(const SignalMatch &match, std::span<const SignalTerm> params);

int64 digest_of(std::string_view signal, const SignalMatch &match);

// The bounds of the conditions that a signal with this probe ends.
store::Bounds bounds_of(const SignalMatch &probe);

// The shape of a match as jsonb: [["table"], "day", ">="].
Jsonb *shape_of(const SignalMatch &match);
// The probe of a signal with these parameters for a shape: the match of a condition whose bound is the value of the
// parameter. Nothing: the signal cannot match any condition of that shape.
std::optional<SignalMatch> probe_of(Jsonb *shape, std::span<const SignalTerm> params);

// The part of a match that is compared for equality, as an object.
Jsonb *equal_part(Jsonb *match);

} // namespace scylla
