// What goes through SPI, as the owner of the tables: inserts that must not fail where the row exists already (a direct insert
// can only find a duplicate by an error), and changes of queues, which are rare.
#pragma once

#include "model/rate.h"
#include "store/rows.h"

namespace scylla::store {

// Owned by the current user. False: the queue existed already. Waits for a transaction that is just creating it.
bool insert_queue(const text *name, const QueueSettings &settings);

// Inserts the rows whose rn is free, in the order of their names, so that two calls cannot wait for each other in a circle.
// inserted[i] tells what became of rows[i]; of rows with the same rn the one with the smallest id goes in.
void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted);
// The same for the deduplication keys of the rows, all of which have one.
void insert_dedup_keys(std::span<const SpecRow> rows, std::span<bool> inserted);

// The role need not be without it, or have it. They wait for a transaction that is just changing the queue.
void add_grantee(int32 queue, model::Privilege privilege, const text *role);
void remove_grantee(int32 queue, model::Privilege privilege, const text *role);
void set_queue_owner(int32 queue, const text *owner);
// The bucket of a queue with a rate, where there is no shared memory for it (verbs/rate.h).
struct RateRow {
    model::Rate rate;
    int64 arrival; // of model/rate.h, by the server's clock
};
// Locks it to the end of the transaction; makes it as given if there is none.
RateRow lock_rate(int32 queue, const RateRow &otherwise);
std::optional<RateRow> find_rate(int32 queue);
void put_rate(int32 queue, const RateRow &row);
void remove_rate(int32 queue);

} // namespace scylla::store
