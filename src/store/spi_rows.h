// What statements that go through SPI are given, and the rows that they return.
#pragma once

#include "pg/memory.h"
#include "pg/text.h"
#include "store/spi.h"

namespace scylla::store {

// The parameters of a statement, one after the other.
class Parameters {
public:
    Parameters &add(Oid type, Datum value, bool is_null = false) {
        types_[count_] = type;
        values_[count_] = value;
        nulls_[count_] = is_null ? 'n' : ' ';
        count_++;
        return *this;
    }
    Parameters &add(const text *value) { return add(TEXTOID, PointerGetDatum(value), value == nullptr); }
    Parameters &add(std::optional<TimestampTz> value) {
        return add(TIMESTAMPTZOID, TimestampTzGetDatum(value.value_or(0)), !value);
    }
    Parameters &add(const Interval *value) { return add(INTERVALOID, PointerGetDatum(value), value == nullptr); }
    Parameters &add(int64 value) { return add(INT8OID, Int64GetDatum(value)); }

    void run(SPIPlanPtr *plan, const char *sql, int expected) {
        store::run(plan, sql, std::span(types_).first(count_), std::span(values_).first(count_), nulls_.data(),
                   expected);
    }
    // By the latest snapshot, whatever that of the transaction is.
    void run_latest(SPIPlanPtr *plan, const char *sql, int expected) {
        prepare(plan, sql, std::span(types_).first(count_));
        Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
        const int code =
            SPI_execute_snapshot(*plan, values_.data(), nulls_.data(), latest, InvalidSnapshot, false, false, 0);
        UnregisterSnapshot(latest);
        if (code != expected)
            elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(code));
    }

private:
    std::size_t count_ = 0;
    std::array<Oid, 24> types_{};
    std::array<Datum, 24> values_{};
    std::array<char, 24> nulls_{};
};

// A row of the result, column by column. Values are copied into the current memory context.
class Columns {
public:
    explicit Columns(uint64 row) : row_(row) {}

    bool next() {
        value_ = SPI_getbinval(SPI_tuptable->vals[row_], SPI_tuptable->tupdesc, ++column_, &null_);
        return !null_;
    }
    text *next_text() { return next() ? DatumGetTextPCopy(value_) : nullptr; }
    const char *next_string() { return next() ? TextDatumGetCString(value_) : nullptr; }
    int64 next_int64() { return next() ? DatumGetInt64(value_) : 0; }
    int32 next_int32() { return next() ? DatumGetInt32(value_) : 0; }
    std::optional<TimestampTz> next_time() {
        return next() ? std::optional(DatumGetTimestampTz(value_)) : std::nullopt;
    }
    Interval *next_interval() {
        if (!next())
            return nullptr;
        auto *copy = static_cast<Interval *>(palloc(sizeof(Interval)));
        *copy = *DatumGetIntervalP(value_);
        return copy;
    }
    bool next_bool() { return next() && DatumGetBool(value_); }
    ArrayType *next_array() { return next() ? DatumGetArrayTypePCopy(value_) : nullptr; }
    // A value of any type with a length; 0: null.
    Datum next_varlena() { return next() ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value_)) : Datum{0}; }
    Jsonb *next_jsonb() { return next() ? DatumGetJsonbPCopy(value_) : nullptr; }
    template <typename Enum, std::size_t N> Enum next_word(const std::array<std::string_view, N> &words) {
        const text *word = next_text();
        for (std::size_t i = 0; word != nullptr && i < N; i++)
            if (view(word) == words[i])
                return static_cast<Enum>(i);
        elog(ERROR, "a row has \"%s\" in column %d", word == nullptr ? "null" : text_to_cstring(word), column_);
    }

private:
    uint64 row_;
    int column_ = 0;
    Datum value_ = 0;
    bool null_ = false;
};

// The rows of the result as the caller's values.
template <Pod T, typename Read> std::span<T> read_rows(MemoryContext caller, Read read) {
    MemoryContext spi = MemoryContextSwitchTo(caller);
    const std::span<T> rows = allocate<T>(SPI_processed);
    for (uint64 i = 0; i < rows.size(); i++)
        rows[i] = read(i);
    MemoryContextSwitchTo(spi);
    return rows;
}

// Runs a statement as the owner of the tables.
inline void change(SPIPlanPtr *plan, const char *sql, Parameters &parameters, int expected) {
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(plan, sql, expected);
    as_owner.end();
}

inline void change_latest(SPIPlanPtr *plan, const char *sql, Parameters &parameters, int expected) {
    AsOwner as_owner;
    as_owner.begin();
    parameters.run_latest(plan, sql, expected);
    as_owner.end();
}

// The rows that a statement returns, in the present memory context.
template <Pod T, typename Read>
std::span<T> select(SPIPlanPtr *plan, const char *sql, Parameters &parameters, int expected, Read read) {
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    parameters.run(plan, sql, expected);
    const std::span<T> rows = read_rows<T>(caller, read);
    as_owner.end();
    return rows;
}

// The same by the latest snapshot, whatever that of the transaction is.
template <Pod T, typename Read>
std::span<T> select_latest(SPIPlanPtr *plan, const char *sql, Parameters &parameters, int expected, Read read) {
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    parameters.run_latest(plan, sql, expected);
    const std::span<T> rows = read_rows<T>(caller, read);
    as_owner.end();
    return rows;
}

} // namespace scylla::store
