// What a pass of placement is given, task by task, with two ways to the result: the model, and a reference that goes
// through the tasks one by one and looks at everything again for each.
#pragma once

#include "model/placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace scenario {

using scylla::model::Amount;
using scylla::model::End;
using scylla::model::Head;
using scylla::model::k_no_time;
using scylla::model::k_none_of;
using scylla::model::Need;
using scylla::model::Policy;
using scylla::model::Reason;
using scylla::model::Refusal;
using scylla::model::Waiting;

struct Cell {
    std::size_t pool;
    Amount capacity;
    Amount free;
};
struct Pool {
    Policy policy = Policy::greedy;
    bool closed = false;
    std::int64_t max_bypass = 100;
    Head head{};
};
using Needs = std::vector<Need>;
struct Task {
    std::vector<Needs> ways;
    Waiting at; // rank, created, id
    std::int64_t runtime = k_no_time;
    bool gone = false; // somebody else has just taken it
    std::size_t role = 0;
};
struct Scenario {
    std::int64_t now = 0;
    std::vector<Pool> pools;
    std::vector<Cell> cells;
    std::vector<Task> tasks;
    std::vector<End> running;
    std::size_t limit = 1'000'000;
};

struct Start {
    std::int64_t id;
    std::size_t way;
    bool operator==(const Start &) const = default;
};
struct Result {
    std::vector<Start> starts;
    std::vector<Head> heads;                  // of each pool; `of` is not compared
    std::map<std::int64_t, Refusal> refusals; // of the first task of each class that stays
    bool complete = true;
    std::size_t classes = 0;
};

// ---- the model -----------------------------------------------------------------------------------------------------

class Model {
public:
    explicit Model(const Scenario &from) : from_(from) {
        for (std::size_t t = 0; t < from.tasks.size(); t++)
            members_[key_of(from.tasks[t])].push_back(t);
        for (auto &[key, members] : members_) {
            std::sort(members.begin(), members.end(),
                      [&](std::size_t a, std::size_t b) { return comes_before(from.tasks[a].at, from.tasks[b].at); });
            lists_.push_back(&members);
        }
    }

    Result run() {
        using namespace scylla::model;
        std::vector<std::vector<Way>> ways(lists_.size());
        std::vector<Shape> shapes(lists_.size());
        std::vector<TaskClass> classes(lists_.size());
        std::size_t widest = 0;
        std::size_t roles = 0;
        for (std::size_t c = 0; c < lists_.size(); c++) {
            const Task &first = from_.tasks[lists_[c]->front()];
            for (const Needs &needs : first.ways) {
                ways[c].push_back({needs});
                widest = std::max(widest, needs.size());
            }
            shapes[c] = {ways[c]};
            classes[c] = {c, first.runtime, first.at, {}, first.role};
            roles = std::max(roles, first.role + 1);
        }
        std::vector<PlacementPool> pools;
        for (const Pool &pool : from_.pools)
            pools.push_back({pool.policy, pool.closed, pool.max_bypass, pool.head});
        std::vector<ResourceCell> cells;
        for (const Cell &cell : from_.cells)
            cells.push_back({cell.pool, cell.capacity, cell.free});
        std::vector<End> ends = from_.running;
        ends.resize(ends.size() + from_.tasks.size() * widest);
        std::vector<End> sorting(ends.size());
        std::vector<std::size_t> heap(classes.size());
        std::vector<Head> before(pools.size());
        std::vector<std::size_t> started(roles);
        PlacementState state{from_.now, pools, cells,  shapes, classes, ends, from_.running.size(),
                             sorting,   heap,  started};
        at_.assign(lists_.size(), 0);
        result_.complete = place_tasks(state, before, from_.limit, *this);
        for (const PlacementPool &pool : pools)
            result_.heads.push_back(pool.head);
        for (const TaskClass &each : classes)
            if (each.refusal.reason != Reason::none)
                result_.refusals[each.first.id] = each.refusal;
        result_.classes = classes.size();
        return result_;
    }

    scylla::model::Started start(std::size_t c, std::size_t way) {
        const Task &task = from_.tasks[(*lists_[c])[at_[c]]];
        if (task.gone)
            return scylla::model::Started::gone;
        result_.starts.push_back({task.at.id, way});
        return scylla::model::Started::yes;
    }
    bool is_waiting(std::size_t c) const { return !from_.tasks[(*lists_[c])[at_[c]]].gone; }
    bool next(std::size_t c, Waiting *first) {
        if (++at_[c] == lists_[c]->size())
            return false;
        *first = from_.tasks[(*lists_[c])[at_[c]]].at;
        return true;
    }

private:
    using Key =
        std::pair<std::pair<std::int64_t, std::size_t>, std::vector<std::vector<std::pair<std::size_t, std::int64_t>>>>;

