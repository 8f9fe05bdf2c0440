#include "store/upsert.h"

#include "pg/hash.h"
#include "pg/memory.h"
#include "store/locks.h"
#include "store/row_access.h"
#include "store/spi.h"

namespace scylla::store {

namespace {

// A one-dimensional array; null elements where null[i]. Null may be empty: none is.
Datum make_array(std::span<Datum> values, bool *null, Oid type) {
    int16 length = 0;
    bool by_value = false;
    char align = 0;
    get_typlenbyvalalign(type, &length, &by_value, &align);
    int size = static_cast<int>(values.size());
    int lower = 1;
    return PointerGetDatum(construct_md_array(values.data(), null, 1, &size, &lower, type, length, by_value, align));
}

constinit SPIPlanPtr insert_queue_plan = nullptr;
constinit SPIPlanPtr insert_specs_plan = nullptr;
constinit SPIPlanPtr insert_dedup_keys_plan = nullptr;
constinit SPIPlanPtr lock_bucket_plan = nullptr;
constinit SPIPlanPtr find_bucket_plan = nullptr;
constinit SPIPlanPtr put_bucket_plan = nullptr;
constinit SPIPlanPtr remove_buckets_plan = nullptr;
constinit SPIPlanPtr remove_full_buckets_plan = nullptr;

// Which of the rows a statement has inserted, by the ids that it returned. They count up with the index in rows, so the
// place of an id is found by bisection.
void mark_inserted(std::span<const SpecRow> rows, std::span<bool> inserted) {
    for (std::size_t i = 0; i < rows.size(); i++)
        inserted[i] = false;
    for (uint64 r = 0; r < SPI_processed; r++) {
        bool is_null = false;
        const int64 id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[r], SPI_tuptable->tupdesc, 1, &is_null));
        std::size_t low = 0;
        for (std::size_t high = rows.size(); high - low > 1;) {
            const std::size_t middle = low + (high - low) / 2;
            if (rows[middle].id <= id)
                low = middle;
            else
                high = middle;
        }
        inserted[low] = true;
    }
}

} // namespace

namespace {

struct OwnQueues {
    TransactionId by;
    std::size_t count;
    std::array<int32, 64> queue;
};
constinit OwnQueues own_queues{};

void note_own(int32 queue) {
    const TransactionId own = GetTopTransactionId();
    if (own_queues.by != own)
        own_queues = {own, 0, {}};
    if (own_queues.count < own_queues.queue.size())
        own_queues.queue[own_queues.count++] = queue;
}

} // namespace

bool insert_queue(const text *name, const QueueSettings &settings) {
    constexpr std::size_t k_others = 2; // name and owner
    constexpr std::size_t k_parameters = k_others + k_queue_settings.size();
    std::array<Oid, k_parameters> types{TEXTOID, TEXTOID};
    std::array<Datum, k_parameters> values{PointerGetDatum(name),
                                           CStringGetTextDatum(GetUserNameFromId(GetUserId(), false))};
    std::array<char, k_parameters> nulls{' ', ' '};
    StringInfoData columns;
    StringInfoData parameters;
    initStringInfo(&columns);
    initStringInfo(&parameters);
    for (std::size_t i = 0; i < k_queue_settings.size(); i++) {
        const std::size_t place = k_others + i;
        const NullableDatum value = get(settings, k_queue_settings[i]);
        types[place] = type_of(k_queue_settings[i]);
        values[place] = value.value;
        nulls[place] = value.isnull ? 'n' : ' ';
        appendStringInfo(&columns, ", %s", k_queue_settings[i].name);
        appendStringInfo(&parameters, ", $%d", static_cast<int>(place) + 1);
    }
    // Two never insert a row of the same name at once: ON CONFLICT knows nothing of the index that REINDEX CONCURRENTLY
    // builds, and both would find the other there only. The later one waits here or for the row of the first.
    const LOCKTAG tag = name_lock_tag(hash_of(name));
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    // No other process knows the queue yet; but after a rollback this process must forget it. Before the insert: a
    // change that is announced after it is lost if an error ends the command.
    tell_changed(TableId::queue);
    AsOwner as_owner;
    as_owner.begin();
    run(&insert_queue_plan,
        psprintf("insert into scylla.queue (name, owner%s) values ($1, $2::pg_catalog.name%s) "
                 "on conflict (name) do nothing returning id",
                 columns.data, parameters.data),
        types, values, nulls.data(), SPI_OK_INSERT_RETURNING);
    const bool inserted = SPI_processed > 0;
    if (inserted) {
        bool null = false;
        note_own(DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null)));
    }
    as_owner.end();
    LockRelease(&tag, ExclusiveLock, false);
    return inserted;
}

