#include "store/bucket_rows.h"

#include "store/spi_rows.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr lock_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr put_statement = nullptr;
constinit SPIPlanPtr remove_statement = nullptr;
constinit SPIPlanPtr remove_full_statement = nullptr;

// The queue, whether the bucket is of a key, and the key.
Parameters name_of(const BucketOf &whose) {
    Parameters parameters;
    parameters.add(INT4OID, Int32GetDatum(whose.queue))
        .add(BOOLOID, BoolGetDatum(whose.key != nullptr))
        .add(whose.key != nullptr ? whose.key : cstring_to_text(""));
    return parameters;
}

Parameters row_of(const BucketOf &whose, const model::Bucket &bucket) {
    return name_of(whose).add(bucket.arrival).add(bucket.rate.interval).add(bucket.rate.burst);
}

model::Bucket read_bucket(uint64 row) {
    Columns columns(row);
    const int64 arrival = columns.next_int64();
    return {.rate = {.interval = columns.next_int64(), .burst = columns.next_int64()}, .arrival = arrival};
}

} // namespace

model::Bucket lock_bucket(const BucketOf &whose, const model::Bucket &otherwise) {
    Parameters parameters = row_of(whose, otherwise);
    return select<model::Bucket>(
        &lock_statement,
        "insert into scylla.queue_rate as r (queue, per_key, key, arrival, step, burst) values ($1, $2, $3, $4, $5, "
        "$6) on conflict (queue, per_key, key) do update set arrival = r.arrival returning arrival, step, burst",
        parameters, SPI_OK_INSERT_RETURNING, read_bucket)[0];
}

std::optional<model::Bucket> find_bucket(const BucketOf &whose) {
    Parameters parameters = name_of(whose);
    const auto found = select<model::Bucket>(
        &find_statement,
        "select arrival, step, burst from scylla.queue_rate where queue operator(pg_catalog.=) $1 "
        "and per_key operator(pg_catalog.=) $2 and key operator(pg_catalog.=) $3",
        parameters, SPI_OK_SELECT, read_bucket);
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

void put_bucket(const BucketOf &whose, const model::Bucket &bucket) {
    Parameters parameters = row_of(whose, bucket);
    change(&put_statement,
           "insert into scylla.queue_rate (queue, per_key, key, arrival, step, burst) values ($1, $2, $3, $4, $5, $6) "
           "on conflict (queue, per_key, key) do update "
           "set arrival = excluded.arrival, step = excluded.step, burst = excluded.burst",
           parameters, SPI_OK_INSERT);
}

void remove_buckets(const BucketOf &whose) {
    Parameters parameters = name_of(whose);
    change(&remove_statement,
           "delete from scylla.queue_rate where queue operator(pg_catalog.=) $1 and per_key operator(pg_catalog.=) $2",
           parameters, SPI_OK_DELETE);
}

void remove_full_buckets(int32 queue, int64 now) {
    Parameters parameters;
    parameters.add(INT4OID, Int32GetDatum(queue)).add(now);
    change(&remove_full_statement,
           "delete from scylla.queue_rate where queue operator(pg_catalog.=) $1 and per_key "
           "and key operator(pg_catalog.<>) '' and arrival operator(pg_catalog.<=) $2",
           parameters, SPI_OK_DELETE);
}

} // namespace scylla::store
