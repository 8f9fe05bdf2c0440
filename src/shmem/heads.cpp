#include "shmem/heads.h"

#include "pg/hash.h"
#include "pg/settings.h"

namespace scylla::shmem {

namespace {

constexpr int k_ways = 16; // slots a queue can have; the least recently used one is evicted

struct Head {
    HeadId id;    // database 0: the place is free
    uint64 epoch; // tells one use of the place from the next
    uint64 generation;
    bool told_in_generation; // something out of the order of ids
    pg_atomic_uint64 used;   // a TimestampTz; changed under the shared lock, too
    TimestampTz stepped;
    Step step;
    std::array<uint64, 2> nonempty;
    std::array<int64, k_priorities> frontier;
    std::array<int64, k_priorities> told;                 // the highest id
    std::array<std::array<int64, k_priorities>, 2> fresh; // by generation, as in Stretch, for the range of the frontier
    model::Stretches<k_returned> returned;
    KeyTurn turn;
};

constexpr Step k_first_step{static_cast<int16>(k_priorities - 1), 0};

} // namespace

struct Heads {
    LWLockPadded *locks; // one per row of k_ways places
    pg_atomic_uint64 epochs;
    int rows;

    Head *row(int i) noexcept { return reinterpret_cast<Head *>(this + 1) + static_cast<std::ptrdiff_t>(i) * k_ways; }
};

namespace {

constinit Heads *heads = nullptr;

int rows() { return (settings::max_queues + k_ways - 1) / k_ways; }

int row_of(const HeadId &id) noexcept {
    return static_cast<int>(hash_of(bytes_of(id)) % static_cast<uint64>(heads->rows));
}

LWLock *lock_of(const HeadId &id) noexcept { return &heads->locks[row_of(id)].lock; }

// The head of a queue, or null if it has no place. With the lock held.
Head *find(const HeadId &id) noexcept {
    Head *row = heads->row(row_of(id));
    for (int i = 0; i < k_ways; i++)
        if (row[i].id == id)
            return &row[i];
    return nullptr;
}

TimestampTz used_at(Head &head) noexcept { return static_cast<TimestampTz>(pg_atomic_read_u64(&head.used)); }

// With the lock held, perhaps shared.
void mark_used(Head &head) noexcept {
    pg_atomic_write_u64(&head.used, static_cast<uint64>(GetCurrentStatementStartTimestamp()));
}

// With the lock held exclusively.
void begin_anew(Head *head, const HeadId &id) noexcept {
    *head = Head{};
    pg_atomic_init_u64(&head->used, 0);
    head->id = id;
    head->epoch = pg_atomic_add_fetch_u64(&heads->epochs, 1);
    head->step = k_first_step;
    head->nonempty = {PG_UINT64_MAX, PG_UINT64_MAX};
    for (auto &fresh : head->fresh)
        fresh.fill(model::k_no_id);
}

Head *find_or_make(const HeadId &id) noexcept {
    if (Head *head = find(id))
        return head;
    Head *row = heads->row(row_of(id));
    Head *oldest = row;
    for (int i = 1; i < k_ways; i++)
        if (used_at(row[i]) < used_at(*oldest))
            oldest = &row[i];
    begin_anew(oldest, id);
    return oldest;
}

uint64 bit(std::size_t priority) noexcept { return uint64{1} << (priority % 64); }

std::size_t present(const Head &head) noexcept { return head.generation % 2; }

void fill(const Head &head, HeadView *view) noexcept {
    view->valid = true;
    view->epoch = head.epoch;
    view->generation = head.generation;
    view->nonempty = head.nonempty;
    view->frontier = head.frontier;
    view->told = head.told;
    for (std::size_t p = 0; p < k_priorities; p++)
        view->fresh[p] = Min(head.fresh[0][p], head.fresh[1][p]);
    view->returned.count = head.returned.count;
    std::copy_n(head.returned.at.begin(), head.returned.count, view->returned.at.begin());
}

// The range of the frontier as a stretch.
model::Stretch frontier_range(const Head &head, std::size_t p) noexcept {
    return {head.frontier[p], model::k_no_id, {head.fresh[0][p], head.fresh[1][p]}, static_cast<int16>(p)};
}

// Makes the frontier include the last stretch before it.
void pull_down(Head *head, std::size_t i) noexcept {
    const model::Stretch &stretch = head->returned.at[i];
    const auto p = static_cast<std::size_t>(stretch.priority);
    head->frontier[p] = stretch.low;
    for (std::size_t g = 0; g < head->fresh.size(); g++)
        head->fresh[g][p] = Min(head->fresh[g][p], stretch.fresh[g]);
    remove(head->returned, i);
}

// Two neighbours become one, or one becomes part of the frontier's range.
void make_room(Head *head) noexcept {
    const auto &returned = head->returned;
    std::size_t last = returned.count; // the stretch that is nearest to its frontier
    int64 to_frontier = model::k_no_id;
    for (std::size_t i = 0; i < returned.count; i++) {
        if (gap_after(returned, i) != model::k_no_id)
            continue;
        const int64 gap = head->frontier[static_cast<std::size_t>(returned.at[i].priority)] - returned.at[i].high;
        if (gap < to_frontier) {
            to_frontier = gap;
            last = i;
        }
    }
    const std::size_t i = narrowest(returned);
    if (i != returned.count && gap_after(returned, i) <= to_frontier)
        join_next(head->returned, i);
    else
        pull_down(head, last);
}

// The lowest id of a range that was told since a look; lower than that if the look was not at the beginning of its
// generation.
int64 fresh_since(const Head &head, uint64 look, const model::Stretch &range) noexcept {
    const int64 now = range.fresh[present(head)];
    return look == head.generation ? now : Min(now, range.fresh[1 - present(head)]);
}

// What of a range has an id from `low` to `high`.
model::Stretch part(const model::Stretch &range, int64 low, int64 high) noexcept {
    model::Stretch result{low, high, {}, range.priority};
    // Only the lowest fresh id of the whole is known: there may be another anywhere above it.
    for (std::size_t g = 0; g < result.fresh.size(); g++)
        result.fresh[g] = range.fresh[g] <= high ? Max(range.fresh[g], low) : model::k_no_id;
    return result;
}

// Takes away from `range` what the scan has passed, but keeps the pieces it left behind as stretches. Returns where the
// rest begins.
int64 take_away(Head *head, const model::Stretch &range, const Passed &passed, int64 reached,
                const HeadFindings &findings) noexcept {
    int64 rest = Max(range.low, reached);
    for (const Piece &piece : std::span(findings.piece).first(findings.pieces)) {
        const int64 low = Max(piece.ids.low, range.low);
        const int64 high = Min(piece.ids.high, rest - 1);
        if (piece.range != passed.range || piece.ids.priority != passed.priority || low > high)
            continue;
        if (head->returned.count == k_returned) {
            rest = low; // there is no room: the walk begins there again
            break;
        }
        add(head->returned, part(range, low, high));
    }
    return rest;
}

void conclude_frontier(Head *head, const HeadView &view, const HeadFindings &findings, const Passed &passed) noexcept {
    const auto p = static_cast<std::size_t>(passed.priority);
    if (head->frontier[p] < view.frontier[p])
        return; // it has been pulled down since
    const model::Stretch range = frontier_range(*head, p);
    const bool to_the_end = passed.reached == PG_INT64_MAX;
    const bool news = head->told[p] > view.told[p];
    const int64 fresh = fresh_since(*head, view.generation, range);
    const int64 end = to_the_end ? head->told[p] + 1 : passed.reached;
    const int64 limit = Min(told_limit(view.told[p], head->told[p]), fresh);
    head->frontier[p] = take_away(head, range, passed, Min(end, limit), findings);
    const bool left_any = std::any_of(findings.piece.begin(), findings.piece.begin() + findings.pieces,
                                      [&](const Piece &piece) { return piece.ids.priority == passed.priority; });
    if (to_the_end && !left_any && !news && fresh == model::k_no_id && !has_priority(head->returned, passed.priority))
        head->nonempty[p / 64] &= ~bit(p);
}

void conclude_stretch(Head *head, const HeadView &view, const HeadFindings &findings, const Passed &passed) noexcept {
    const model::Stretch &seen = view.returned.at[passed.range];
    const auto p = static_cast<std::size_t>(passed.priority);
    const int64 limit = Min(passed.reached, told_limit(view.told[p], head->told[p]));
    // What has become of it: there may be several by now.
    for (std::size_t i = head->returned.count; i-- > 0;) {
        const model::Stretch range = head->returned.at[i];
        if (range.priority != seen.priority || range.low < seen.low || range.low > seen.high)
            continue;
        const int64 reached = Min(limit, fresh_since(*head, view.generation, range));
        if (reached <= range.low)
            continue;
        remove(head->returned, i);
        const int64 rest = take_away(head, range, passed, reached, findings);
        if (rest <= range.high)
            add(head->returned, part(range, rest, range.high));
    }
}

void begin_generation(Head *head) noexcept {
    head->generation++;
    head->told_in_generation = false;
    head->fresh[present(*head)].fill(model::k_no_id);
    for (model::Stretch &stretch : std::span(head->returned.at).first(head->returned.count))
        stretch.fresh[present(*head)] = model::k_no_id;
}

bool step_is_due(const Head &head, TimestampTz now, int64 interval) noexcept {
    return head.stepped + interval <= now || head.stepped > now; // the latter: the clock was set back
}

} // namespace

int heads_locks() { return rows(); }

Size heads_size() { return sizeof(Heads) + static_cast<Size>(rows()) * k_ways * sizeof(Head); }

void make_heads(Heads *made, LWLockPadded *locks, bool found) {
    heads = made;
    if (found)
        return;
    memset(static_cast<void *>(made), 0, heads_size());
    made->locks = locks;
    made->rows = rows();
    pg_atomic_init_u64(&made->epochs, 0);
    for (int i = 0; i < made->rows * k_ways; i++)
        pg_atomic_init_u64(&made->row(0)[i].used, 0);
}

bool has_head(const HeadId &id) noexcept {
    if (heads == nullptr)
        return false;
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_SHARED);
    const bool found = find(id) != nullptr;
    LWLockRelease(lock);
    return found;
}

