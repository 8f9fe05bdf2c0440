// Inserts that must not fail where the row exists already: INSERT … ON CONFLICT through SPI, as the owner of the tables.
// (A direct insert can only find a duplicate by an error.)
#pragma once

#include "store/rows.h"

namespace scylla::store {

// False: the queue existed already. Waits for a transaction that is just creating it.
bool insert_queue(const text *name, const Interval *default_timeout, const Interval *retention, float8 aging);

// Inserts the rows whose rn is free, in the order of their names, so that two calls cannot wait for each other in a circle.
// inserted[i] tells what became of rows[i]; of rows with the same rn the one with the smallest id goes in.
void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted);

} // namespace scylla::store
