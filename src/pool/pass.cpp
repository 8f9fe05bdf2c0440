#include "pool/pass.h"

#include "pg/memory.h"
#include "pg/text.h"
#include "pool/at_once.h"
#include "pool/placing.h"
#include "shmem/pending.h"
#include "store/locks.h"
#include "task/gates.h"
#include "task/line.h"
#include "task/makers.h"

namespace scylla {

using model::Refusal;
using model::Started;
using model::Waiting;
using store::Sight;
using store::Store;
using store::TableId;

namespace {

// ---- starting ------------------------------------------------------------------------------------------------------

// The line as the model accesses it.
struct Line {
    Pass *pass;
    const PassRequest *request; // null: nothing is written
    std::size_t placed;
    bool scanning;
    store::Scan scan; // of the class that `scanned` names
    std::size_t scanned;
    MemoryContext outside;          // of the pass
    Growing<PlacedTask> of_plans{}; // placed tasks that belong to a plan
    store::Dirty *dirty = nullptr;

    Started start(std::size_t c, std::size_t way);
    bool is_waiting(std::size_t c);
    bool next(std::size_t c, Waiting *first);
};

bool is_in_line(Store &store, int64 task) {
    store::Scan scan = scan_lines_of(store, task);
    const bool found = next(scan);
    end(scan);
    return found;
}

Started Line::start(std::size_t c, std::size_t way) {
    if (request == nullptr)
        return Started::yes;
    CHECK_FOR_INTERRUPTS();
    Store &store = *pass->store;
    const KnownShape &shape = pass->known_shapes[pass->classes[c].shape];
    const int64 id = pass->classes[c].first.id;
    pass->known_classes[c].taken = true;
    const auto spec = find_spec(store, id, store::With::no_spec);
    const auto waiting = spec ? find_waiting(store, id) : std::nullopt;
    // Different needs: the same class by a hash collision.
    if (!waiting || waiting->due || !same_needs(spec->needs, shape.needs) || (pass->renewed && !is_in_line(store, id)))
        return Started::gone;
    if (take(store, TableId::waiting, *spec, waiting->tid, Wait::no) != store::Taken::ok)
        return Started::gone;
    leave_pools(store, *spec, true); // also reservations that it already has, which only a restore can cause
    text *chosen = nullptr;
    reserve(store, *pass, *spec, shape, way, &chosen);
    make_ready(store, *spec, waiting->carry, pass->now);
    if (request->tells)
        for (const std::size_t pool : shape.pools)
            shmem::note_pool(row_of(*pass, pool).id);
    if (request->sink.put != nullptr)
        request->sink.put(request->sink.to, *spec, chosen);
    if (spec->plan)
        of_plans.add({spec->id, *spec->plan}, outside);
    placed++;
    return Started::yes;
}

// Not read from the line: other passes count as soon as they have ended, but the line shows their changes only once
// they are committed.
bool Line::is_waiting(std::size_t c) {
    if (dirty == nullptr)
        dirty = store::begin_dirty(*pass->store);
    store::WaitingRow row;
    return see_waiting(dirty, pass->classes[c].first.id, &row) == store::Sight::present;
}

bool Line::next(std::size_t c, Waiting *first) {
    KnownClass &known = pass->known_classes[c];
    const store::LineRow &row = known.line;
    if (!scanning || scanned != c) {
        if (!scanning)
            scan = scan_class(*pass->store, row.pool, row.task_class, first->id);
        else
            restart_class(scan, row.pool, row.task_class, first->id);
        scanning = true;
        scanned = c;
    }
    const bool found = store::next(scan);
    if (found)
        *first = waiting_of(*pass, line_row(scan), known.aging);
    else
        restart_class(scan, row.pool, row.task_class, PG_INT64_MAX); // so that it is not asked again
    known.stayed = known.stayed || !known.taken;
    known.taken = false;
    if (!known.stayed) {
        known.first = *first;
        known.ended = !found;
    }
    return found;
}

// Lets the model decide.
void decide(Pass &pass, std::size_t limit, Line &line) {
    count_all_reservations(pass);
    MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "scylla placement", ALLOCSET_DEFAULT_SIZES);
    MemoryContext outer = MemoryContextSwitchTo(memory);
    const std::size_t running = pass.ends.count;
    model::PlacementState state{.now = pass.now,
                                .pools = pass.pools.all(),
                                .cells = pass.cells.all(),
                                .shapes = pass.shapes.all(),
                                .classes = pass.classes.all(),
                                .ends = {},
                                .end_count = running,
                                .sorting = {},
                                .heap = allocate<std::size_t>(pass.classes.count),
                                .started = pass.started.all()};
    const std::size_t room = running + most_started(state, limit) * pass.widest;
    state.ends = allocate<model::End>(room);
    state.sorting = allocate<model::End>(room);
    std::copy_n(pass.ends.at, running, state.ends.begin());
    (void)place_tasks(state, allocate<model::Head>(pass.pools.count), limit, line);
    if (line.scanning)
        end(line.scan);
    if (line.dirty != nullptr)
        end(line.dirty);
    MemoryContextSwitchTo(outer);
    MemoryContextDelete(memory);
}

void note_heads(const Pass &pass) {
    for (const LineCursor &line : pass.lines.all()) {
        const model::Head &head = pass.pools[line.pool].head;
        const PoolRow &row = row_of(pass, line.pool);
        if (head.passed > 0 && (head.task != row.head || head.passed != row.passed))
            store::pools::note_passed(row.id, head.task, head.passed);
    }
}

} // namespace