void look(const HeadId &id, HeadView *view) {
    view->valid = false;
    view->returned.count = 0;
    if (heads == nullptr)
        return;
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_SHARED);
    Head *head = find(id);
    if (head == nullptr) {
        LWLockRelease(lock);
        LWLockAcquire(lock, LW_EXCLUSIVE);
        head = find_or_make(id);
    }
    mark_used(*head);
    fill(*head, view);
    LWLockRelease(lock);
}

void report(const HeadId &id, const HeadView &view, const HeadFindings &findings) noexcept {
    // What is replayed on a standby tells nothing, so nothing may be concluded there.
    if (!view.valid || RecoveryInProgress())
        return;
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Head *head = find(id);
    if (head != nullptr && head->epoch == view.epoch && head->generation - view.generation <= 1) {
        // The frontier's last: the priority can be empty only when its stretches are gone.
        for (const Passed &passed : std::span(findings.passed).first(findings.count))
            if (passed.range != k_frontier)
                conclude_stretch(head, view, findings, passed);
        for (const Passed &passed : std::span(findings.passed).first(findings.count))
            if (passed.range == k_frontier)
                conclude_frontier(head, view, findings, passed);
        if (head->generation == view.generation && head->told_in_generation)
            begin_generation(head);
    }
    LWLockRelease(lock);
}

