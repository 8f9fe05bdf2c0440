#include "store/upsert.h"

namespace scylla::store {

namespace {

// Runs saved plans as the owner of the tables. The caller's identity comes back at the end, or by abort processing.
class AsOwner {
  public:
    void begin() {
        GetUserIdAndSecContext(&user_, &context_);
        SetUserIdAndSecContext(tables_owner(), context_ | SECURITY_LOCAL_USERID_CHANGE);
        SPI_connect();
    }
    void end() {
        SPI_finish();
        SetUserIdAndSecContext(user_, context_);
    }

  private:
    Oid user_;
    int context_;
};

void run(SPIPlanPtr *plan, const char *sql, std::span<Oid> types, std::span<Datum> values, const char *nulls, int expected) {
    if (*plan == nullptr) {
        SPIPlanPtr prepared = SPI_prepare(sql, static_cast<int>(types.size()), types.data());
        if (prepared == nullptr)
            elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
        SPI_keepplan(prepared);
        *plan = prepared;
    }
    const int code = SPI_execute_plan(*plan, values.data(), nulls, false, 0);
    if (code != expected)
        elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
}

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

} // namespace

bool insert_queue(const text *name, const Interval *default_timeout, const Interval *retention, float8 aging) {
    std::array<Oid, 4> types{TEXTOID, INTERVALOID, INTERVALOID, FLOAT8OID};
    std::array<Datum, 4> values{PointerGetDatum(name), PointerGetDatum(default_timeout), PointerGetDatum(retention),
                                Float8GetDatum(aging)};
    const char nulls[] = {' ', default_timeout == nullptr ? 'n' : ' ', retention == nullptr ? 'n' : ' ', ' '};
    AsOwner as_owner;
    as_owner.begin();
    run(&insert_queue_plan,
        "insert into scylla.queue (name, default_timeout, retention, aging) values ($1, $2, $3, $4) "
        "on conflict (name) do nothing",
        types, values, nulls, SPI_OK_INSERT);
    const bool inserted = SPI_processed > 0;
    as_owner.end();
    return inserted;
}

void insert_specs(std::span<const SpecRow> rows, std::span<bool> inserted) {
    constexpr std::size_t k_columns = 8;
    std::array<Oid, k_columns> element{INT8OID, TIMESTAMPTZOID, INT4OID, INT2OID, TEXTOID, JSONBOID, TIMESTAMPTZOID, INT4OID};
    std::array<Oid, k_columns> types;
    std::array<Datum, k_columns> values;
    auto *column = static_cast<Datum *>(MemoryContextAllocHuge(CurrentMemoryContext, rows.size() * sizeof(Datum)));
    auto *null = static_cast<bool *>(palloc(rows.size()));
    for (std::size_t c = 0; c < k_columns; c++) {
        for (std::size_t i = 0; i < rows.size(); i++) {
            const SpecRow &row = rows[i];
            null[i] = (c == 6 && !row.not_before) || (c == 7 && !row.max_attempts);
            const Datum all[k_columns] = {Int64GetDatum(row.id),
                                          TimestampTzGetDatum(row.created),
                                          Int32GetDatum(row.queue),
                                          Int16GetDatum(row.priority),
                                          PointerGetDatum(row.rn),
                                          PointerGetDatum(row.spec),
                                          TimestampTzGetDatum(row.not_before.value_or(0)),
                                          Int32GetDatum(row.max_attempts.value_or(0))};
            column[i] = all[c];
        }
        types[c] = get_array_type(element[c]);
        values[c] = make_array({column, rows.size()}, null, element[c]);
    }
    AsOwner as_owner;
    as_owner.begin();
    run(&insert_specs_plan,
        "insert into scylla.task_spec (id, created, queue, priority, rn, spec, not_before, max_attempts) "
        "select * from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4), "
        "pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8)) "
        "as t(id, created, queue, priority, rn, spec, not_before, max_attempts) "
        "order by rn collate pg_catalog.\"C\", id on conflict (rn) do nothing returning id",
        types, values, nullptr, SPI_OK_INSERT_RETURNING);
    // Ids count up with the index in rows, so the place of a returned id is found by bisection.
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
    as_owner.end();
}

} // namespace scylla::store
