#include "store/copies.h"

#include "pg/memory.h"
#include "store/spi.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr mark_statement = nullptr;
constinit SPIPlanPtr name_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr newest_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;
constinit SPIPlanPtr spec_statement = nullptr;

Datum array_of(std::span<const int64> ids) {
    const auto values = allocate<Datum>(ids.size());
    std::transform(ids.begin(), ids.end(), values.begin(), [](int64 id) { return Int64GetDatum(id); });
    return PointerGetDatum(
        construct_array(values.data(), static_cast<int>(ids.size()), INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE));
}

int64 number(uint64 row, int column, bool *null) {
    return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, null));
}

} // namespace

std::span<const int64> mark_resubmitted(std::span<const int64> originals) {
    std::array<Oid, 1> types{INT8ARRAYOID};
    std::array<Datum, 1> values{array_of(originals)};
    const auto marked = allocate<int64>(originals.size());
    AsOwner as_owner;
    as_owner.begin();
    run(&mark_statement,
        "insert into scylla.task_copy (original) select id from pg_catalog.unnest($1) with ordinality as t(id, n) "
        "order by n on conflict (original) do nothing returning original",
        types, values, nullptr, SPI_OK_INSERT_RETURNING);
    const auto count = static_cast<std::size_t>(SPI_processed);
    bool null = false;
    for (std::size_t i = 0; i < count; i++)
        marked[i] = number(i, 1, &null);
    as_owner.end();
    return marked.first(count);
}

void name_copies(std::span<const int64> originals, std::span<const int64> copies) {
    std::array<Oid, 2> types{INT8ARRAYOID, INT8ARRAYOID};
    std::array<Datum, 2> values{array_of(originals), array_of(copies)};
    AsOwner as_owner;
    as_owner.begin();
    run(&name_statement,
        "update scylla.task_copy c set copy = t.copy "
        "from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) as t(original, copy) "
        "where c.original operator(pg_catalog.=) t.original",
        types, values, nullptr, SPI_OK_UPDATE);
    as_owner.end();
}

bool is_resubmitted(int64 original) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(original)};
    AsOwner as_owner;
    as_owner.begin();
    run(&find_statement, "select 1 from scylla.task_copy where original operator(pg_catalog.=) $1", types, values,
        nullptr, SPI_OK_SELECT);
    const bool found = SPI_processed > 0;
    as_owner.end();
    return found;
}

std::optional<int64> newest_copy(int64 original) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(original)};
    AsOwner as_owner;
    as_owner.begin();
    // A copy is younger than its original, unless the original's deduplication key was taken by another original; so it
    // ends where that would go round.
    run(&newest_statement,
        "with recursive chain(id, n) as ("
        "select copy, 1 from scylla.task_copy where original operator(pg_catalog.=) $1 and copy is not null "
        "union all select c.copy, n operator(pg_catalog.+) 1 from chain "
        "join scylla.task_copy c on c.original operator(pg_catalog.=) chain.id where c.copy is not null) "
        "cycle id set is_cycle using path "
        "select id from chain where not is_cycle order by n desc limit 1",
        types, values, nullptr, SPI_OK_SELECT);
    bool null = false;
    const auto id = SPI_processed > 0 ? std::optional(number(0, 1, &null)) : std::nullopt;
    as_owner.end();
    return id;
}

int64 forget_copies(int64 after, int64 limit, int64 *removed) {
    std::array<Oid, 2> types{INT8OID, INT8OID};
    std::array<Datum, 2> values{Int64GetDatum(after), Int64GetDatum(limit)};
    AsOwner as_owner;
    as_owner.begin();
    run(&forget_statement,
        "with seen as materialized (select original from scylla.task_copy "
        "where original operator(pg_catalog.>) $1 order by original limit $2), "
        "gone as (delete from scylla.task_copy where original operator(pg_catalog.=) any (array("
        "select original from seen where not exists (select from scylla.task_spec s "
        "where s.id operator(pg_catalog.=) seen.original))) returning 1) "
        "select (select pg_catalog.max(original) from seen), (select pg_catalog.count(*) from seen), "
        "(select pg_catalog.count(*) from gone)",
        types, values, nullptr, SPI_OK_SELECT);
    bool null = false;
    const bool is_end = number(0, 2, &null) < limit;
    const int64 last = is_end ? 0 : number(0, 1, &null);
    *removed += number(0, 3, &null);
    as_owner.end();
    return last;
}

Jsonb *plan_spec(int64 id) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(id)};
    MemoryContext caller = CurrentMemoryContext;
    Jsonb *spec = nullptr;
    AsOwner as_owner;
    as_owner.begin();
    run(&spec_statement, "select spec from scylla.task_plan where id operator(pg_catalog.=) $1", types, values, nullptr,
        SPI_OK_SELECT);
    bool null = true;
    const Datum value =
        SPI_processed > 0 ? SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null) : Datum{0};
    if (!null) {
        MemoryContext spi = MemoryContextSwitchTo(caller);
        spec = DatumGetJsonbPCopy(value);
        MemoryContextSwitchTo(spi);
    }
    as_owner.end();
    return spec;
}

} // namespace scylla::store
