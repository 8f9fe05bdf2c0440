#include "pool/pass.h"

#include "model/aging.h"
#include "pg/growing.h"
#include "pg/hash.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "pool/at_once.h"
#include "pool/room.h"
#include "shmem/pending.h"
#include "store/locks.h"
#include "task/duty.h"
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

// ---- state of a pass -----------------------------------------------------------------------------------------------

struct KnownClass {
    store::LineRow first;
    float8 aging;
};

// Finds the index of an element by a key.
struct Index {
    HTAB *table;
};
struct IndexEntry {
    uint64 key;
    std::size_t at;
};

Index make_index(const char *name) {
    HASHCTL control{};
    control.keysize = sizeof(uint64);
    control.entrysize = sizeof(IndexEntry);
    control.hcxt = CurrentMemoryContext;
    return {hash_create(name, 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT)};
}

// The index of the key's element. A new key is entered with the index `otherwise`.
std::size_t enter(const Index &index, uint64 key, std::size_t otherwise, bool *is_new) {
    bool found = false;
    auto *entry = static_cast<IndexEntry *>(hash_search(index.table, &key, HASH_ENTER, &found));
    if (!found)
        entry->at = otherwise;
    *is_new = !found;
    return entry->at;
}

struct Pass : Room {
    Store *store;
    Growing<bool> has_line;     // of a pool: its line is in `classes`, or in `lines`
    Growing<std::size_t> lines; // pools whose lines are to be read
    Growing<KnownShape> known_shapes;
    Growing<model::Shape> shapes;
    Index shape_index;
    Growing<KnownClass> known_classes;
    Growing<model::TaskClass> classes;
    Index class_index;
    Growing<std::size_t> started; // of each role
    Index role_index;
    std::size_t widest; // the largest number of cells in a way
};

void know_pools(Pass &pass, std::span<const PoolRow> rows) {
    add_pools(pass, rows);
    while (pass.has_line.count < pass.pools.count)
        pass.has_line.add(false);
}

// A pass over the lines of these pools. Others are added when tasks in line need them.
Pass begin_pass(Store &store, std::span<const int64> pools) {
    Pass pass{};
    Room &room = pass;
    room = begin_room(GetCurrentTimestamp());
    pass.store = &store;
    know_pools(pass, store::pools::by_ids(pools));
    pass.shape_index = make_index("scylla needs");
    pass.class_index = make_index("scylla classes");
    pass.role_index = make_index("scylla roles");
    return pass;
}

// ---- the line ------------------------------------------------------------------------------------------------------

std::size_t shape_of(Pass &pass, Jsonb *needs) {
    const uint64 hash = hash_of(bytes_of(needs));
    bool is_new = false;
    const std::size_t at = enter(pass.shape_index, hash, pass.known_shapes.count, &is_new);
    if (!is_new && same_needs(pass.known_shapes[at].needs, needs))
        return at;
    pass.known_shapes.add(begin_shape(needs));
    return pass.known_shapes.count - 1;
}

// The ways of the shapes that were added since the last call.
void find_new_ways(Pass &pass) {
    Growing<std::string_view> missing;
    for (std::size_t s = pass.shapes.count; s < pass.known_shapes.count; s++)
        find_missing(pass, pass.known_shapes[s].parts, missing);
    if (missing.count > 0)
        know_pools(pass, store::pools::by_names(missing.all()));
    for (std::size_t s = pass.shapes.count; s < pass.known_shapes.count; s++) {
        KnownShape &shape = pass.known_shapes[s];
        find_ways(pass, shape);
        pass.shapes.add({shape.ways});
        for (const model::Way &way : shape.ways)
            pass.widest = Max(pass.widest, way.needs.size());
    }
}

Waiting waiting_of(const Pass &pass, const store::LineRow &row, float8 aging) {
    return {model::effective_priority(row.priority, pass.now - row.created, aging), row.created, row.task};
}

