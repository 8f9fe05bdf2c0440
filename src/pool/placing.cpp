// The duty of the monitor that places tasks. A turn reads a bounded number of classes, so that very many of them in one
// pool delay neither the tasks of others nor the other duties: pools whose lines it cannot read to their ends rest, and
// a walk reads them in portions, one in each turn, and then places their tasks.
#include "pool/placing.h"

#include "pg/memory.h"
#include "shmem/pending.h"
#include "task/duty.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

// What a walk has read serves for so many microseconds, as long as there is room for more tasks than a turn places.
constexpr int64 k_use = 5 * USECS_PER_SEC;

struct Walk {
    MemoryContext memory; // of the pass; null: there is no walk
    Pass pass;
    TimestampTz read_at; // when the lines had been read to their ends; 0: not yet
    int64 took;          // its turns until now
};
constinit Walk walk{};
constinit Growing<int64> large{}; // pools whose lines the next walk reads

void end_walk() {
    if (walk.memory != nullptr)
        MemoryContextDelete(walk.memory);
    walk = {};
}

void leave_to_next_walk(int64 pool) { large.add(pool, TopMemoryContext); }

bool is_in_walk(int64 pool) {
    if (walk.memory == nullptr)
        return false;
    const auto rows = walk.pass.rows.all().first(walk.pass.seeds);
    const auto at =
        std::lower_bound(rows.begin(), rows.end(), pool, [](const PoolRow &row, int64 id) { return row.id < id; });
    return at != rows.end() && at->id == pool;
}

// Pools to look at now. Those of the walk have their turn when it has ended.
std::span<const int64> pools_of_turn(Store &store, const shmem::ChangedPools &changed) {
    if (changed.unannounced && walk.memory != nullptr)
        return {};
    Growing<int64> pools;
    for (const int64 pool : changed.all ? pools_in_line(store) : std::span(changed.pool).first(changed.count))
        if (is_in_walk(pool))
            leave_to_next_walk(pool);
        else
            pools.add(pool);
    return pools.all();
}

void note_resting(const Pass &pass) {
    for (std::size_t pool = k_nothing + 1; pool <= pass.seeds; pool++)
        if (pass.pools[pool].rests)
            leave_to_next_walk(row_of(pass, pool).id);
    for (const LineCursor &line : pass.lines.all())
        if (!line.done)
            leave_to_next_walk(row_of(pass, line.pool).id);
}

void pass_over(Store &store, std::span<const int64> pools, DutyTurn &turn) {
    MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "scylla pass", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    open_tables_of_pass(store);
    lock_passes(store);
    Pass pass = begin_pass(store, pools);
    const bool complete = read_lines(pass, store, k_portion_of_classes);
    if (!complete)
        let_unread_rest(pass);
    const PassResult result =
        place_read(pass, {.pools = {}, .limit = static_cast<std::size_t>(turn.portion.limit)}, caller);
    if (!complete)
        note_resting(pass);
    if (result.more)
        for (const int64 pool : pools)
            shmem::note_pool(pool);
    turn.portion.done += static_cast<int64>(result.placed);
    turn.portion.more = result.more;
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(memory);
}

void begin_walk(Store &store) {
    sort_once(large);
    walk.memory = AllocSetContextCreate(TopMemoryContext, "scylla walk through lines", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(walk.memory);
    walk.pass = begin_pass(store, large.all());
    MemoryContextSwitchTo(caller);
    large.clear();
}

void read_portion(Store &store) {
    MemoryContext caller = MemoryContextSwitchTo(walk.memory);
    if (read_lines(walk.pass, store, k_portion_of_classes))
        walk.read_at = GetCurrentTimestamp();
    MemoryContextSwitchTo(caller);
}

// True: the walk has ended.
bool place_portion(Store &store, DutyTurn &turn) {
    MemoryContext caller = MemoryContextSwitchTo(walk.memory);
    lock_passes(store);
    renew(walk.pass, store);
    const PassResult result =
        place_read(walk.pass, {.pools = {}, .limit = static_cast<std::size_t>(turn.portion.limit)}, caller);
    MemoryContextSwitchTo(caller);
    turn.portion.done += static_cast<int64>(result.placed);
    if (result.more && GetCurrentTimestamp() < walk.read_at + k_use)
        return false;
    if (result.more)
        for (const PoolRow &row : walk.pass.rows.all().first(walk.pass.seeds))
            leave_to_next_walk(row.id);
    return true;
}

void go_on(Store &store, DutyTurn &turn) {
    const TimestampTz began = GetCurrentTimestamp();
    open_tables_of_pass(store);
    refresh(store);
    if (walk.memory == nullptr)
        begin_walk(store);
    const bool ends = walk.read_at != 0 && place_portion(store, turn);
    if (walk.read_at == 0)
        read_portion(store);
    turn.portion.done++;
    walk.took += GetCurrentTimestamp() - began;
    if (ends) {
        turn.before = walk.took;
        end_walk();
    }
}

void forget_walk() {
    end_walk();
    large.clear();
}

void place_changed(Store &store, DutyTurn &turn) {
    constexpr int64 k_most = 10'000;
    const shmem::ChangedPools changed = shmem::take_changed_pools();
    if (store::is_empty(store[TableId::line])) {
        forget_walk();
        return;
    }
    if (turn.portion.limit > k_most) { // maintain()
        const PassResult result = run_pass(
            store, {.pools = std::span(changed.pool).first(changed.count), .all = changed.all, .limit = k_most});
        turn.portion.done = static_cast<int64>(result.placed);
        return;
    }
    if (const auto pools = pools_of_turn(store, changed); !pools.empty())
        pass_over(store, pools, turn);
    if (walk.memory != nullptr || large.count > 0)
        go_on(store, turn);
    turn.portion.more = turn.portion.more || walk.memory != nullptr || large.count > 0;
}

} // namespace

void register_placing() {
    // Unannounced, a pass over all lines is for what a prepared transaction has freed, and for runs that take longer
    // than expected.
    register_duty({.activity = "placing tasks",
                   .work = place_changed,
                   .timer = shmem::Timer::placement,
                   .share = 500,
                   .restart = forget_walk});
}

} // namespace scylla