    static Key key_of(const Task &task) {
        Key key{{task.runtime, task.role}, {}};
        for (const Needs &needs : task.ways) {
            key.second.emplace_back();
            for (const Need &need : needs)
                key.second.back().emplace_back(need.cell, static_cast<std::int64_t>(need.amount));
        }
        return key;
    }

    const Scenario &from_;
    std::map<Key, std::vector<std::size_t>> members_;
    std::vector<const std::vector<std::size_t> *> lists_;
    std::vector<std::size_t> at_;
    Result result_;
};

// ---- the reference -------------------------------------------------------------------------------------------------

class Reference {
public:
    explicit Reference(const Scenario &from) : from_(from), running_(from.running) {
        for (const Cell &cell : from.cells)
            free_.push_back(cell.free);
        result_.heads.resize(from.pools.size());
        stopped_.resize(from.pools.size());
        needs_.resize(from.pools.size());
    }

    Result run() {
        std::vector<const Task *> order;
        for (const Task &task : from_.tasks)
            order.push_back(&task);
        std::sort(order.begin(), order.end(), [](const Task *a, const Task *b) { return comes_before(a->at, b->at); });
        for (const Task *task : order) {
            const auto way = find(*task);
            if (!way) {
                if (!task->gone)
                    stay(*task);
                continue;
            }
            if (result_.starts.size() == from_.limit) {
                result_.complete = false;
                return result_;
            }
            if (!task->gone)
                start(*task, *way);
        }
        return result_;
    }

private:
    std::size_t pool_of(const Need &need) const { return from_.cells[need.cell].pool; }

    bool possible(const Needs &way) const {
        return std::all_of(way.begin(), way.end(), [&](const Need &need) {
            return !from_.pools[pool_of(need)].closed && need.amount <= from_.cells[need.cell].capacity;
        });
    }
    Amount free_at(std::size_t cell, std::int64_t at) const {
        Amount free = free_[cell];
        for (const End &end : running_)
            free += end.cell == cell && end.at <= at ? end.amount : 0;
        return free;
    }
    Amount needed_by_head(std::size_t pool, std::size_t cell) const {
        for (const Need &need : needs_[pool])
            if (need.cell == cell)
                return need.amount;
        return 0;
    }
    bool disturbs(const Need &need, std::int64_t runtime) const {
        const std::size_t pool = pool_of(need);
        const Head &head = result_.heads[pool];
        const Amount of_head = needed_by_head(pool, need.cell);
        if (head.task == 0 || need.amount == 0 || of_head == 0)
            return false;
        if (head.start == k_no_time)
            return head.passed >= from_.pools[pool].max_bypass;
        const bool over = runtime == k_no_time || from_.now + runtime > head.start;
        return over && free_at(need.cell, head.start) - need.amount < of_head;
    }
    std::optional<std::size_t> find(const Task &task) const {
        for (std::size_t w = 0; w < task.ways.size(); w++) {
            bool fits = possible(task.ways[w]);
            for (const Need &need : task.ways[w])
                fits = fits && !stopped_[pool_of(need)] && !disturbs(need, task.runtime) &&
                       (need.amount == 0 || need.amount <= free_[need.cell]);
            if (fits)
                return w;
        }
        return std::nullopt;
    }
    void start(const Task &task, std::size_t way) {
        result_.starts.push_back({task.at.id, way});
        std::vector<bool> counted(from_.pools.size());
        for (const Need &need : task.ways[way]) {
            free_[need.cell] -= need.amount;
            if (task.runtime != k_no_time)
                running_.push_back({from_.now + task.runtime, need.cell, need.amount});
            if (result_.heads[pool_of(need)].task != 0 && !counted[pool_of(need)])
                result_.heads[pool_of(need)].passed++;
            counted[pool_of(need)] = true;
        }
    }
    // The first time at which all of it is free.
    std::int64_t plan(const Needs &way) const {
        std::vector<std::int64_t> times{from_.now};
        for (const End &end : running_)
            times.push_back(std::max(end.at, from_.now));
        std::sort(times.begin(), times.end());
        for (const std::int64_t at : times)
            if (std::all_of(way.begin(), way.end(), [&](const Need &need) {
                    return need.amount == 0 || need.amount <= std::max(free_at(need.cell, at), free_[need.cell]);
                }))
                return at;
        return k_no_time;
    }
    void stay(const Task &task) {
        const Needs *chosen = nullptr;
        std::int64_t at = k_no_time;
        const std::vector<bool> stopped_before = stopped_;
        for (const Needs &way : task.ways) {
            if (!possible(way))
                continue;
            bool plannable = false;
            bool lacks = false;
            bool behind = false;
            for (const Need &need : way) {
                const std::size_t pool = pool_of(need);
                behind = behind || stopped_before[pool];
                lacks = lacks || (need.amount != 0 && need.amount > free_[need.cell]);
                stopped_[pool] = stopped_[pool] || from_.pools[pool].policy == Policy::strict;
                plannable =
                    plannable || (from_.pools[pool].policy == Policy::backfill && result_.heads[pool].task == 0);
            }
            const std::int64_t start = lacks && !behind ? plan(way) : k_no_time; // else others hold it up
            if (plannable && (chosen == nullptr || start < at)) {
                chosen = &way;
                at = start;
            }
        }
        if (chosen == nullptr)
            return;
        for (const Need &need : *chosen) {
            const std::size_t pool = pool_of(need);
            if (from_.pools[pool].policy != Policy::backfill || result_.heads[pool].task != 0)
                continue;
            const Head &before = from_.pools[pool].head;
            result_.heads[pool] = {task.at.id, 0, at, before.task == task.at.id ? before.passed : 0};
            needs_[pool] = *chosen;
        }
    }

