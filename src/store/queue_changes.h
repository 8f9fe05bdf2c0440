// Making a queue, and changing who owns it or has a right on it: rare, by SQL, as the owner of the tables.
#pragma once

#include "store/rows.h"

namespace scylla::store {

// Owned by the current user. False: the queue existed already. Waits for a transaction that is creating it.
bool insert_queue(const text *name, const QueueSettings &settings);
// Whether this transaction has created the queue, so that no other knows it. May be false if the transaction has
// created very many.
bool is_own_queue(int32 queue);

// No error if the role has the privilege already, or does not have it. They wait for a transaction that is changing the
// queue.
void add_grantee(int32 queue, model::Privilege privilege, const text *role);
void remove_grantee(int32 queue, model::Privilege privilege, const text *role);
void set_queue_owner(int32 queue, const text *owner);

} // namespace scylla::store