std::span<const int64> pools_in_line(Store &store) {
    Growing<int64> pools;
    store::Scan scan = scan_lines(store, PG_INT64_MIN);
    while (next(scan)) {
        CHECK_FOR_INTERRUPTS();
        pools.add(line_row(scan).pool);
        restart_lines(scan, pools.last());
    }
    end(scan);
    return pools.all();
}

void open_tables_of_pass(Store &store) {
    for (const TableId table : {TableId::spec, TableId::waiting, TableId::ready, TableId::gate, TableId::reservation})
        (void)store[table];
    (void)store::pools::by_ids(std::span<const int64>{});
    (void)store::pools::by_names(std::span<const std::string_view>{});
}

void lock_passes(Store &store) {
    const LOCKTAG tag = passes_lock_tag(store);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    CommandCounterIncrement();
    refresh(store);
}

void unlock_passes(Store &store) {
    const LOCKTAG tag = passes_lock_tag(store);
    (void)LockRelease(&tag, ExclusiveLock, false);
}

PassResult place_read(Pass &pass, const PassRequest &request, MemoryContext caller) {
    Store &store = *pass.store;
    Line line{.pass = &pass,
              .request = &request,
              .placed = 0,
              .scanning = false,
              .scan = {},
              .scanned = 0,
              .outside = caller};
    decide(pass, request.limit, line);
    if (line.placed > 0) {
        note_heads(pass);
        if (request.tells)
            shmem::note_placed();
        CommandCounterIncrement();
    }
    MemoryContext memory = MemoryContextSwitchTo(caller);
    unlock_passes(store);
    tell_placed(store, line.of_plans.all());
    MemoryContextSwitchTo(memory);
    return {line.placed, line.placed >= request.limit};
}

PassResult run_pass(Store &store, const PassRequest &request) {
    if (store::is_empty(store[TableId::line]))
        return {0, false};
    MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "scylla pass", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    open_tables_of_pass(store);
    lock_passes(store);
    Pass pass = begin_pass(store, request.all ? pools_in_line(store) : request.pools);
    if (!read_lines(pass, store, k_portion_of_classes)) {
        unlock_passes(store); // nobody waits for it longer than a portion takes
        (void)read_lines(pass, store, SIZE_MAX);
        lock_passes(store);
        renew(pass, store);
    }
    const PassResult result = place_read(pass, request, caller);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(memory);
    return result;
}

