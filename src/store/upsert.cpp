#include "store/upsert.h"

#include "pg/memory.h"
#include "store/row_access.h"
#include "store/spi.h"

namespace scylla::store {

namespace {

// A one-dimensional array; an element is null where null[i] is true.
Datum make_array(std::span<Datum> values, bool *null, Oid type) {
    int16 length = 0;
    bool by_value = false;
    char align = 0;
    get_typlenbyvalalign(type, &length, &by_value, &align);
    int size = static_cast<int>(values.size());
    int lower = 1;
    return PointerGetDatum(construct_md_array(values.data(), null, 1, &size, &lower, type, length, by_value, align));
}

constinit SPIPlanPtr insert_specs_plan = nullptr;
constinit SPIPlanPtr insert_dedup_keys_plan = nullptr;

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

} // namespace scylla::store