    const Scenario &from_;
    std::vector<Amount> free_;
    std::vector<End> running_;
    std::vector<bool> stopped_;
    std::vector<Needs> needs_; // of the heads
    Result result_;
};

// ---- any scenario --------------------------------------------------------------------------------------------------

// Any scenario, small so that everything comes into the way of everything else.
// up_to(limit): a number from 0 to limit.
template <typename UpTo> Scenario make_scenario(UpTo up_to) {
    Scenario given;
    given.now = 100;
    const auto pools = static_cast<std::size_t>(1 + up_to(3));
    for (std::size_t p = 0; p < pools; p++) {
        given.pools.push_back({static_cast<Policy>(up_to(2)), up_to(9) == 0, up_to(3)});
        if (up_to(2) == 0)
            given.pools.back().head = {1 + up_to(5), 0, k_no_time, up_to(3)};
        for (std::int64_t r = up_to(2); r >= 0; r--) {
            const Amount capacity = up_to(12);
            given.cells.push_back({p, capacity, std::min<Amount>(capacity, up_to(14) - 2)});
        }
    }
    const auto needs_of = [&](std::size_t pool) {
        Needs needs;
        for (std::size_t c = 0; c < given.cells.size(); c++)
            if (given.cells[c].pool == pool && up_to(3) > 0)
                needs.push_back({c, up_to(6)});
        return needs;
    };
    const std::int64_t tasks = up_to(14);
    for (std::int64_t id = 1; id <= tasks; id++) {
        if (id > 1 && up_to(1) == 0) { // as one before
            given.tasks.push_back(given.tasks[static_cast<std::size_t>(up_to(given.tasks.size() - 1))]);
            given.tasks.back().at = {static_cast<double>(up_to(3)), up_to(3), id};
            continue;
        }
        Task made{
            {}, {static_cast<double>(up_to(3)), up_to(3), id}, up_to(2) == 0 ? k_no_time : up_to(60), up_to(9) == 0};
        const auto first = static_cast<std::size_t>(up_to(pools - 1));
        if (up_to(2) == 0) { // all of several
            Needs all;
            for (std::size_t p = 0; p < pools; p++)
                if (p == first || up_to(2) == 0) {
                    const Needs more = needs_of(p);
                    all.insert(all.end(), more.begin(), more.end());
                }
            made.ways = {all};
        } else
            for (std::size_t p = 0; p < pools; p++)
                if (p == first || up_to(2) == 0)
                    made.ways.push_back(needs_of(p));
        given.tasks.push_back(made);
    }
    for (std::int64_t i = up_to(6); i > 0; i--)
        given.running.push_back({80 + up_to(80), static_cast<std::size_t>(up_to(given.cells.size() - 1)), up_to(5)});
    if (up_to(4) == 0)
        given.limit = static_cast<std::size_t>(up_to(3));
    return given;
}

} // namespace scenario