void pass(const HeadId &id, int16 priority, const Progress &progress) noexcept {
    if (heads == nullptr || progress.below == 0)
        return;
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Head *head = find(id);
    if (head != nullptr && head->epoch == progress.epoch && head->generation - progress.generation <= 1) {
        const auto p = static_cast<std::size_t>(priority);
        const int64 limit = Min(progress.below, told_limit(progress.told, head->told[p]));
        // Whatever has become of the ranges since the look: below the limit there is nothing but what was told since.
        for (std::size_t i = head->returned.count; i-- > 0;) {
            const model::Stretch range = head->returned.at[i];
            const int64 rest = Min(limit, fresh_since(*head, progress.generation, range));
            if (range.priority != priority || rest <= range.low)
                continue;
            remove(head->returned, i);
            if (rest <= range.high)
                add(head->returned, part(range, rest, range.high));
        }
        head->frontier[p] =
            Max(head->frontier[p], Min(limit, fresh_since(*head, progress.generation, frontier_range(*head, p))));
    }
    LWLockRelease(lock);
}

void tell(const HeadId &id, int16 priority, int64 low, int64 high) noexcept {
    if (heads == nullptr)
        return;
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    // A queue without a place needs none now: when it gets one it begins anew.
    if (Head *head = find(id)) {
        const auto p = static_cast<std::size_t>(priority);
        const int64 frontier = head->frontier[p];
        const bool in_order = head->told[p] != 0 && low > head->told[p] && low >= frontier;
        if (!in_order)
            head->told_in_generation = true;
        if (!in_order && high >= frontier)
            head->fresh[present(*head)][p] = Min(head->fresh[present(*head)][p], Max(low, frontier));
        if (low < frontier) {
            model::Stretch added{low, Min(high, frontier - 1), {model::k_no_id, model::k_no_id}, priority};
            added.fresh[present(*head)] = low;
            add(head->returned, added);
            if (head->returned.count > k_returned)
                make_room(head);
        }
        head->told[p] = Max(head->told[p], high);
        head->nonempty[p / 64] |= bit(p);
    }
    LWLockRelease(lock);
}

