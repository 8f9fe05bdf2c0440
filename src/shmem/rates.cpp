#include "shmem/rates.h"

#include "pg/clock.h"
#include "shmem/stat_entries.h"

namespace scylla::shmem {

namespace {

// Lets `use(bucket, now)` act on the bucket under its mutex: no more than arithmetic. False: there is no place for one.
template <typename Use> bool with_bucket(const StatKey &key, const model::Rate &rate, Use use) noexcept {
    const int64 now = model::to_nanos(steady_now());
    const TimestampTz used = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_SHARED);
    StatEntry *entry = find_entry(key);
    if (entry == nullptr) {
        LWLockRelease(stats->lock);
        LWLockAcquire(stats->lock, LW_EXCLUSIVE);
        entry = find_or_make_entry(key, used);
    }
    if (entry != nullptr) {
        SpinLockAcquire(&entry->mutex);
        entry->used = used;
        Bucket &bucket = entry->bucket;
        if (bucket.rate != rate)
            bucket = {rate, model::used_up(rate, now)};
        use(bucket, now);
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return entry != nullptr;
}

} // namespace

bool take_token(const StatKey &key, const model::Rate &rate) noexcept {
    bool taken = false;
    with_bucket(key, rate, [&](Bucket &bucket, int64 now) {
        taken = model::tokens(rate, bucket.arrival, now) > 0;
        if (taken)
            bucket.arrival = model::take(rate, bucket.arrival, now, 1);
    });
    return taken;
}

void return_token(const StatKey &key, const model::Rate &rate) noexcept {
    with_bucket(key, rate, [&](Bucket &bucket, int64) { bucket.arrival = model::give_back(rate, bucket.arrival, 1); });
}

std::optional<int64> next_token(const StatKey &key, const model::Rate &rate, int64 ahead) noexcept {
    constexpr int64 k_no_place = USECS_PER_SEC; // until somebody looks for one again
    std::optional<int64> time;
    const bool found = with_bucket(key, rate, [&](const Bucket &bucket, int64 now) {
        if (model::tokens(rate, bucket.arrival, now) > 0)
            return;
        const int64 wanted = 1 + Min(ahead, model::k_max_span / rate.interval);
        time = (model::time_of(rate, bucket.arrival, now, wanted) + model::k_nanos - 1) / model::k_nanos;
    });
    return found ? time : std::optional(steady_now() + k_no_place);
}

} // namespace scylla::shmem