bool is_own_queue(int32 queue) {
    const auto own = std::span(own_queues.queue).first(own_queues.count);
    return own_queues.by == GetTopTransactionIdIfAny() && std::find(own.begin(), own.end(), queue) != own.end();
}

namespace {

// A column of rows that are inserted together, and its value in each.
struct Column {
    Oid type;
    NullableDatum (*get)(const SpecRow &row);
};

NullableDatum given(Datum value) { return {value, false}; }
NullableDatum given_or_null(const void *value) { return {PointerGetDatum(value), value == nullptr}; }

// The parameters of a statement: an array for each column.
template <std::size_t Size> struct Arrays {
    std::array<Oid, Size> types;
    std::array<Datum, Size> values;
};
template <std::size_t Size>
Arrays<Size> to_arrays(const std::array<Column, Size> &columns, std::span<const SpecRow> rows) {
    Arrays<Size> arrays;
    const auto values = allocate<Datum>(rows.size());
    const auto nulls = allocate<bool>(rows.size());
    for (std::size_t c = 0; c < Size; c++) {
        for (std::size_t i = 0; i < rows.size(); i++) {
            const NullableDatum each = columns[c].get(rows[i]);
            values[i] = each.value;
            nulls[i] = each.isnull;
        }
        arrays.types[c] = get_array_type(columns[c].type);
        arrays.values[c] = make_array(values, nulls.data(), columns[c].type);
    }
    return arrays;
}

constexpr std::array k_spec_columns{
    Column{INT8OID, [](const SpecRow &row) { return given(Int64GetDatum(row.id)); }},
    Column{TIMESTAMPTZOID, [](const SpecRow &row) { return given(TimestampTzGetDatum(row.created)); }},
    Column{INT4OID, [](const SpecRow &row) { return given(Int32GetDatum(row.queue)); }},
    Column{INT2OID, [](const SpecRow &row) { return given(Int16GetDatum(row.priority)); }},
    Column{TEXTOID, [](const SpecRow &row) { return given_or_null(row.rn); }},
    Column{JSONBOID, [](const SpecRow &row) { return given_or_null(row.spec); }},
    Column{TIMESTAMPTZOID,
           [](const SpecRow &row) {
               return NullableDatum{TimestampTzGetDatum(row.not_before.value_or(0)), !row.not_before};
           }},
    Column{INT4OID,
           [](const SpecRow &row) {
               return NullableDatum{Int32GetDatum(row.max_attempts.value_or(0)), !row.max_attempts};
           }},
    Column{INT4OID,
           [](const SpecRow &row) {
               return NullableDatum{Int32GetDatum(row.gates.value_or(0)), !row.gates};
           }},
    Column{INT8OID,
           [](const SpecRow &row) {
               return NullableDatum{Int64GetDatum(row.plan.value_or(0)), !row.plan};
           }},
    Column{JSONBOID, [](const SpecRow &row) { return given_or_null(row.retry); }},
    Column{TEXTOID, [](const SpecRow &row) { return given_or_null(row.dedup_key); }},
    Column{TEXTOID, [](const SpecRow &row) { return given_or_null(row.key); }},
    Column{JSONBOID, [](const SpecRow &row) { return given_or_null(row.needs); }},
    Column{INT8OID,
           [](const SpecRow &row) {
               return NullableDatum{Int64GetDatum(row.runtime.value_or(0)), !row.runtime};
           }},
    Column{INT8OID,
           [](const SpecRow &row) {
               return NullableDatum{Int64GetDatum(row.run_timeout.value_or(0)), !row.run_timeout};
           }},
};

constexpr std::array k_dedup_columns{
    Column{INT4OID, [](const SpecRow &row) { return given(Int32GetDatum(row.queue)); }},
    Column{INT8OID, [](const SpecRow &row) { return given(Int64GetDatum(row.id)); }},
    Column{TEXTOID, [](const SpecRow &row) { return given_or_null(row.dedup_key); }},
    Column{TIMESTAMPTZOID,
           [](const SpecRow &row) {
               return NullableDatum{TimestampTzGetDatum(row.key_until.value_or(0)), !row.key_until};
           }},
};

// The statement gets an array for each column, and returns the ids of what it has inserted.
template <std::size_t Size>
void insert_each(SPIPlanPtr *plan, const char *sql, const std::array<Column, Size> &columns,
                 std::span<const SpecRow> rows, std::span<bool> inserted) {
    Arrays<Size> arrays = to_arrays(columns, rows);
    AsOwner as_owner;
    as_owner.begin();
    run(plan, sql, arrays.types, arrays.values, nullptr, SPI_OK_INSERT_RETURNING);
    mark_inserted(rows, inserted);
    as_owner.end();
}

} // namespace

