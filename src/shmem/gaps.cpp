#include "shmem/gaps.h"

#include "pg/settings.h"

namespace scylla::shmem {

namespace {

constexpr int k_ways = 8;                // places a key can have; the one that was not used for longest gives way
constexpr int k_places_per_queue = 2;    // of scylla.max_queues
constexpr std::size_t k_key_bytes = 100; // of longer keys nothing is remembered
constexpr std::size_t k_tells = 16;      // that a key remembers
// How long gaps are kept: to walk over a dead entry again takes a tenth of a microsecond, and is to be done a hundredth
// of the time.
constexpr int64 k_shortest_life = 2 * USECS_PER_SEC;
constexpr int64 k_life_of_entry = 10;

struct Tell {
    uint64 clock;
    int64 low;
    int64 high;
    int16 priority;
};

struct Place {
    HeadKey queue; // database 0: the place is free
    uint64 hash;
    int32 length; // of the key
    std::array<char, k_key_bytes> key;
    TimestampTz used;
    TimestampTz since; // the first of the gaps was added
    int64 dead;        // entries in them, as far as somebody has walked over them
    uint64 made;       // by the clock
    uint64 tells;      // how many there have been; the last ones are in `told`
    std::array<Tell, k_tells> told;
    KeyGaps gaps;
};

} // namespace

struct GapTable {
    LWLockPadded *locks; // a row of k_ways places has one of them
    pg_atomic_uint64 clock;
    int rows;

    Place *row(int i) noexcept { return reinterpret_cast<Place *>(this + 1) + static_cast<std::ptrdiff_t>(i) * k_ways; }
};

namespace {

constinit GapTable *table = nullptr;

int rows() { return (settings::max_queues * k_places_per_queue + k_ways - 1) / k_ways; }

int row_of(const HeadKey &queue, uint64 hash) noexcept {
    const uint64 mixed =
        hash_combine64(hash, hash_bytes(reinterpret_cast<const unsigned char *>(&queue), sizeof(HeadKey)));
    return static_cast<int>(mixed % static_cast<uint64>(table->rows));
}

LWLock *lock_of(int row) noexcept { return &table->locks[row % k_gap_locks].lock; }

bool is_of(const Place &place, const GapKey &key, uint64 hash) noexcept {
    return place.hash == hash && place.queue == key.queue &&
           std::string_view(place.key.data(), static_cast<std::size_t>(place.length)) == key.key;
}

void forget(Place *place) noexcept {
    place->gaps.count = 0;
    place->dead = 0;
}

// True: they were, and what somebody has concluded from them is not to be added.
bool forget_if_old(Place *place, TimestampTz now) noexcept {
    const int64 life = Max(k_shortest_life, place->dead * k_life_of_entry);
    const bool old = place->gaps.count > 0 && (now < place->since || now - place->since > life);
    if (old)
        forget(place);
    return old;
}

// Lets `use` act on the place of a key with the lock held exclusively; on null if it has none. Not if there is no
// table, or no place for such a key.
template <typename Use> void with_place(const GapKey &key, Use use) noexcept {
    if (table == nullptr || key.key.size() > k_key_bytes)
        return;
    const uint64 hash = gap_hash(key.key);
    const int row = row_of(key.queue, hash);
    Place *places = table->row(row);
    LWLockAcquire(lock_of(row), LW_EXCLUSIVE);
    Place *found = std::find_if(places, places + k_ways, [&](const Place &place) { return is_of(place, key, hash); });
    use(found != places + k_ways ? found : nullptr, places);
    LWLockRelease(lock_of(row));
}

Place *make_place(Place *places, const GapKey &key, TimestampTz now) noexcept {
    Place *oldest =
        std::min_element(places, places + k_ways, [](const Place &a, const Place &b) { return a.used < b.used; });
    *oldest = Place{};
    oldest->queue = key.queue;
    oldest->hash = gap_hash(key.key);
    oldest->length = static_cast<int32>(key.key.size());
    std::copy(key.key.begin(), key.key.end(), oldest->key.begin());
    oldest->used = now;
    oldest->made = pg_atomic_add_fetch_u64(&table->clock, 1);
    return oldest;
}

// Whether the place knows all that its key was told since then.
bool knows_all_since(const Place &place, uint64 clock) noexcept {
    return place.made <= clock && (place.tells < k_tells || place.told[place.tells % k_tells].clock <= clock);
}

} // namespace

uint64 gap_hash(std::string_view key) noexcept {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(key.data()), static_cast<int>(key.size()), 0);
}