// Adds the other pools that the tasks of a class need: their free amounts, and their lines unless they are greedy.
void follow(Pass &pass, store::Dirty *dirty, const KnownShape &shape) {
    for (const std::size_t pool : shape.pools) {
        if (pool == k_nothing)
            continue;
        count_reservations(pass, dirty, pool);
        if (pass.has_line[pool] || pass.pools[pool].policy == model::Policy::greedy)
            continue;
        pass.has_line[pool] = true;
        pass.lines.add(pool);
    }
}

void add_class(Pass &pass, const store::LineRow &row) {
    bool is_new = false;
    (void)enter(pass.class_index, static_cast<uint64>(row.task_class), pass.classes.count, &is_new);
    if (!is_new)
        return; // it was added with the line of another pool
    const auto &queue = queue_of(*pass.store, row.queue).row;
    if (!queue || queue->paused)
        return;
    const std::size_t shape = shape_of(pass, row.needs);
    const std::size_t role = enter(pass.role_index, hash_of(queue->owner), pass.started.count, &is_new);
    if (is_new)
        pass.started.add(0);
    pass.known_classes.add({row, queue->aging});
    pass.classes.add({.shape = shape,
                      .runtime = row.runtime.value_or(model::k_no_time),
                      .first = waiting_of(pass, row, queue->aging),
                      .role = role});
}

// The first task of each class.
void read_line(Pass &pass, std::size_t pool) {
    const int64 id = row_of(pass, pool).id;
    store::Scan scan = scan_line(*pass.store, id, PG_INT64_MIN);
    int64 last = PG_INT64_MIN;
    bool skips = false; // the scan skips the tasks of the last class
    while (next(scan)) {
        CHECK_FOR_INTERRUPTS();
        const store::LineRow row = line_row(scan);
        if (row.task_class != last) {
            add_class(pass, row);
            last = row.task_class;
            skips = false;
        } else if (!skips) {
            restart_line(scan, id, last);
            skips = true;
        }
    }
    end(scan);
}

// Reads the lines of the pools that the pass began with, and of those that their tasks need too.
void read_lines(Pass &pass) {
    store::Dirty *dirty = store::begin_dirty(*pass.store);
    for (std::size_t pool = k_nothing + 1; pool < pass.pools.count; pool++) {
        pass.has_line[pool] = true;
        pass.lines.add(pool);
    }
    std::size_t classes = 0;
    for (std::size_t i = 0; i < pass.lines.count;) {
        for (const std::size_t lines = pass.lines.count; i < lines; i++)
            read_line(pass, pass.lines[i]);
        find_new_ways(pass);
        for (; classes < pass.classes.count; classes++)
            follow(pass, dirty, pass.known_shapes[pass.classes[classes].shape]);
    }
    end(dirty);
}

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

Started Line::start(std::size_t c, std::size_t way) {
    if (request == nullptr)
        return Started::yes;
    CHECK_FOR_INTERRUPTS();
    Store &store = *pass->store;
    const KnownShape &shape = pass->known_shapes[pass->classes[c].shape];
    const int64 id = pass->classes[c].first.id;
    const auto spec = find_spec(store, id, store::With::no_spec);
    const auto waiting = spec ? find_waiting(store, id) : std::nullopt;
    // Different needs: the same class by a hash collision.
    if (!waiting || waiting->due || !same_needs(spec->needs, shape.needs))
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
    const KnownClass &known = pass->known_classes[c];
    if (!scanning || scanned != c) {
        if (!scanning)
            scan = scan_class(*pass->store, known.first.pool, known.first.task_class, first->id);
        else
            restart_class(scan, known.first.pool, known.first.task_class, first->id);
        scanning = true;
        scanned = c;
    }
    if (!store::next(scan)) {
        restart_class(scan, known.first.pool, known.first.task_class, PG_INT64_MAX); // so that it is not asked again
        return false;
    }
    *first = waiting_of(*pass, line_row(scan), known.aging);
    return true;
}

