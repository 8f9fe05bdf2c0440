// Placement: which of the waiting tasks start now, so that their needs do not exceed the capacity of pools.
//
// A pool has resources; each is a cell here. Tasks that differ only by age are a class: same queue, same priority, same
// needs, same expected runtime. If one does not fit, no later one of its class fits in the same pass, because free
// amounts only shrink. So the cost of a pass is the number of classes and of tasks that start, however many wait.
//
// The policies:
//
//   * strict: the first task that does not fit stops its pools.
//   * greedy: a task that does not fit is overtaken.
//   * backfill: as greedy, but the first task that is overtaken in a pool becomes its head. Its start is planned from
//     the expected ends of running tasks, and no task starts that would delay it: a task that starts either ends
//     before, or takes what is spare even then. This is EASY backfilling (A. Mu'alem, D. Feitelson: Utilization,
//     predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling, IEEE TPDS
//     2001), for several resources and pools. If no start can be planned, because tasks without an expected runtime
//     hold what the head needs, then after max_bypass other tasks have overtaken it no other task gets the resources
//     that it needs.
//
// A task that none of its ways can serve, because a pool is closed or its needs exceed a capacity, does not wait for
// free capacity: it neither stops a pool nor becomes its head.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace scylla::model {

// In thousandths, so that decimals are exact. Less than 2^61 each, so that sums and differences of a few are exact too.
using Amount = std::int64_t;

enum class Policy : std::uint8_t { strict, greedy, backfill };
inline constexpr std::array<std::string_view, 3> k_policies = {"strict", "greedy", "backfill"};

inline constexpr std::int64_t k_no_time = std::numeric_limits<std::int64_t>::max();
inline constexpr std::size_t k_none_of = std::numeric_limits<std::size_t>::max();

// What a task needs of one resource.
struct Need {
    std::size_t cell;
    Amount amount;
};
// Needs that are met together, each cell once, those of one pool next to each other. A task has one way, or one for
// each pool that could serve; the first that fits is taken.
struct Way {
    std::span<const Need> needs;
};
struct Shape {
    std::span<const Way> ways;
};

struct ResourceCell {
    std::size_t pool;
    Amount capacity;
    Amount free;      // may be negative
    Amount spare = 0; // set by the pass: what a task may take that runs past the planned start of the head
    Amount held = 0;  // set by the pass: what the head needs
};

// The head of a pool: the task that was overtaken first.
struct Head {
    std::int64_t task = 0; // 0: none
    std::size_t of = k_none_of;
    std::int64_t start = k_no_time; // planned; k_no_time: it cannot be planned
    std::int64_t passed = 0;        // how many tasks have started before it since it became the head
};

struct PlacementPool {
    Policy policy;
    bool closed;                  // nothing starts
    std::int64_t max_bypass;      // so many tasks may overtake a head that has no planned start
    Head head{};                  // of the last pass, in; of this one, out
    bool stopped = false;         // set by the pass, of a strict pool
    bool rests = false;           // set by the pass: nothing more starts in it, so that the order of its line is kept
    std::size_t ends = k_none_of; // set by the pass: the chain of its ends
};

// A running task returns an amount. Those without an expected end are not in the list.
struct End {
    std::int64_t at;
    std::size_t cell;
    Amount amount;
    std::size_t next = k_none_of; // set by the pass
};

// The first task of a class that is still waiting.
struct Waiting {
    double rank; // the highest comes first
    std::int64_t created;
    std::int64_t id;
};

constexpr bool comes_before(const Waiting &a, const Waiting &b) noexcept {
    if (a.rank != b.rank)
        return a.rank > b.rank;
    return a.created != b.created ? a.created < b.created : a.id < b.id;
}

enum class Reason : std::uint8_t {
    none,     // all of the class have started, or were not reached
    lacking,  // of `cell`, by `amount`
    too_much, // of `cell` it needs `amount` more than the capacity
    closed,   // the pool of `cell`
    behind,   // the head of the pool of `cell` stops it
    delaying, // it would delay that head
    kept,     // what it needs is kept for that head
};
struct Refusal {
    Reason reason = Reason::none;
    std::size_t cell = k_none_of;
    Amount amount = 0;
};

struct TaskClass {
    std::size_t shape;
    std::int64_t runtime; // k_no_time: not known
    Waiting first{};
    Refusal refusal{};    // set by the pass: why its first task waits
    std::size_t role = 0; // whose it is: an index in `started`
};