std::optional<Step> claim_step(const HeadId &id, TimestampTz now, int64 interval) {
    std::optional<Step> step;
    if (heads == nullptr)
        return step;
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_SHARED);
    const Head *seen = find(id);
    const bool due = seen != nullptr && step_is_due(*seen, now, interval);
    LWLockRelease(lock);
    if (!due)
        return step;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Head *head = find(id);
    if (head != nullptr && step_is_due(*head, now, interval)) {
        head->stepped = now;
        step = head->step;
    }
    LWLockRelease(lock);
    return step;
}

void advance(const HeadId &id, const Step &next) noexcept {
    LWLock *lock = lock_of(id);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    if (Head *head = find(id))
        head->step = next.priority < 0 ? k_first_step : next;
    LWLockRelease(lock);
}

namespace {

// The turn of this backend where there is no shared memory: that of the queue that it leased from last.
constinit HeadId own_queue{};
constinit KeyTurn own_turn{};

// Lets `use` act on the turn of a queue.
template <typename Use> void with_turn(const HeadId &queue, Use use) noexcept {
    if (heads == nullptr) {
        if (!(own_queue == queue))
            own_turn = KeyTurn{};
        own_queue = queue;
        use(own_turn);
        return;
    }
    LWLock *lock = lock_of(queue);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Head *head = find_or_make(queue);
    mark_used(*head);
    use(head->turn);
    LWLockRelease(lock);
}

std::string_view key_of(const KeyTurn &turn) noexcept {
    return {turn.key.data(), static_cast<std::size_t>(turn.length)};
}

} // namespace

int32 take_turn(const HeadId &queue, int32 most, KeyTurn *turn) {
    int32 taken = 0;
    with_turn(queue, [&](KeyTurn &now) {
        *turn = now;
        taken = Min(most, now.left);
        now.left -= taken;
    });
    return taken;
}

bool pass_turn(const HeadId &queue, std::string_view from, std::string_view to, int32 left) noexcept {
    bool passed = false;
    with_turn(queue, [&](KeyTurn &now) {
        passed = now.left == 0 && key_of(now) == from;
        if (!passed)
            return;
        now.left = left;
        now.length = static_cast<int32>(Min(to.size(), now.key.size()));
        std::copy_n(to.data(), now.length, now.key.data());
    });
    return passed;
}

void end_turn(const HeadId &queue, std::string_view key) noexcept {
    with_turn(queue, [&](KeyTurn &now) {
        if (key_of(now) == key)
            now.left = 0;
    });
}

bool next_head(int *at, HeadStatus *status) {
    for (; heads != nullptr && *at < heads->rows * k_ways; (*at)++) {
        const int row = *at / k_ways;
        LWLockAcquire(&heads->locks[row].lock, LW_SHARED);
        const Head &head = heads->row(row)[*at % k_ways];
        const bool ours = head.id.database == MyDatabaseId;
        if (ours) {
            status->id = head.id;
            fill(head, &status->view);
        }
        LWLockRelease(&heads->locks[row].lock);
        if (ours) {
            (*at)++;
            return true;
        }
    }
    return false;
}

} // namespace scylla::shmem