// Lets the model decide.
bool decide(Pass &pass, std::size_t limit, Line &line) {
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
    const bool complete = place_tasks(state, allocate<model::Head>(pass.pools.count), limit, line);
    if (line.scanning)
        end(line.scan);
    if (line.dirty != nullptr)
        end(line.dirty);
    return complete;
}

void note_heads(const Pass &pass) {
    for (const std::size_t pool : pass.lines.all()) {
        const model::Head &head = pass.pools[pool].head;
        const PoolRow &row = row_of(pass, pool);
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

PassResult run_pass(Store &store, const PassRequest &request) {
    if (store::is_empty(store[TableId::line]))
        return {0, false};
    MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "scylla pass", ALLOCSET_DEFAULT_SIZES);
    // Tables are opened before the lock of the passes: waiting for a table lock is waiting for others' transactions.
    for (const TableId table : {TableId::spec, TableId::waiting, TableId::ready, TableId::gate, TableId::reservation})
        (void)store[table];
    MemoryContext caller = MemoryContextSwitchTo(memory);
    (void)store::pools::by_ids(std::span<const int64>{});
    (void)store::pools::by_names(std::span<const std::string_view>{});
    MemoryContextSwitchTo(caller);
    const LOCKTAG tag = passes_lock_tag(store);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    CommandCounterIncrement();
    refresh(store);
    MemoryContextSwitchTo(memory);
    Pass pass = begin_pass(store, request.all ? pools_in_line(store) : request.pools);
    read_lines(pass);
    Line line{.pass = &pass,
              .request = &request,
              .placed = 0,
              .scanning = false,
              .scan = {},
              .scanned = 0,
              .outside = caller};
    const bool complete = decide(pass, request.limit, line);
    if (line.placed > 0) {
        note_heads(pass);
        if (request.tells)
            shmem::note_placed();
        CommandCounterIncrement();
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(memory);
    (void)LockRelease(&tag, ExclusiveLock, false);
    tell_placed(store, line.of_plans.all());
    return {line.placed, !complete};
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
    read_lines(pass);
    Line line{.pass = &pass,
              .request = nullptr,
              .placed = 0,
              .scanning = false,
              .scan = {},
              .scanned = 0,
              .outside = CurrentMemoryContext};
    (void)decide(pass, k_limit, line);
    Growing<WaitReason> reasons;
    for (std::size_t c = 0; c < pass.classes.count; c++) {
        const store::LineRow &first = pass.known_classes[c].first;
        reasons.add({first.task_class, first.queue, first.pool, show(pass, pass.classes[c].refusal)});
    }
    Growing<PlannedHead> heads;
    for (std::size_t p = 1; p < pass.pools.count; p++)
        if (const model::Head &head = pass.pools[p].head; head.of != model::k_none_of)
            heads.add({row_of(pass, p).id, head.task, pass.known_classes[head.of].first.queue,
                       head.start != model::k_no_time ? std::optional(head.start) : std::nullopt});
    return {reasons.all(), heads.all()};
}

namespace {

// ---- gates, and the duty -------------------------------------------------------------------------------------------

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

void place_changed(Store &store, DutyTurn &turn) {
    const shmem::ChangedPools changed = shmem::take_changed_pools();
    const PassRequest request{.pools = std::span(changed.pool).first(changed.count),
                              .all = changed.all,
                              .limit = static_cast<std::size_t>(Min(turn.portion.limit, int64{10'000}))};
    const PassResult result = run_pass(store, request);
    turn.portion.done = static_cast<int64>(result.placed);
    turn.portion.more = result.more;
    if (result.more && !changed.all)
        for (const int64 pool : request.pools)
            shmem::note_pool(pool);
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
    // Unannounced, a pass over all lines is for what a prepared transaction has freed, and for runs that take longer
    // than expected.
    register_duty({.activity = "placing tasks", .work = place_changed, .timer = shmem::Timer::placement, .share = 500});
}

} // namespace scylla