// All that a pass works on. Memory is the caller's.
struct PlacementState {
    std::int64_t now;
    std::span<PlacementPool> pools;
    std::span<ResourceCell> cells;
    std::span<Shape> shapes;
    std::span<TaskClass> classes;
    std::span<End> ends;                 // with room for those of the tasks that start
    std::size_t end_count;               // so many are there
    std::span<End> sorting;              // as long as `ends`
    std::span<std::size_t> heap;         // as long as `classes`
    std::span<std::size_t> started = {}; // set by the pass: how many tasks of each role; empty: all are of one
};

// What the line does with a task: it has started, or is not there any more.
enum class Started : std::uint8_t { yes, gone };

namespace placement {

struct Fit {
    std::size_t way; // k_none_of: none
    Refusal refusal;
};

constexpr std::int64_t end_of(const PlacementState &state, std::int64_t runtime) noexcept {
    return runtime < k_no_time - state.now ? state.now + runtime : k_no_time;
}

// Whether the way could serve the task if its pools were empty.
constexpr Refusal judge_possible(const PlacementState &state, const Way &way) noexcept {
    for (const Need &need : way.needs) {
        const ResourceCell &cell = state.cells[need.cell];
        if (state.pools[cell.pool].closed)
            return {Reason::closed, need.cell, 0};
        if (need.amount > cell.capacity)
            return {Reason::too_much, need.cell, need.amount - cell.capacity};
    }
    return {};
}

constexpr Refusal judge_room(const PlacementState &state, const Way &way) noexcept {
    for (const Need &need : way.needs)
        if (need.amount > 0 && need.amount > state.cells[need.cell].free)
            return {Reason::lacking, need.cell, need.amount - state.cells[need.cell].free};
    return {};
}

constexpr bool keeps(const PlacementPool &pool) noexcept {
    return pool.head.of != k_none_of && pool.head.start == k_no_time && pool.head.passed >= pool.max_bypass;
}

// What the heads of its pools say.
constexpr Refusal judge_heads(const PlacementState &state, const Way &way, std::int64_t runtime) noexcept {
    for (const Need &need : way.needs) {
        const ResourceCell &cell = state.cells[need.cell];
        const PlacementPool &pool = state.pools[cell.pool];
        if (pool.stopped)
            return {Reason::behind, need.cell, 0};
        if (pool.head.of == k_none_of || need.amount == 0 || cell.held == 0)
            continue;
        if (keeps(pool))
            return {Reason::kept, need.cell, 0};
        if (pool.head.start != k_no_time && end_of(state, runtime) > pool.head.start && need.amount > cell.spare)
            return {Reason::delaying, need.cell, 0};
    }
    return {};
}

constexpr Fit find_way(const PlacementState &state, const TaskClass &of) noexcept {
    Fit fit{k_none_of, {}};
    const std::span<const Way> ways = state.shapes[of.shape].ways;
    for (std::size_t w = 0; w < ways.size(); w++) {
        Refusal refusal = judge_possible(state, ways[w]);
        const bool possible = refusal.reason == Reason::none;
        if (possible)
            refusal = judge_room(state, ways[w]);
        if (refusal.reason == Reason::none)
            refusal = judge_heads(state, ways[w], of.runtime);
        if (refusal.reason == Reason::none)
            return {w, {}};
        // What a possible way says tells more.
        const Reason before = fit.refusal.reason;
        if (before == Reason::none || (possible && (before == Reason::closed || before == Reason::too_much)))
            fit.refusal = refusal;
    }
    return fit;
}

inline void add_end(PlacementState &state, std::size_t at) noexcept {
    PlacementPool &pool = state.pools[state.cells[state.ends[at].cell].pool];
    state.ends[at].next = pool.ends;
    pool.ends = at;
}

// Takes what the task needs.
inline void start(PlacementState &state, const TaskClass &of, const Way &way) noexcept {
    const std::int64_t end = end_of(state, of.runtime);
    std::size_t counted = k_none_of; // the pool whose head was counted last
    for (const Need &need : way.needs) {
        ResourceCell &cell = state.cells[need.cell];
        PlacementPool &pool = state.pools[cell.pool];
        cell.free -= need.amount;
        if (pool.head.of != k_none_of && end > pool.head.start)
            cell.spare -= need.amount;
        if (pool.head.of != k_none_of && counted != cell.pool)
            pool.head.passed++;
        counted = cell.pool;
        if (end != k_no_time && need.amount > 0 && state.end_count < state.ends.size()) {
            state.ends[state.end_count] = {end, need.cell, need.amount};
            add_end(state, state.end_count++);
        }
    }
}

// When so much of a resource will be free, by the expected ends.
inline std::int64_t plan_cell(const PlacementState &state, const Need &need) noexcept {
    const ResourceCell &cell = state.cells[need.cell];
    if (need.amount == 0 || need.amount <= cell.free)
        return state.now;
    std::size_t count = 0;
    for (std::size_t e = state.pools[cell.pool].ends; e != k_none_of; e = state.ends[e].next)
        if (state.ends[e].cell == need.cell)
            state.sorting[count++] = state.ends[e];
    const auto sorted = state.sorting.first(count);
    std::sort(sorted.begin(), sorted.end(), [](const End &a, const End &b) { return a.at < b.at; });
    Amount free = cell.free;
    for (const End &end : sorted) {
        free += end.amount;
        if (need.amount <= free)
            return std::max(end.at, state.now);
    }
    return k_no_time;
}

inline std::int64_t plan_way(const PlacementState &state, const Way &way) noexcept {
    std::int64_t at = state.now;
    for (const Need &need : way.needs)
        at = std::max(at, plan_cell(state, need));
    return at;
}

inline Amount free_at(const PlacementState &state, std::size_t cell, std::int64_t at) noexcept {
    Amount free = state.cells[cell].free;
    for (std::size_t e = state.pools[state.cells[cell].pool].ends; e != k_none_of; e = state.ends[e].next)
        if (state.ends[e].cell == cell && state.ends[e].at <= at)
            free += state.ends[e].amount;
    return free;
}

// Makes the first task of the class the head of the pools of a way that have none.
inline void become_head(PlacementState &state, std::size_t c, const Way &way, std::int64_t at,
                        std::span<const Head> before) noexcept {
    const std::int64_t task = state.classes[c].first.id;
    for (const Need &need : way.needs) {
        ResourceCell &cell = state.cells[need.cell];
        PlacementPool &pool = state.pools[cell.pool];
        if (pool.policy != Policy::backfill || (pool.head.of != k_none_of && pool.head.task != task))
            continue;
        if (pool.head.of == k_none_of)
            pool.head = {task, c, at, before[cell.pool].task == task ? before[cell.pool].passed : 0};
        cell.held = need.amount;
        cell.spare = at != k_no_time ? free_at(state, need.cell, at) - need.amount : 0;
    }
}

inline void stop_pools(PlacementState &state, const Way &way) noexcept {
    for (const Need &need : way.needs) {
        PlacementPool &pool = state.pools[state.cells[need.cell].pool];
        pool.stopped = pool.stopped || pool.policy == Policy::strict;
    }
}

// Whether a backfill pool of the way has no head.
constexpr bool wants_head(const PlacementState &state, const Way &way) noexcept {
    return std::any_of(way.needs.begin(), way.needs.end(), [&](const Need &need) {
        const PlacementPool &pool = state.pools[state.cells[need.cell].pool];
        return pool.policy == Policy::backfill && pool.head.of == k_none_of;
    });
}

// When a task that stays can start by this way. A task that is behind the head of another pool, and does not only lack
// free capacity, cannot be planned.
inline std::int64_t plan_start(const PlacementState &state, const Way &way) noexcept {
    const bool behind = std::any_of(way.needs.begin(), way.needs.end(),
                                    [&](const Need &need) { return state.pools[state.cells[need.cell].pool].stopped; });
    return behind || judge_room(state, way).reason == Reason::none ? k_no_time : plan_way(state, way);
}

// The effect on others of a task that stays: it becomes the head where its start is planned first. True: the next of
// its class can become the head of another pool that could serve it.
inline bool stay(PlacementState &state, std::size_t c, std::span<const Head> before) noexcept {
    const Way *chosen = nullptr;
    std::int64_t at = k_no_time;
    std::size_t candidates = 0;
    for (const Way &way : state.shapes[state.classes[c].shape].ways) {
        if (judge_possible(state, way).reason != Reason::none || !wants_head(state, way))
            continue;
        candidates++;
        const std::int64_t start = plan_start(state, way);
        if (chosen == nullptr || start < at) {
            chosen = &way;
            at = start;
        }
    }
    for (const Way &way : state.shapes[state.classes[c].shape].ways)
        if (judge_possible(state, way).reason == Reason::none)
            stop_pools(state, way);
    if (chosen != nullptr)
        become_head(state, c, *chosen, at, before);
    return candidates > 1;
}

// Whether a task that stays affects others: it would be the head of a pool, or stop its line.
constexpr bool holds_up(const PlacementState &state, const TaskClass &of) noexcept {
    const std::span<const Way> ways = state.shapes[of.shape].ways;
    return std::any_of(ways.begin(), ways.end(), [&](const Way &way) {
        return judge_possible(state, way).reason == Reason::none &&
               (wants_head(state, way) || std::any_of(way.needs.begin(), way.needs.end(), [&](const Need &need) {
                    const PlacementPool &pool = state.pools[state.cells[need.cell].pool];
                    return pool.policy == Policy::strict && !pool.stopped;
                }));
    });
}

constexpr bool rests(const PlacementState &state, const TaskClass &of) noexcept {
    const std::span<const Way> ways = state.shapes[of.shape].ways;
    return std::any_of(ways.begin(), ways.end(), [&](const Way &way) {
        return std::any_of(way.needs.begin(), way.needs.end(),
                           [&](const Need &need) { return state.pools[state.cells[need.cell].pool].rests; });
    });
}

inline void let_rest(PlacementState &state, const TaskClass &of) noexcept {
    for (const Way &way : state.shapes[of.shape].ways)
        for (const Need &need : way.needs)
            state.pools[state.cells[need.cell].pool].rests = true;
}

// How many tasks a pass starts: `limit` in their order. Then those of roles of which it has started little have their
// turn, where they need no pool in which others wait before them: so very many tasks of one role do not delay the few
// of another.
struct Bounds {
    std::size_t limit;
    std::size_t most;
    std::size_t little;
    std::size_t started = 0;
};

constexpr Bounds bounds_of(const PlacementState &state, std::size_t limit) noexcept {
    const std::size_t more = state.started.size() < 2 ? 0 : std::min(limit / 2, SIZE_MAX - limit);
    return {limit, limit + more, std::max(limit / 10, std::size_t{1})};
}

constexpr bool may_start(const PlacementState &state, const Bounds &bounds, const TaskClass &of) noexcept {
    return bounds.started < bounds.limit || state.started[of.role] < bounds.little;
}

} // namespace placement

