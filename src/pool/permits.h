// Pools of permits that workflows keep for themselves. Their names begin with "workflow:", and nobody else makes or
// alters one.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// Makes the pool with so many permits, or changes how many there are. Nothing: there is no bound any more; a pool that
// does not exist is not made.
void set_permits(const text *pool, const char *owner, std::optional<int64> count);
// Unless somebody is just changing or asking for it. No live task needs it.
void remove_permits(const text *pool);

// Of the pools with these names those that exist and have a bound.
struct PermitPool {
    text *name;
    const char *owner;
    ArrayType *users;
    ArrayType *admins;
};
std::span<const PermitPool> find_permits(std::span<const text *const> names);
// Whether tasks of the role may ask for them.
bool may_use(const PermitPool &pool, Oid role);

} // namespace scylla