void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted) {
    insert_each(&insert_specs_plan,
                "insert into scylla.task_spec (id, created, queue, priority, rn, spec, not_before, max_attempts, "
                "gates, plan, retry, dedup_key, key, needs, runtime, run_timeout) "
                "select * from rows from ("
                "pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4), "
                "pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8), "
                "pg_catalog.unnest($9), pg_catalog.unnest($10), pg_catalog.unnest($11), pg_catalog.unnest($12), "
                "pg_catalog.unnest($13), pg_catalog.unnest($14), pg_catalog.unnest($15), pg_catalog.unnest($16)) "
                "as t(id, created, queue, priority, rn, spec, not_before, max_attempts, gates, plan, retry, "
                "dedup_key, key, needs, runtime, run_timeout) "
                "order by rn collate pg_catalog.\"C\", id on conflict (rn) do nothing returning id",
                k_spec_columns, rows, inserted);
}

void insert_dedup_keys(std::span<const SpecRow> rows, std::span<bool> inserted) {
    insert_each(&insert_dedup_keys_plan,
                "insert into scylla.task_dedup (queue, id, key, until) "
                "select * from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), "
                "pg_catalog.unnest($4)) as t(queue, id, key, until) "
                "order by queue, key collate pg_catalog.\"C\", id on conflict (queue, key) do nothing returning id",
                k_dedup_columns, rows, inserted);
}

namespace {

// A change of one queue ($1) by one role ($2).
void change_queue(int32 queue, const text *role, const char *sql) {
    std::array<Oid, 2> types{INT4OID, TEXTOID};
    std::array<Datum, 2> values{Int32GetDatum(queue), PointerGetDatum(role)};
    tell_changed(TableId::queue);
    AsOwner as_owner;
    as_owner.begin();
    SPIPlanPtr plan = SPI_prepare(sql, static_cast<int>(types.size()), types.data());
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
    const int code = SPI_execute_plan(plan, values.data(), nullptr, false, 0);
    if (code != SPI_OK_UPDATE)
        elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
    as_owner.end();
}

const char *grantees_column(model::Privilege privilege) {
    switch (privilege) {
    case model::Privilege::submit:
        return "submitters";
    case model::Privilege::work:
        return "workers";
    case model::Privilege::view:
        return "viewers";
    case model::Privilege::depend:
        return "dependers";
    case model::Privilege::admin:
        break;
    }
    return "admins";
}

} // namespace

void add_grantee(int32 queue, model::Privilege privilege, const text *role) {
    const char *column = grantees_column(privilege);
    change_queue(queue, role,
                 psprintf("update scylla.queue set %s = pg_catalog.array_append(%s, $2) "
                          "where id operator(pg_catalog.=) $1 and (%s is null or $2 operator(pg_catalog.<>) all (%s))",
                          column, column, column, column));
}