// The most that place_tasks() starts.
constexpr std::size_t most_started(const PlacementState &state, std::size_t limit) noexcept {
    return placement::bounds_of(state, limit).most;
}

// Starts what can start, `limit` tasks, and half as many again of roles of which there were few among these. `line` is
// asked for each task that is to start:
//   Started start(std::size_t task_class, std::size_t way): the first task of the class;
//   bool next(std::size_t task_class, Waiting *first): the class's next task after it;
// and before one that stays holds others up:
//   bool is_waiting(std::size_t task_class): false: another transaction has just taken the first task of the class.
// `before`: as long as the pools, for the heads of the last pass. False: the limit was reached.
template <typename Line>
bool place_tasks(PlacementState &state, std::span<Head> before, std::size_t limit, Line &&line) {
    for (std::size_t p = 0; p < state.pools.size(); p++) {
        before[p] = state.pools[p].head;
        state.pools[p].head = {};
    }
    for (std::size_t e = 0; e < state.end_count; e++)
        placement::add_end(state, e);
    const auto later = [&](std::size_t a, std::size_t b) {
        return comes_before(state.classes[b].first, state.classes[a].first);
    };
    for (std::size_t c = 0; c < state.classes.size(); c++)
        state.heap[c] = c;
    auto heap = state.heap.first(state.classes.size());
    std::make_heap(heap.begin(), heap.end(), later);
    std::fill(state.started.begin(), state.started.end(), 0);
    placement::Bounds bounds = placement::bounds_of(state, limit);
    bool complete = true;
    while (!heap.empty()) {
        TaskClass &of = state.classes[heap.front()];
        const std::size_t c = heap.front();
        const placement::Fit fit = placement::find_way(state, of);
        const bool stays = fit.way == k_none_of;
        if (!stays && bounds.started == bounds.most)
            return false;
        std::pop_heap(heap.begin(), heap.end(), later);
        bool goes_on = true;
        if (placement::rests(state, of) || (!stays && !placement::may_start(state, bounds, of))) {
            placement::let_rest(state, of);
            complete = goes_on = false;
        } else if (stays && placement::holds_up(state, of) && !line.is_waiting(c)) {
            // Its needs are counted as taken already, by the task itself: they must not be kept for it once more.
        } else if (stays) {
            of.refusal = fit.refusal;
            goes_on = placement::stay(state, c, before);
        } else if (line.start(c, fit.way) == Started::yes) {
            placement::start(state, of, state.shapes[of.shape].ways[fit.way]);
            bounds.started++;
            if (!state.started.empty())
                state.started[of.role]++;
        }
        if (goes_on && line.next(c, &of.first))
            std::push_heap(heap.begin(), heap.end(), later);
        else
            heap = heap.first(heap.size() - 1);
    }
    return complete;
}

} // namespace scylla::model
