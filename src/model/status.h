// The life of a task. Pure C++: no server headers below src/model.
//
//   submit ──► waiting ──(last gate opens)──► ready ──lease──► running ──complete──► completed
//                 │                            ▲ │                │ ├────abort─────► aborted
//                 │       timeout, yield, fail └─┼────────────────┘ │
//                 └──────────── cancel ──────────┴───── cancel ─────┴──────────────► cancelled
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace scylla::model {

// In the order of the SQL type scylla.task_status.
enum class Status : std::int8_t { waiting, ready, running, completed, aborted, cancelled };

inline constexpr std::array<const char *, 6> k_status_names = {"waiting",   "ready",   "running",
                                                               "completed", "aborted", "cancelled"};

// cppcheck-suppress CastIntegerToAddressAtReturn // it takes an element of a std::array of pointers for a number
constexpr const char *name(Status status) noexcept { return k_status_names[static_cast<std::size_t>(status)]; }

// A task in a final state never changes again.
constexpr bool is_final(Status status) noexcept { return status >= Status::completed; }

} // namespace scylla::model
