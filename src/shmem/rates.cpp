#include "shmem/rates.h"

#include "pg/clock.h"
#include "pg/hash.h"
#include "pg/settings.h"
#include "shmem/stat_entries.h"

namespace scylla::shmem {

namespace {

using model::Bucket;
using model::Rate;

// Lets `use(bucket, now)` act on a bucket of the queue's entry under its mutex: no more than arithmetic. False: there
// is no place for one.
template <typename Use>
bool with_bucket(const StatId &id, Bucket StatEntry::*which, const Rate &rate, Use use) noexcept {
    const int64 now = model::to_nanos(steady_now());
    const TimestampTz used = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_SHARED);
    StatEntry *entry = find_entry(id);
    if (entry == nullptr) {
        LWLockRelease(stats->lock);
        LWLockAcquire(stats->lock, LW_EXCLUSIVE);
        entry = find_or_make_entry(id, used);
    }
    if (entry != nullptr) {
        SpinLockAcquire(&entry->mutex);
        entry->used = used;
        Bucket &bucket = entry->*which;
        if (bucket.rate != rate)
            bucket = {rate, model::used_up(rate, now)};
        use(bucket, now);
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return entry != nullptr;
}

// The same if it is there, whatever its rate.
template <typename Use> void with_present_bucket(const StatId &id, Bucket StatEntry::*which, Use use) noexcept {
    LWLockAcquire(stats->lock, LW_SHARED);
    if (StatEntry *entry = find_entry(id)) {
        SpinLockAcquire(&entry->mutex);
        use(entry->*which);
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
}

void begin(const StatId &id, Bucket StatEntry::*which, const Rate &rate) noexcept {
    with_bucket(id, which, rate, [&](Bucket &bucket, int64 now) { bucket.arrival = model::used_up(rate, now); });
}

constexpr int64 to_micros(int64 nanos) noexcept { return (nanos + model::k_nanos - 1) / model::k_nanos; }

} // namespace

void reset_rate(const StatId &id, const Rate &rate) noexcept {
    if (stats != nullptr)
        begin(id, &StatEntry::bucket, rate);
}

bool reserve_token(const StatId &id, const Rate &rate) noexcept {
    bool taken = false;
    with_bucket(id, &StatEntry::bucket, rate, [&](Bucket &bucket, int64 now) {
        taken = model::tokens(rate, bucket.arrival, now) > 0;
        if (taken)
            bucket.arrival = model::take(rate, bucket.arrival, now, 1);
    });
    return taken;
}

void release_token(const StatId &id, const Rate &rate) noexcept {
    with_bucket(id, &StatEntry::bucket, rate,
                [&](Bucket &bucket, int64) { bucket.arrival = model::give_back(rate, bucket.arrival, 1); });
}

std::optional<int64> token_time(const StatId &id, const Rate &rate, int64 ahead) noexcept {
    constexpr int64 k_no_place = USECS_PER_SEC; // until a slot is looked for again
    std::optional<int64> time;
    const bool found = with_bucket(id, &StatEntry::bucket, rate, [&](const Bucket &bucket, int64 now) {
        if (model::tokens(rate, bucket.arrival, now) > 0)
            return;
        const int64 wanted = 1 + Min(ahead, model::k_max_span / rate.interval);
        time = to_micros(model::time_of(rate, bucket.arrival, now, wanted));
    });
    return found ? time : std::optional(steady_now() + k_no_place);
}

// ---- keys ----------------------------------------------------------------------------------------------------------

namespace {

constexpr uint32 k_ways = 16; // places that a key can have

using KeyHash = std::array<uint64, 2>;

struct KeyPlace {
    StatId queue; // queue 0: the place is free
    KeyHash key;
    Bucket bucket;
};

} // namespace

struct KeyPlaces {
    LWLockPadded *locks; // row i has lock i % k_key_place_locks
    uint32 rows;

