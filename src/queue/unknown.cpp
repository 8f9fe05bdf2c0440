#include "queue/unknown.h"

#include "pg/error.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "shmem/gaps.h"
#include "task/rights.h"

namespace scylla {

namespace {

// The names that were told last, by their hashes.
constinit std::array<uint64, 64> told{};
constinit std::size_t next_told = 0;

} // namespace

void tell_unknown_queue(store::Store &store, const text *name) {
    const uint64 hash = shmem::gap_hash(view(name)) | 1; // 0: none
    if (std::find(told.begin(), told.end(), hash) != told.end())
        return;
    told[next_told++ % told.size()] = hash;
    error::tell_no_such_queue(name, rights::similar_queue(store, name), settings::auto_create_queues);
}

} // namespace scylla
