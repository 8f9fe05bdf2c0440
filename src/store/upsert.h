// Statements that use SPI, as the owner of the tables: inserts that must not fail if the row exists (a direct insert
// can find a duplicate only by an error), and changes of queues, which are rare.
#pragma once

#include "model/rate.h"
#include "store/rows.h"

namespace scylla::store {

// Owned by the current user. False: the queue existed already. Waits for a transaction that is creating it.
bool insert_queue(const text *name, const QueueSettings &settings);
// Whether this transaction has created the queue, so that no other knows it. May be false if the transaction has
// created very many.
bool is_own_queue(int32 queue);

// Inserts the rows whose rn is free, in the order of their names, so that two calls cannot deadlock. inserted[i]:
// whether rows[i] was inserted; of rows with the same rn, the one with the smallest id is.
void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted);
// The same for the deduplication keys of the rows, all of which have one.
void insert_dedup_keys(std::span<const SpecRow> rows, std::span<bool> inserted);

// No error if the role has the privilege already, or does not have it. They wait for a transaction that is changing the
// queue.
void add_grantee(int32 queue, model::Privilege privilege, const text *role);
void remove_grantee(int32 queue, model::Privilege privilege, const text *role);
void set_queue_owner(int32 queue, const text *owner);

// Buckets of queues with a rate, and of keys in queues with a rate per key, where there is no shared memory for them
// (queue/rate.h). By the server's clock.
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
// Those of keys that are full.
void remove_full_buckets(int32 queue, int64 now);

} // namespace scylla::store