uint64 gap_clock() noexcept {
    if (table == nullptr)
        return 0;
    const uint64 clock = pg_atomic_read_u64(&table->clock);
    pg_memory_barrier();
    return clock;
}

std::optional<model::Gap> find_gap(const GapKey &key, int16 priority, int64 id, TimestampTz now) noexcept {
    std::optional<model::Gap> gap;
    with_place(key, [&](Place *place, Place *) {
        if (place == nullptr)
            return;
        place->used = now;
        forget_if_old(place, now);
        gap = model::find(place->gaps, priority, id);
    });
    return gap;
}

void add_gap(const GapKey &key, const model::Gap &gap, int64 dead, uint64 clock, TimestampTz now) noexcept {
    // What is replayed on a standby tells nothing, so nothing may be concluded there.
    if (RecoveryInProgress())
        return;
    with_place(key, [&](Place *place, Place *places) {
        if (place == nullptr) {
            make_place(places, key, now); // for the next one who looks
            return;
        }
        place->used = now;
        if (!knows_all_since(*place, clock) || forget_if_old(place, now))
            return;
        if (place->gaps.count == 0)
            place->since = now;
        place->dead += dead;
        add(place->gaps, gap);
        for (const Tell &tell : std::span(place->told).first(static_cast<std::size_t>(Min(place->tells, k_tells))))
            if (tell.clock > clock)
                take_out(place->gaps, tell.priority, tell.low, tell.high);
    });
}

void tell_gaps(const HeadKey &queue, uint64 hash, int16 priority, int64 low, int64 high) noexcept {
    if (table == nullptr)
        return;
    // First: whoever reads the clock from now on takes a snapshot that shows what is told here.
    const uint64 clock = pg_atomic_add_fetch_u64(&table->clock, 1);
    const int row = row_of(queue, hash);
    LWLockAcquire(lock_of(row), LW_EXCLUSIVE);
    for (Place &place : std::span(table->row(row), k_ways)) {
        if (place.hash != hash || !(place.queue == queue))
            continue; // keys with the same hash are told together
        place.told[place.tells++ % k_tells] = {clock, low, high, priority};
        take_out(place.gaps, priority, low, high);
    }
    LWLockRelease(lock_of(row));
}

void forget_gaps(const HeadKey &queue) noexcept {
    if (table == nullptr)
        return;
    const uint64 clock = pg_atomic_add_fetch_u64(&table->clock, 1);
    for (int row = 0; row < table->rows; row++) {
        LWLockAcquire(lock_of(row), LW_EXCLUSIVE);
        for (Place &place : std::span(table->row(row), k_ways))
            if (place.queue.database == queue.database && (queue.queue == 0 || place.queue == queue)) {
                forget(&place);
                place.made = Max(place.made, clock);
            }
        LWLockRelease(lock_of(row));
    }
}

KeyGaps gaps_of(const GapKey &key, TimestampTz now) noexcept {
    KeyGaps gaps{};
    with_place(key, [&](Place *place, Place *) {
        if (place == nullptr)
            return;
        place->used = now;
        forget_if_old(place, now);
        gaps = place->gaps;
    });
    return gaps;
}

void replace_gaps(const GapKey &key, const KeyGaps &gaps, int64 dead, TimestampTz now) noexcept {
    if (RecoveryInProgress())
        return;
    with_place(key, [&](Place *place, Place *places) {
        if (place == nullptr)
            place = make_place(places, key, now);
        if (forget_if_old(place, now))
            return;
        if (place->gaps.count == 0)
            place->since = now;
        place->dead += dead;
        place->gaps = gaps;
    });
}

Size gaps_size() { return sizeof(GapTable) + static_cast<Size>(rows()) * k_ways * sizeof(Place); }

void make_gaps(GapTable *made, LWLockPadded *locks, bool found) {
    table = made;
    if (found)
        return;
    memset(static_cast<void *>(made), 0, gaps_size());
    made->locks = locks;
    made->rows = rows();
    pg_atomic_init_u64(&made->clock, 0);
}

} // namespace scylla::shmem
