#include "store/bucket_rows.h"

#include "store/queue/buckets.h"

namespace scylla::store {

namespace {

buckets::Name name_of(const BucketOf &whose) {
    return {.queue = whose.queue,
            .per_key = whose.key != nullptr,
            .key = whose.key != nullptr ? TextArgument(whose.key) : TextArgument("")};
}

buckets::Bucket row_of(const model::Bucket &bucket) {
    return {.arrival = bucket.arrival, .step = bucket.rate.interval, .burst = bucket.rate.burst};
}

model::Bucket bucket_of(const buckets::Bucket &row) {
    return {.rate = {.interval = row.step, .burst = row.burst}, .arrival = row.arrival};
}

} // namespace

model::Bucket lock_bucket(const BucketOf &whose, const model::Bucket &otherwise) {
    return bucket_of(buckets::lock(name_of(whose), row_of(otherwise)));
}

std::optional<model::Bucket> find_bucket(const BucketOf &whose) {
    const auto found = buckets::find(name_of(whose));
    return found ? std::optional(bucket_of(*found)) : std::nullopt;
}

void put_bucket(const BucketOf &whose, const model::Bucket &bucket) { buckets::put(name_of(whose), row_of(bucket)); }

void remove_buckets(const BucketOf &whose) { buckets::remove(whose.queue, whose.key != nullptr); }

} // namespace scylla::store
