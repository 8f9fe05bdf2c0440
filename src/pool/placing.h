// Parts of a pass, for a pass in portions.
#pragma once

#include "pool/lines.h"
#include "pool/pass.h"

namespace scylla {

// Classes that a pass reads in one transaction of the monitor, or under the lock of the passes.
inline constexpr std::size_t k_portion_of_classes = 2500;

// Tables are opened, and statements prepared, before the lock of the passes is taken: waiting for a table lock is
// waiting for others' transactions.
void open_tables_of_pass(store::Store &store);
void lock_passes(store::Store &store);
void unlock_passes(store::Store &store);
// Places tasks of the lines that the pass has read, and gives up the lock of the passes. caller: the memory context for
// what others are told.
PassResult place_read(Pass &pass, const PassRequest &request, MemoryContext caller);

// The duty of the monitor.
void register_placing();

} // namespace scylla