    std::span<KeyPlace> row(uint32 i) noexcept {
        KeyPlace *first = reinterpret_cast<KeyPlace *>(this + 1) + Size{i} * k_ways;
        return {first, k_ways};
    }
    [[nodiscard]] LWLock *lock(uint32 i) const noexcept { return &locks[i % k_key_place_locks].lock; }
};

namespace {

constinit KeyPlaces *key_places = nullptr;

uint32 key_rows() { return (static_cast<uint32>(settings::max_rate_keys) + k_ways - 1) / k_ways; }

KeyHash hash_key(std::string_view key) noexcept { return {hash_of(key, 1), hash_of(key, 2)}; }

uint32 row_of(const StatId &queue, const KeyHash &key) noexcept {
    return static_cast<uint32>(hash_of(bytes_of(queue), key[0]) % key_places->rows);
}

KeyPlace *find_place(std::span<KeyPlace> row, const StatId &queue, const KeyHash &key) noexcept {
    const auto found =
        std::find_if(row.begin(), row.end(), [&](const KeyPlace &p) { return p.queue == queue && p.key == key; });
    return found == row.end() ? nullptr : &*found;
}

// A slot that is free, or whose bucket is full, or that is evicted. With the lock of the row held exclusively.
KeyPlace &make_place(std::span<KeyPlace> row, int64 now) noexcept {
    const auto arrival = [](const KeyPlace &place) { return place.queue.queue == 0 ? 0 : place.bucket.arrival; };
    KeyPlace &place = *std::min_element(row.begin(), row.end(),
                                        [&](const auto &a, const auto &b) { return arrival(a) < arrival(b); });
    if (arrival(place) > now)
        with_present_bucket(place.queue, &StatEntry::other_keys, [&](Bucket &others) {
            if (others.rate == place.bucket.rate) // else the bucket has ended with its rate
                others.arrival = Max(others.arrival, place.bucket.arrival);
        });
    return place;
}

// Lets `use(arrival, now)` act on the bucket of a key. If the mode is exclusive what it changes is kept, but for what
// is given back to a bucket that has lost its place.
template <typename Use>
void with_key(const StatId &queue, std::string_view key, const Rate &rate, LWLockMode mode, Use use) noexcept {
    const KeyHash hash = hash_key(key);
    const uint32 i = row_of(queue, hash);
    const auto row = key_places->row(i);
    LWLockAcquire(key_places->lock(i), mode);
    const int64 now = model::to_nanos(steady_now());
    int64 others = model::used_up(rate, now); // there is no place for the queue: it is known of none that has a token
    with_bucket(queue, &StatEntry::other_keys, rate, [&](const Bucket &bucket, int64) { others = bucket.arrival; });
    KeyPlace *place = find_place(row, queue, hash);
    int64 arrival =
        model::arrival_of(place != nullptr ? std::optional(place->bucket) : std::nullopt, rate, others, now);
    const int64 before = arrival;
    use(arrival, now);
    if (place == nullptr && arrival > before)
        place = &make_place(row, now);
    if (place != nullptr && mode == LW_EXCLUSIVE)
        *place = {queue, hash, {rate, arrival}};
    LWLockRelease(key_places->lock(i));
}

} // namespace

bool reserve_token(const StatId &queue, std::string_view key, const Rate &rate) noexcept {
    bool taken = false;
    with_key(queue, key, rate, LW_EXCLUSIVE, [&](int64 &arrival, int64 now) {
        taken = model::tokens(rate, arrival, now) > 0;
        if (taken)
            arrival = model::take(rate, arrival, now, 1);
    });
    return taken;
}

void release_token(const StatId &queue, std::string_view key, const Rate &rate) noexcept {
    with_key(queue, key, rate, LW_EXCLUSIVE,
             [&](int64 &arrival, int64) { arrival = model::give_back(rate, arrival, 1); });
}

int64 tokens(const StatId &queue, std::string_view key, const Rate &rate, int64 *next) noexcept {
    int64 count = 0;
    with_key(queue, key, rate, LW_SHARED, [&](int64 arrival, int64 now) {
        count = model::tokens(rate, arrival, now);
        *next = to_micros(model::time_of(rate, arrival, now, 1));
    });
    return count;
}

void reset_key_rates(const StatId &queue, const std::optional<Rate> &rate) noexcept {
    if (key_places == nullptr)
        return;
    if (rate)
        begin(queue, &StatEntry::other_keys, *rate);
    else
        with_present_bucket(queue, &StatEntry::other_keys, [](Bucket &others) { others = {}; });
    // Only now: a call that has read the shared bucket before still holds the lock of its row, and what it leaves is
    // forgotten.
    for (uint32 lock = 0; lock < k_key_place_locks; lock++) {
        LWLockAcquire(key_places->lock(lock), LW_EXCLUSIVE);
        for (uint32 i = lock; i < key_places->rows; i += k_key_place_locks)
            for (KeyPlace &place : key_places->row(i))
                if (place.queue == queue)
                    place = {};
        LWLockRelease(key_places->lock(lock));
    }
}

Size key_places_size() { return sizeof(KeyPlaces) + Size{key_rows()} * k_ways * sizeof(KeyPlace); }

void make_key_places(KeyPlaces *made, LWLockPadded *locks, bool found) {
    key_places = made;
    if (found)
        return;
    memset(static_cast<void *>(made), 0, key_places_size());
    made->locks = locks;
    made->rows = key_rows();
}

} // namespace scylla::shmem
