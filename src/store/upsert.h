// Inserts that must not fail if the row exists: by SQL, as the owner of the tables, because a direct insert can find a
// duplicate only by an error.
#pragma once

#include "store/rows.h"

namespace scylla::store {

// Inserts the rows whose rn is free, in the order of their names, so that two calls cannot deadlock. inserted[i]:
// whether rows[i] was inserted; of rows with the same rn, the one with the smallest id is.
void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted);
// The same for the deduplication keys of the rows, all of which have one.
void insert_dedup_keys(std::span<const SpecRow> rows, std::span<bool> inserted);

} // namespace scylla::store
