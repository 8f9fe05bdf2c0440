#include "store/copies.h"

#include "pg/memory.h"
#include "store/spi_rows.h"

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

int64 first_number(uint64 row) { return Columns(row).next_int64(); }

} // namespace

std::span<const int64> mark_resubmitted(std::span<const int64> originals) {
    Parameters parameters;
    parameters.add(INT8ARRAYOID, array_of(originals));
    return select<int64>(
        &mark_statement,
        "insert into scylla.task_copy (original) select id from pg_catalog.unnest($1) with ordinality as t(id, n) "
        "order by n on conflict (original) do nothing returning original",
        parameters, SPI_OK_INSERT_RETURNING, first_number);
}

void name_copies(std::span<const int64> originals, std::span<const int64> copies) {
    Parameters parameters;
    parameters.add(INT8ARRAYOID, array_of(originals)).add(INT8ARRAYOID, array_of(copies));
    change(&name_statement,
           "update scylla.task_copy c set copy = t.copy "
           "from rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) as t(original, copy) "
           "where c.original operator(pg_catalog.=) t.original",
           parameters, SPI_OK_UPDATE);
}

bool is_resubmitted(int64 original) {
    Parameters parameters;
    parameters.add(original);
    return !select<int64>(&find_statement,
                          "select original from scylla.task_copy where original operator(pg_catalog.=) $1", parameters,
                          SPI_OK_SELECT, first_number)
                .empty();
}

std::optional<int64> newest_copy(int64 original) {
    Parameters parameters;
    parameters.add(original);
    // A copy is younger than its original, unless the original's deduplication key was taken by another original; so it
    // ends where that would go round.
    const auto found = select<int64>(
        &newest_statement,
        "with recursive chain(id, n) as ("
        "select copy, 1 from scylla.task_copy where original operator(pg_catalog.=) $1 and copy is not null "
        "union all select c.copy, n operator(pg_catalog.+) 1 from chain "
        "join scylla.task_copy c on c.original operator(pg_catalog.=) chain.id where c.copy is not null) "
        "cycle id set is_cycle using path "
        "select id from chain where not is_cycle order by n desc limit 1",
        parameters, SPI_OK_SELECT, first_number);
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

int64 forget_copies(int64 after, int64 limit, int64 *removed) {
    struct Portion {
        int64 last;
        int64 seen;
        int64 gone;
    };
    Parameters parameters;
    parameters.add(after).add(limit);
    const Portion portion = select<Portion>(
        &forget_statement,
        "with seen as materialized (select original from scylla.task_copy "
        "where original operator(pg_catalog.>) $1 order by original limit $2), "
        "gone as (delete from scylla.task_copy where original operator(pg_catalog.=) any (array("
        "select original from seen where not exists (select from scylla.task_spec s "
        "where s.id operator(pg_catalog.=) seen.original))) returning 1) "
        "select (select pg_catalog.max(original) from seen), (select pg_catalog.count(*) from seen), "
        "(select pg_catalog.count(*) from gone)",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            return Portion{.last = columns.next_int64(), .seen = columns.next_int64(), .gone = columns.next_int64()};
        })[0];
    *removed += portion.gone;
    return portion.seen < limit ? 0 : portion.last;
}

Jsonb *plan_spec(int64 id) {
    Parameters parameters;
    parameters.add(id);
    const auto found =
        select<Jsonb *>(&spec_statement, "select spec from scylla.task_plan where id operator(pg_catalog.=) $1",
                        parameters, SPI_OK_SELECT, [](uint64 row) { return Columns(row).next_jsonb(); });
    return found.empty() ? nullptr : found[0];
}

} // namespace scylla::store
