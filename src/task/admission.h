// Which elements of submit_many are new, and which have a name or a deduplication key that is taken.
#pragma once

#include "store/rows.h"

namespace scylla {

// What became of an element of submit_many.
enum class Admitted : std::uint8_t { undecided, inserted, name_taken, key_taken };
struct Admission {
    Admitted admitted;
    text *holder; // key_taken: the name of the task that has the key; null if the role may not see it
};

// Inserts rows as if they were submitted one after the other. A row whose name or deduplication key is taken is not
// inserted; the name is checked first.
void insert_rows(store::Store &store, std::span<const store::SpecRow> rows, std::span<Admission> admissions);

} // namespace scylla
