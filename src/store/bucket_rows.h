// Buckets of queues with a rate, and of keys in queues with a rate per key, where there is no shared memory for them
// (queue/rate.h). By the server's clock.
#pragma once

#include "model/rate.h"
#include "store/rows.h"

namespace scylla::store {

struct BucketOf {
    int32 queue;
    const text *key; // null: of the queue; the empty text: of the keys that have none
};
// Locks it to the end of the transaction; creates it as given if there is none.
model::Bucket lock_bucket(const BucketOf &whose, const model::Bucket &otherwise);
std::optional<model::Bucket> find_bucket(const BucketOf &whose);
void put_bucket(const BucketOf &whose, const model::Bucket &bucket);
// That of the queue; or with a key those of all its keys, and that of the others.
void remove_buckets(const BucketOf &whose);

} // namespace scylla::store
