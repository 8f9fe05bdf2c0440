// Which elements of submit_many are new: names and deduplication keys that are taken.
#pragma once

#include "store/rows.h"

namespace scylla {

// What became of an element of submit_many.
enum class Admitted : std::uint8_t { undecided, inserted, name_taken, key_taken };
struct Admission {
    Admitted admitted;
    text *holder; // key_taken: the name of the task that has the key; null if the role may not see it
};

// Inserts rows as if one after the other was submitted, each unless its name is taken or, if it is not, its
// deduplication key.
void insert_rows(store::Store &store, std::span<const store::SpecRow> rows, std::span<Admission> admissions);

} // namespace scylla