namespace {

const char *name_of(const Pass &pass, std::size_t pool) {
    return pool == k_nothing ? "" : text_to_cstring(row_of(pass, pool).name);
}

const char *show(const Pass &pass, const Refusal &refusal) {
    const std::size_t pool = refusal.cell != model::k_none_of ? pass.cells[refusal.cell].pool : k_nothing;
    const std::string_view resource = refusal.cell != model::k_none_of ? pass.resources[refusal.cell] : "";
    const char *what = pnstrdup(resource.data(), resource.size());
    switch (refusal.reason) {
    case model::Reason::none:
        return "its turn has come";
    case model::Reason::lacking:
        return psprintf("%s short by %s in pool %s", what, scylla::show(refusal.amount), name_of(pass, pool));
    case model::Reason::too_much:
        return resource.empty() ? psprintf("pool %s does not have a resource any more", name_of(pass, pool))
                                : psprintf("%s exceeds the capacity of pool %s by %s", what, name_of(pass, pool),
                                           scylla::show(refusal.amount));
    case model::Reason::closed:
        if (pool == k_nothing)
            return "the pool does not exist any more";
        return psprintf(row_of(pass, pool).drained ? "pool %s is drained" : "the metrics of pool %s are too old",
                        name_of(pass, pool));
    case model::Reason::behind:
        return psprintf("behind the head of pool %s", name_of(pass, pool));
    case model::Reason::delaying:
        return psprintf("would delay the head of pool %s", name_of(pass, pool));
    case model::Reason::kept:
        return psprintf("%s of pool %s is kept for its head", what, name_of(pass, pool));
    }
    return "";
}

} // namespace

Explanation explain_lines(Store &store, std::optional<int64> pool) {
    constexpr std::size_t k_limit = 10'000;
    if (store::is_empty(store[TableId::line]))
        return {};
    Pass pass = begin_pass(store, pool ? std::span<const int64>(&*pool, 1) : pools_in_line(store));
    (void)read_lines(pass, store, SIZE_MAX);
    Line line{.pass = &pass,
              .request = nullptr,
              .placed = 0,
              .scanning = false,
              .scan = {},
              .scanned = 0,
              .outside = CurrentMemoryContext};
    decide(pass, k_limit, line);
    Growing<WaitReason> reasons;
    for (std::size_t c = 0; c < pass.classes.count; c++) {
        const store::LineRow &first = pass.known_classes[c].line;
        reasons.add({first.task_class, first.queue, first.pool, show(pass, pass.classes[c].refusal)});
    }
    Growing<PlannedHead> heads;
    for (std::size_t p = 1; p < pass.pools.count; p++)
        if (const model::Head &head = pass.pools[p].head; head.of != model::k_none_of)
            heads.add({row_of(pass, p).id, head.task, pass.known_classes[head.of].line.queue,
                       head.start != model::k_no_time ? std::optional(head.start) : std::nullopt});
    return {reasons.all(), heads.all()};
}

namespace {

// ---- gates ---------------------------------------------------------------------------------------------------------

// A task is in line as long as it waits for pools only.
Verdict judge(store::Dirty *dirty, const store::GateRow &gate) {
    switch (see_line(dirty, gate.task)) {
    case Sight::absent:
        return Verdict::open;
    case Sight::in_doubt:
        return Verdict::in_doubt;
    case Sight::present:
        break;
    }
    return Verdict::closed;
}

// The reason that the line gives for the task of a gate.
Reason describe(Store &store, const store::GateRow &gate) {
    Reason reason{"a pool", std::nullopt, std::nullopt, "The monitor, or scylla.place(), has not placed it yet."};
    const auto pools = store::pools::by_ids(std::span<const int64>(&gate.provider, 1));
    if (pools.empty() || !may_see(pools[0]))
        return reason;
    reason.waits_for = psprintf("pool %s", text_to_cstring(pools[0].name));
    const Explanation lines = explain_lines(store, gate.provider);
    int64 task_class = PG_INT64_MIN;
    store::Scan scan = scan_lines_of(store, gate.task);
    while (next(scan))
        task_class = line_row(scan).task_class;
    end(scan);
    for (const WaitReason &each : lines.reasons)
        if (each.task_class == task_class)
            reason.detail = psprintf("Not placed: %s.", each.reason);
    for (const PlannedHead &head : lines.heads)
        if (head.pool == gate.provider && head.task == gate.task)
            reason.until = head.start;
    return reason;
}

const char *label(Store &, const store::GateRow &gate) {
    for (const PoolRow &pool : store::pools::by_ids(std::span<const int64>(&gate.provider, 1)))
        if (may_see(pool))
            return psprintf("pool %s", text_to_cstring(pool.name));
    return "a pool";
}

} // namespace

void register_pools() {
    register_gates({.kind = store::GateKind::pool,
                    .judge = judge,
                    .has = [](store::Dirty *, int64) { return false; },
                    .describe = describe,
                    .label = label,
                    .consider = nullptr});
    register_needs({.pools = find_pools, .reserve = reserve_at_once});
    store::pools_changed_hook = require_found_pools;
    register_placing();
}

} // namespace scylla
