// Reads what a task waits for.
#pragma once

#include "task/wait_for.h"

namespace scylla {

inline constexpr int k_max_gates = 100'000; // of a task
inline constexpr int k_max_gates_of_call = 1'000'000;

// The names of depends_on, followed by the elements of wait_for, which may be null. element: the task's index in an
// array, for the error 22023, or 0.
std::span<const WaitFor> read_waits(std::span<text *const> depends_on, store::OnFailure on_failure, Jsonb *wait_for,
                                    int64 element = 0);

// The elements of a wait_for that may not be null.
std::span<const WaitFor> read_wait_for(Jsonb *wait_for);

} // namespace scylla
