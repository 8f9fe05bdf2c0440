#include "pool/lines.h"

#include "model/aging.h"
#include "pg/hash.h"
#include "pg/text.h"

namespace scylla {

using model::Waiting;
using store::Store;

namespace {

// ---- what is known -------------------------------------------------------------------------------------------------

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

void know_pools(Pass &pass, std::span<const PoolRow> rows) {
    add_pools(pass, rows);
    while (pass.has_line.count < pass.pools.count)
        pass.has_line.add(false);
}

void add_line(Pass &pass, std::size_t pool) {
    pass.has_line[pool] = true;
    pass.lines.add({pool});
}

// A pool, and how many of the same owner come before it.
struct PoolTurn {
    std::size_t pool;
    std::size_t round;
};

// Owners take turns: however many pools one has, the lines of another are among the first that are read.
void add_seeds(Pass &pass) {
    const auto turns = allocate<PoolTurn>(pass.seeds);
    for (std::size_t i = 0; i < turns.size(); i++)
        turns[i] = {i + 1, 0};
    const auto owner = [&](const PoolTurn &turn) { return std::string_view(row_of(pass, turn.pool).owner); };
    std::stable_sort(turns.begin(), turns.end(),
                     [&](const PoolTurn &a, const PoolTurn &b) { return owner(a) < owner(b); });
    for (std::size_t i = 1; i < turns.size(); i++)
        turns[i].round = owner(turns[i]) == owner(turns[i - 1]) ? turns[i - 1].round + 1 : 0;
    std::stable_sort(turns.begin(), turns.end(),
                     [](const PoolTurn &a, const PoolTurn &b) { return a.round < b.round; });
    for (const PoolTurn &turn : turns)
        add_line(pass, turn.pool);
}

// ---- reading -------------------------------------------------------------------------------------------------------

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

// Adds the lines of the other pools that tasks need, unless they are greedy.
void follow_new_classes(Pass &pass) {
    find_new_ways(pass);
    for (; pass.followed < pass.classes.count; pass.followed++)
        for (const std::size_t pool : pass.known_shapes[pass.classes[pass.followed].shape].pools)
            if (pool != k_nothing && !pass.has_line[pool] && pass.pools[pool].policy != model::Policy::greedy)
                add_line(pass, pool);
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
    const Waiting first = waiting_of(pass, row, queue->aging);
    pass.known_classes.add({row, queue->aging, first});
    pass.classes.add({.shape = shape, .runtime = row.runtime.value_or(model::k_no_time), .first = first, .role = role});
}

// Reads the first task of each class of a line, of at most so many further classes. Returns of how many.
std::size_t read_line(Pass &pass, LineCursor &line, std::size_t most) {
    const int64 pool = row_of(pass, line.pool).id;
    store::Scan scan = scan_line(*pass.store, pool, line.after_class);
    std::size_t count = 0;
    bool skips = false; // the scan skips the tasks of the last class
    line.done = true;
    while (next(scan)) {
        CHECK_FOR_INTERRUPTS();
        const store::LineRow row = line_row(scan);
        if (row.task_class != line.after_class) {
            line.done = count < most;
            if (!line.done)
                break;
            add_class(pass, row);
            count++;
            line.after_class = row.task_class;
            skips = false;
        } else if (!skips) {
            restart_line(scan, pool, line.after_class);
            skips = true;
        }
    }
    end(scan);
    return count;
}

} // namespace

Waiting waiting_of(const Pass &pass, const store::LineRow &row, float8 aging) {
    return {model::effective_priority(row.priority, pass.now - row.created, aging), row.created, row.task};
}

Pass begin_pass(Store &store, std::span<const int64> pools) {
    Pass pass{};
    Room &room = pass;
    room = begin_room(GetCurrentTimestamp());
    pass.store = &store;
    know_pools(pass, store::pools::by_ids(pools));
    pass.seeds = pass.pools.count - 1;
    add_seeds(pass);
    pass.shape_index = make_index("scylla needs");
    pass.class_index = make_index("scylla classes");
    pass.role_index = make_index("scylla roles");
    return pass;
}

bool read_lines(Pass &pass, Store &store, std::size_t most) {
    constexpr std::size_t k_first_share = 16;
    pass.store = &store;
    std::size_t left = most;
    for (std::size_t share = k_first_share;; share *= 4) {
        bool complete = true;
        for (std::size_t i = 0; i < pass.lines.count; i++) {
            if (pass.lines[i].done)
                continue;
            if (left == 0)
                return false;
            left -= read_line(pass, pass.lines[i], Min(share, left));
            complete = complete && pass.lines[i].done;
            follow_new_classes(pass);
        }
        if (complete)
            return true;
    }
}

void let_unread_rest(Pass &pass) {
    for (const LineCursor &line : pass.lines.all())
        pass.pools[line.pool].rests = !line.done;
}

void renew(Pass &pass, Store &store) {
    pass.store = &store;
    pass.renewed = true;
    Growing<int64> ids;
    for (const PoolRow &row : pass.rows.all())
        ids.add(row.id);
    renew_room(pass, store::pools::by_ids(ids.all()));
    std::size_t left = 0;
    for (std::size_t c = 0; c < pass.classes.count; c++) {
        KnownClass known = pass.known_classes[c];
        const auto &queue = queue_of(store, known.line.queue).row;
        if (known.ended || !queue || queue->paused)
            continue;
        known.first.rank = model::effective_priority(known.line.priority, pass.now - known.first.created, known.aging);
        known.stayed = false;
        pass.known_classes[left] = known;
        pass.classes[left] = pass.classes[c];
        pass.classes[left++].first = known.first;
    }
    pass.known_classes.count = pass.classes.count = pass.followed = left;
}

void count_all_reservations(Pass &pass) {
    store::Dirty *dirty = store::begin_dirty(*pass.store);
    for (const KnownShape &shape : pass.known_shapes.all())
        for (const std::size_t pool : shape.pools)
            count_reservations(pass, dirty, pool);
    end(dirty);
}

} // namespace scylla
