#include "store/statement.h"

#include "store/index_plans.h"

namespace scylla::store {

namespace {

void make_plan(Statement &statement) {
    SPIPlanPtr plan = SPI_prepare(statement.sql, static_cast<int>(statement.parameters.size()),
                                  const_cast<Oid *>(statement.parameters.data()));
    if (plan == nullptr)
        elog(ERROR, "statement %s: SPI_prepare failed: %s", statement.name, SPI_result_code_string(SPI_result));
    SPI_keepplan(plan);
    statement.plan = plan;
}

int execute(const Statement &statement, const Datum *values, const char *nulls) {
    auto *given = const_cast<Datum *>(values);
    if (!statement.latest)
        return SPI_execute_plan(statement.plan, given, nulls, statement.reads_only, 0);
    Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
    const int code =
        SPI_execute_snapshot(statement.plan, given, nulls, latest, InvalidSnapshot, statement.reads_only, false, 0);
    UnregisterSnapshot(latest);
    return code;
}

// Once for each plan: a reader trusts the types that the head of the statement names.
void check_columns(const Statement &statement, TupleDesc found) {
    const std::size_t count = found == nullptr ? 0 : static_cast<std::size_t>(found->natts);
    if (count != statement.columns.size())
        elog(ERROR, "statement %s returns %zu columns, and not %zu", statement.name, count, statement.columns.size());
    for (std::size_t i = 0; i < count; i++)
        if (const Oid type = TupleDescAttr(found, static_cast<int>(i))->atttypid; type != statement.columns[i])
            elog(ERROR, "statement %s: column %zu is of the type %s", statement.name, i + 1, format_type_be(type));
}

// The rows that the last statement returned, in the memory of the caller.
void *read_rows(const Statement &statement, const Reader &reader, MemoryContext caller) {
    if (SPI_processed < reader.least || SPI_processed > reader.most)
        elog(ERROR, "statement %s returned " UINT64_FORMAT " rows", statement.name, SPI_processed);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    const auto rows = allocate<char>(SPI_processed * reader.size);
    for (uint64 i = 0; i < SPI_processed; i++) {
        Fields row(statement, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
        reader.read(row, rows.data() + i * reader.size);
    }
    MemoryContextSwitchTo(spi);
    return rows.data();
}

// Reads rows until one is wanted. That one is read again, into the memory of the caller.
Rows find_first(const Statement &statement, const Datum *values, const char *nulls, const Reader &reader,
                MemoryContext caller) {
    constexpr long k_fetch = 50;
    if (statement.latest)
        PushActiveSnapshot(GetLatestSnapshot());
    Portal cursor = SPI_cursor_open(nullptr, statement.plan, const_cast<Datum *>(values), nulls, statement.reads_only);
    check_columns(statement, cursor->tupDesc);
    const auto read = [&](uint64 i, MemoryContext memory) {
        MemoryContext before = MemoryContextSwitchTo(memory);
        const auto row = allocate<char>(reader.size);
        Fields fields(statement, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
        reader.read(fields, row.data());
        MemoryContextSwitchTo(before);
        return static_cast<void *>(row.data());
    };
    void *found = nullptr;
    const RowMemory memory = begin_row_memory();
    do {
        SPI_cursor_fetch(cursor, true, k_fetch);
        for (uint64 i = 0; i < SPI_processed && found == nullptr; i++, reset(memory)) {
            CHECK_FOR_INTERRUPTS();
            if (reader.is_wanted(reader.says, read(i, CurrentMemoryContext)))
                found = read(i, caller);
        }
        SPI_freetuptable(SPI_tuptable);
    } while (found == nullptr && SPI_processed > 0);
    end(memory);
    SPI_cursor_close(cursor);
    if (statement.latest)
        PopActiveSnapshot();
    return {.first = found, .count = found == nullptr ? uint64{0} : uint64{1}};
}

Rows execute_and_read(const Statement &statement, const Datum *values, const char *nulls, const Reader *reader,
                      bool is_new, MemoryContext caller) {
    const int code = execute(statement, values, nulls);
    if (code < 0)
        elog(ERROR, "statement %s failed: %s", statement.name, SPI_result_code_string(code));
    if (reader == nullptr)
        return {.first = nullptr, .count = SPI_processed};
    if (reader->table != nullptr) {
        for (uint64 i = 0; i < SPI_processed; i++)
            tuplestore_puttuple(reader->table, SPI_tuptable->vals[i]);
        return {.first = nullptr, .count = SPI_processed};
    }
    if (is_new)
        check_columns(statement, SPI_tuptable == nullptr ? nullptr : SPI_tuptable->tupdesc);
    return {.first = read_rows(statement, *reader, caller), .count = SPI_processed};
}

// As act_as_owner(), but the search_path stays.
template <typename Work> Rows act_unpinned(Work work) {
    const Identity before = current_identity();
    SetUserIdAndSecContext(tables_owner(), before.context | SECURITY_LOCAL_USERID_CHANGE);
    SPI_connect();
    const Rows rows = work();
    SPI_finish();
    restore(before);
    return rows;
}

} // namespace

void Fields::refuse_null() const { elog(ERROR, "statement %s: column %d is null", statement_.name, column_); }

void refuse_null(const Statement &statement, std::size_t parameter) {
    elog(ERROR, "statement %s: parameter %zu is null", statement.name, parameter);
}

Rows run(Statement &statement, const Datum *values, const char *nulls, const Reader *reader) {
    MemoryContext caller = CurrentMemoryContext;
    const auto work = [&] {
        const int level = statement.indexes_only ? use_indexes_only() : 0;
        const bool is_new = statement.plan == nullptr;
        if (is_new)
            make_plan(statement);
        const Rows rows = reader != nullptr && reader->is_wanted != nullptr
                              ? find_first(statement, values, nulls, *reader, caller)
                              : execute_and_read(statement, values, nulls, reader, is_new, caller);
        if (level != 0)
            AtEOXact_GUC(true, level);
        return rows;
    };
    if (statement.as_caller)
        return act_with_spi(GetUserId(), 0, work);
    return statement.hot ? act_unpinned(work) : act_as_owner(work);
}

namespace sql {

Datum make_array(Oid element, std::span<Datum> values, std::span<bool> nulls) {
    int16 length = 0;
    bool by_value = false;
    char align = 0;
    get_typlenbyvalalign(element, &length, &by_value, &align);
    int size = static_cast<int>(values.size());
    int lower = 1;
    return PointerGetDatum(
        construct_md_array(values.data(), nulls.data(), 1, &size, &lower, element, length, by_value, align));
}

} // namespace sql
} // namespace scylla::store
