#include "shmem/heads.h"

#include "settings.h"

namespace scylla::shmem {

namespace {

constexpr int k_ways = 16; // places a queue can have; the one that was not used for longest gives way

struct Recent {
    int64 low;
    int64 high;
    int16 priority;
};

struct Head {
    HeadKey key;   // database 0: the place is free
    uint64 epoch;  // tells one use of the place from the next
    uint64 version; // counts tellings out of the order of ids
    TimestampTz used;
    TimestampTz stepped;
    Step step;
    std::array<uint64, 2> nonempty;
    std::array<int64, k_priorities> frontier;
    std::array<int64, k_priorities> told; // the highest id
    int returned_count;
    std::array<Returned, k_returned> returned;
    std::array<Recent, k_recent> recent; // by version
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

int row_of(const HeadKey &key) noexcept {
    const uint32 hash = hash_bytes(reinterpret_cast<const unsigned char *>(&key), sizeof(HeadKey));
    return static_cast<int>(hash % static_cast<uint32>(heads->rows));
}

LWLock *lock_of(const HeadKey &key) noexcept { return &heads->locks[row_of(key)].lock; }

// The head of a queue, or null if it has no place. With the lock held.
Head *find(const HeadKey &key) noexcept {
    Head *row = heads->row(row_of(key));
    for (int i = 0; i < k_ways; i++)
        if (row[i].key == key)
            return &row[i];
    return nullptr;
}

// With the lock held exclusively.
void begin_anew(Head *head, const HeadKey &key) noexcept {
    *head = Head{};
    head->key = key;
    head->epoch = pg_atomic_add_fetch_u64(&heads->epochs, 1);
    head->step = k_first_step;
    head->nonempty = {PG_UINT64_MAX, PG_UINT64_MAX};
}

Head *find_or_make(const HeadKey &key) noexcept {
    if (Head *head = find(key))
        return head;
    Head *row = heads->row(row_of(key));
    Head *oldest = row;
    for (int i = 1; i < k_ways; i++)
        if (row[i].used < oldest->used)
            oldest = &row[i];
    begin_anew(oldest, key);
    return oldest;
}

uint64 bit(std::size_t priority) noexcept { return uint64{1} << (priority % 64); }

extern "C" int compare_returned(const void *a, const void *b) {
    const auto *left = static_cast<const Returned *>(a);
    const auto *right = static_cast<const Returned *>(b);
    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

void fill(const Head &head, HeadView *view) noexcept {
    view->valid = true;
    view->epoch = head.epoch;
    view->version = head.version;
    view->nonempty = head.nonempty;
    view->frontier = head.frontier;
    view->told = head.told;
    view->returned_count = head.returned_count;
    for (int i = 0; i < head.returned_count; i++)
        view->returned[static_cast<std::size_t>(i)] = head.returned[static_cast<std::size_t>(i)];
}

// What is at or above the frontier need not be among the returned.
void pull_down(Head *head, int16 priority, int64 id) noexcept {
    head->frontier[static_cast<std::size_t>(priority)] = id;
    int kept = 0;
    for (int i = 0; i < head->returned_count; i++) {
        const Returned &entry = head->returned[static_cast<std::size_t>(i)];
        if (entry.priority != priority || entry.id < id)
            head->returned[static_cast<std::size_t>(kept++)] = entry;
    }
    head->returned_count = kept;
}

void add_returned(Head *head, int16 priority, int64 id) noexcept {
    for (int i = 0; i < head->returned_count; i++) {
        Returned &entry = head->returned[static_cast<std::size_t>(i)];
        if (entry.id == id && entry.priority == priority) {
            entry.version = head->version;
            return;
        }
    }
    if (head->returned_count < k_returned)
        head->returned[static_cast<std::size_t>(head->returned_count++)] = {id, priority, head->version};
    else
        pull_down(head, priority, id);
}

// What was told of a priority after `version`: whether anything, and the lowest id that the frontier has not passed yet (those
// below it are among the returned). With the lock held.
struct Since {
    bool any;
    int64 lowest;
};

Since told_since(const Head &head, uint64 version, std::size_t priority) noexcept {
    Since since{false, PG_INT64_MAX};
    for (uint64 v = version + 1; v <= head.version; v++) {
        const Recent &recent = head.recent[v % k_recent];
        if (static_cast<std::size_t>(recent.priority) != priority)
            continue;
        since.any = true;
        if (recent.high >= head.frontier[priority])
            since.lowest = Min(since.lowest, Max(recent.low, head.frontier[priority]));
    }
    return since;
}

bool has_returned(const Head &head, std::size_t priority) noexcept {
    for (int i = 0; i < head.returned_count; i++)
        if (static_cast<std::size_t>(head.returned[static_cast<std::size_t>(i)].priority) == priority)
            return true;
    return false;
}

void conclude(Head *head, const HeadView &view, const HeadFindings &findings, std::size_t p) noexcept {
    const Since since = told_since(*head, view.version, p);
    // Tellings in the order of ids are not remembered one by one: all of them are above what was told at the beginning.
    const bool news = head->told[p] > view.told[p];
    const int64 cap = news ? view.told[p] + 1 : PG_INT64_MAX;
    const int64 reached = findings.first_left[p] != 0 ? findings.first_left[p] : head->told[p] + 1;
    head->frontier[p] = Max(head->frontier[p], Min(Min(reached, cap), since.lowest));
    if (findings.exhausted[p] && findings.first_left[p] == 0 && !since.any && !news && !has_returned(*head, p))
        head->nonempty[p / 64] &= ~bit(p);
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
}

void look(const HeadKey &key, HeadView *view) {
    view->valid = false;
    view->returned_count = 0;
    if (heads == nullptr)
        return;
    LWLock *lock = lock_of(key);
    LWLockAcquire(lock, LW_SHARED);
    Head *head = find(key);
    if (head == nullptr) {
        LWLockRelease(lock);
        LWLockAcquire(lock, LW_EXCLUSIVE);
        head = find_or_make(key);
    }
    head->used = GetCurrentStatementStartTimestamp(); // several may write it at once: all of them write about the same
    fill(*head, view);
    LWLockRelease(lock);
    if (view->returned_count > 1)
        qsort(view->returned.data(), static_cast<std::size_t>(view->returned_count), sizeof(Returned), compare_returned);
}

void report(const HeadKey &key, const HeadView &view, const HeadFindings &findings) noexcept {
    // What is replayed on a standby tells nothing, so nothing may be concluded there.
    if (!view.valid || RecoveryInProgress())
        return;
    LWLock *lock = lock_of(key);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Head *head = find(key);
    if (head != nullptr && head->epoch == view.epoch) {
        for (int i = 0; i < view.returned_count; i++) {
            const Returned &seen = view.returned[static_cast<std::size_t>(i)];
            if (!findings.gone[static_cast<std::size_t>(i)])
                continue;
            for (int j = 0; j < head->returned_count; j++) {
                Returned &entry = head->returned[static_cast<std::size_t>(j)];
                // Not if it has been told again meanwhile.
                if (entry.id == seen.id && entry.priority == seen.priority && entry.version <= view.version) {
                    entry = head->returned[static_cast<std::size_t>(--head->returned_count)];
                    break;
                }
            }
        }
        if (head->version - view.version <= k_recent)
            for (std::size_t p = 0; p < k_priorities; p++)
                if ((findings.exhausted[p] || findings.first_left[p] != 0) && !findings.own[p])
                    conclude(head, view, findings, p);
    }
    LWLockRelease(lock);
}

void tell(const HeadKey &key, int16 priority, int64 low, int64 high) noexcept {
    if (heads == nullptr)
        return;
    LWLock *lock = lock_of(key);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    // A queue without a place needs none now: when it gets one it begins anew.
    if (Head *head = find(key)) {
        const auto p = static_cast<std::size_t>(priority);
        const int64 frontier = head->frontier[p];
        const bool in_order = low > head->told[p] && low >= frontier;
        if (!in_order)
            head->version++;
        if (low < frontier) {
            if (low == high)
                add_returned(head, priority, low);
            else
                pull_down(head, priority, low);
        }
        // Where the frontier has been pulled down, whatever it had passed may have been dropped from the returned ids.
        const bool pulled = head->frontier[p] < frontier;
        if (!in_order)
            head->recent[head->version % k_recent] = {low, pulled ? Max(high, frontier - 1) : high, priority};
        head->told[p] = Max(head->told[p], high);
        head->nonempty[p / 64] |= bit(p);
    }
    LWLockRelease(lock);
}

void forget(Oid database) noexcept {
    if (heads == nullptr)
        return;
    for (int r = 0; r < heads->rows; r++) {
        LWLockAcquire(&heads->locks[r].lock, LW_EXCLUSIVE);
        for (int i = 0; i < k_ways; i++)
            if (const HeadKey key = heads->row(r)[i].key; key.database == database)
                begin_anew(&heads->row(r)[i], key);
        LWLockRelease(&heads->locks[r].lock);
    }
}

std::optional<Step> claim_step(const HeadKey &key, TimestampTz now, int64 interval) {
    std::optional<Step> step;
    if (heads == nullptr)
        return step;
    LWLock *lock = lock_of(key);
    LWLockAcquire(lock, LW_SHARED);
    const Head *seen = find(key);
    const bool due = seen != nullptr && step_is_due(*seen, now, interval);
    LWLockRelease(lock);
    if (!due)
        return step;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Head *head = find(key);
    if (head != nullptr && step_is_due(*head, now, interval)) {
        head->stepped = now;
        step = head->step;
    }
    LWLockRelease(lock);
    return step;
}

void advance(const HeadKey &key, const Step &next) noexcept {
    LWLock *lock = lock_of(key);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    if (Head *head = find(key))
        head->step = next.priority < 0 ? k_first_step : next;
    LWLockRelease(lock);
}

bool next_head(int *at, HeadStatus *status) {
    for (; heads != nullptr && *at < heads->rows * k_ways; (*at)++) {
        const int row = *at / k_ways;
        LWLockAcquire(&heads->locks[row].lock, LW_SHARED);
        const Head &head = heads->row(row)[*at % k_ways];
        const bool ours = head.key.database == MyDatabaseId;
        if (ours) {
            status->key = head.key;
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
