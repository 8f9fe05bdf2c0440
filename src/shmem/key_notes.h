// What the present transaction means to the gaps of keys (gaps.h), in queues where tasks have keys: the keys of which
// it has made tasks ready, which its commit tells; the keys of which it has taken tasks; and the leases with permits
// that it has ended.
#pragma once

#include "shmem/heads.h"

namespace scylla::shmem {

// hash: gap_hash() of the key.
void note_key_ready(Oid file, int32 queue, uint64 hash, int16 priority, int64 id);
void note_key_taken(Oid file, int32 queue, uint64 hash);
// Tasks of any key have become ready.
void note_all_keys_ready();
void note_lease_ended(int32 queue, int64 id);

// Ids from `low` to `high`; low > high: none.
struct OwnIds {
    int64 low;
    int64 high;
};
// What this transaction has made ready, of a key and priority.
OwnIds own_ready(Oid file, int32 queue, uint64 hash, int16 priority);
bool has_taken(Oid file, int32 queue, uint64 hash);
// The leases of a queue that this transaction has ended.
OwnIds own_ended(int32 queue);

// For the callback at the end of a transaction (pending.cpp). The first one only if it has committed.
void tell_key_notes() noexcept;
void drop_key_notes() noexcept;

} // namespace scylla::shmem