void remove_grantee(int32 queue, model::Privilege privilege, const text *role) {
    const char *column = grantees_column(privilege);
    change_queue(queue, role,
                 psprintf("update scylla.queue set %s = case when %s operator(pg_catalog.<>) array[$2] "
                          "then pg_catalog.array_remove(%s, $2) end "
                          "where id operator(pg_catalog.=) $1 and $2 operator(pg_catalog.=) any (%s)",
                          column, column, column, column));
}

void set_queue_owner(int32 queue, const text *owner) {
    change_queue(queue, owner,
                 "update scylla.queue set owner = $2::pg_catalog.name where id operator(pg_catalog.=) $1");
}

namespace {

std::optional<model::Bucket> run_for_bucket(SPIPlanPtr *plan, const char *sql, const BucketOf &whose,
                                            const model::Bucket &bucket, int expected) {
    std::array<Oid, 6> types{INT4OID, BOOLOID, TEXTOID, INT8OID, INT8OID, INT8OID};
    const text *key = whose.key != nullptr ? whose.key : cstring_to_text("");
    std::array<Datum, 6> values{
        Int32GetDatum(whose.queue),    BoolGetDatum(whose.key != nullptr),  PointerGetDatum(key),
        Int64GetDatum(bucket.arrival), Int64GetDatum(bucket.rate.interval), Int64GetDatum(bucket.rate.burst)};
    AsOwner as_owner;
    as_owner.begin();
    run(plan, sql, types, values, nullptr, expected);
    std::optional<model::Bucket> result;
    if (SPI_tuptable != nullptr && SPI_processed > 0) {
        const auto number = [](int column) {
            bool null = false;
            return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &null));
        };
        result = model::Bucket{{number(2), number(3)}, number(1)};
    }
    as_owner.end();
    return result;
}

} // namespace

model::Bucket lock_bucket(const BucketOf &whose, const model::Bucket &otherwise) {
    return *run_for_bucket(
        &lock_bucket_plan,
        "insert into scylla.queue_rate as r (queue, per_key, key, arrival, step, burst) values ($1, $2, $3, $4, $5, "
        "$6) "
        "on conflict (queue, per_key, key) do update set arrival = r.arrival returning arrival, step, burst",
        whose, otherwise, SPI_OK_INSERT_RETURNING);
}

std::optional<model::Bucket> find_bucket(const BucketOf &whose) {
    return run_for_bucket(&find_bucket_plan,
                          "select arrival, step, burst from scylla.queue_rate where queue operator(pg_catalog.=) $1 "
                          "and per_key operator(pg_catalog.=) $2 and key operator(pg_catalog.=) $3",
                          whose, {}, SPI_OK_SELECT);
}

void put_bucket(const BucketOf &whose, const model::Bucket &bucket) {
    run_for_bucket(
        &put_bucket_plan,
        "insert into scylla.queue_rate (queue, per_key, key, arrival, step, burst) values ($1, $2, $3, $4, $5, $6) "
        "on conflict (queue, per_key, key) do update "
        "set arrival = excluded.arrival, step = excluded.step, burst = excluded.burst",
        whose, bucket, SPI_OK_INSERT);
}

void remove_buckets(const BucketOf &whose) {
    run_for_bucket(
        &remove_buckets_plan,
        "delete from scylla.queue_rate where queue operator(pg_catalog.=) $1 and per_key operator(pg_catalog.=) $2",
        whose, {}, SPI_OK_DELETE);
}

void remove_full_buckets(int32 queue, int64 now) {
    run_for_bucket(&remove_full_buckets_plan,
                   "delete from scylla.queue_rate where queue operator(pg_catalog.=) $1 and per_key "
                   "and key operator(pg_catalog.<>) '' and arrival operator(pg_catalog.<=) $4",
                   {queue, nullptr}, {{}, now}, SPI_OK_DELETE);
}

} // namespace scylla::store
