// The pools: resources, settings, rights.
#pragma once

#include "model/placement.h"
#include "pool/needs.h"
#include "store/pool/pools.h"
#include "store/rows.h"
#include "task/line.h"

namespace scylla {

enum class PoolPrivilege : std::uint8_t { use, report, admin };
inline constexpr std::array<const char *, 3> k_pool_privileges = {"use", "report", "admin"};

inline constexpr int32 k_max_bypass = 100; // by default

struct PoolSettings {
    Jsonb *capacity; // null in a change: unchanged
    std::optional<model::Policy> policy;
    std::optional<int32> max_bypass;
    bool changes_max_age = false;
    Interval *metrics_max_age = nullptr; // null: reports are not needed
};

using PoolRow = store::pools::Pool;

// True: its report is out of date, so no task may be placed.
bool is_stale(const PoolRow &pool, TimestampTz now);
bool may(const PoolRow &pool, PoolPrivilege privilege);
// Any of them.
bool may_see(const PoolRow &pool);

// Those that the current user may watch, by pool and resource.
std::span<const store::pools::Numbers> read_pool_numbers();

// 42704, 42501.
PoolRow require_pool(const text *name); // without looking at rights
PoolRow require_pool(const text *name, PoolPrivilege privilege);

void create_pool(const text *name, const PoolSettings &settings); // 42710
void alter_pool(const text *name, const PoolSettings &changes);
void set_drained(const text *name, bool drained);
void report_usage(const text *name, Jsonb *used, TimestampTz at);
// 2BP01 while a live task needs it, or a task that another transaction is submitting.
void drop_pool(store::Store &store, const text *name);
void grant_pool(const text *name, const text *role, PoolPrivilege privilege);
void revoke_pool(const text *name, const text *role, PoolPrivilege privilege);

// For store::pools_changed_hook: 42704 if a pool that the verb has found is gone.
void require_found_pools(store::Store &store);

// The ids of the pools that needs name, checked against what the pools have. 22023, 42704, 42501.
std::span<const int64> find_pools(store::Store &store, Jsonb *needs, const NeedsFrom &from);

} // namespace scylla
