#include "store/plans.h"

#include "pg/error.h"
#include "pg/text.h"
#include "store/spi.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr share_statement = nullptr;
constinit SPIPlanPtr change_statement = nullptr;
constinit SPIPlanPtr open_statement = nullptr;
constinit SPIPlanPtr cancel_statement = nullptr;
constinit SPIPlanPtr owner_statement = nullptr;
constinit SPIPlanPtr finish_statement = nullptr;
constinit SPIPlanPtr charge_statement = nullptr;
constinit SPIPlanPtr remove_statement = nullptr;

Datum result(int column, bool *null) {
    return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, null);
}

std::optional<TimestampTz> result_time(int column) {
    bool null = false;
    const Datum value = result(column, &null);
    return null ? std::nullopt : std::optional(DatumGetTimestampTz(value));
}

// Changes one plan ($1; at $2; by the toll $3, $4). False: it was not there to be changed.
bool change(SPIPlanPtr *plan, const char *sql, int64 id, TimestampTz now, const Toll &toll = {}) {
    std::array<Oid, 4> types{INT8OID, TIMESTAMPTZOID, BOOLOID, BOOLOID};
    std::array<Datum, 4> values{Int64GetDatum(id), TimestampTzGetDatum(now), BoolGetDatum(toll.aborted),
                                BoolGetDatum(toll.cancelled)};
    AsOwner as_owner;
    as_owner.begin();
    run(plan, sql, types, values, nullptr, SPI_OK_UPDATE);
    const bool changed = SPI_processed > 0;
    as_owner.end();
    return changed;
}

} // namespace

std::optional<int64> insert_plan(const text *name, Jsonb *spec, PlanMaker maker) {
    if (maker != PlanMaker::workflow && view(name).starts_with(k_run_prefix))
        error::reserved_plan(name);
    NameData owner{}; // all of a name's bytes are stored, also those behind its end
    namestrcpy(&owner, GetUserNameFromId(GetUserId(), false));
    std::array<Oid, 4> types{TEXTOID, JSONBOID, NAMEOID, CHAROID};
    std::array<Datum, 4> values{PointerGetDatum(name), PointerGetDatum(spec), NameGetDatum(&owner),
                                CharGetDatum(static_cast<char>(maker))};
    const char nulls[] = {' ', spec == nullptr ? 'n' : ' ', ' ', maker == PlanMaker::caller ? 'n' : ' '};
    AsOwner as_owner;
    as_owner.begin();
    run(&insert_statement,
        "insert into scylla.task_plan (name, spec, owner, maker) values ($1, $2, $3, $4) on conflict (name) do nothing "
        "returning id",
        types, values, nulls, SPI_OK_INSERT_RETURNING);
    bool null = false;
    const auto id = SPI_processed > 0 ? std::optional(DatumGetInt64(result(1, &null))) : std::nullopt;
    as_owner.end();
    return id;
}

std::optional<PlanRow> hold_plan(const text *name, Hold how) {
    std::array<Oid, 1> types{TEXTOID};
    std::array<Datum, 1> values{PointerGetDatum(name)};
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    if (how == Hold::share)
        run(&share_statement,
            "select id, opened, finished, cancelled, failed, owner, name, maker, created from scylla.task_plan "
            "where name operator(pg_catalog.=) $1 for share",
            types, values, nullptr, SPI_OK_SELECT);
    else
        run(&change_statement,
            "select id, opened, finished, cancelled, failed, owner, name, maker, created from scylla.task_plan "
            "where name operator(pg_catalog.=) $1 for no key update",
            types, values, nullptr, SPI_OK_SELECT);
    std::optional<PlanRow> row;
    if (SPI_processed > 0) {
        bool null = false;
        MemoryContext spi = MemoryContextSwitchTo(caller);
        row = PlanRow{.id = DatumGetInt64(result(1, &null)),
                      .created = DatumGetTimestampTz(result(9, &null)),
                      .opened = result_time(2),
                      .finished = result_time(3),
                      .cancelled = DatumGetBool(result(4, &null)),
                      .failed = DatumGetBool(result(5, &null)),
                      .owner = pstrdup(NameStr(*DatumGetName(result(6, &null)))),
                      .name = DatumGetTextPCopy(result(7, &null)),
                      .maker = PlanMaker::caller};
        const Datum maker = result(8, &null);
        row->maker = null ? PlanMaker::caller : static_cast<PlanMaker>(DatumGetChar(maker));
        MemoryContextSwitchTo(spi);
    }
    as_owner.end();
    return row;
}

void open_plan(int64 id, TimestampTz now) {
    change(&open_statement, "update scylla.task_plan set opened = $2 where id operator(pg_catalog.=) $1", id, now);
}

void cancel_plan(int64 id, TimestampTz now) {
    change(&cancel_statement,
           "update scylla.task_plan set cancelled = true, failed = false, finished = $2 where id "
           "operator(pg_catalog.=) $1",
           id, now);
}

void set_plan_owner(int64 id, const text *owner) {
    std::array<Oid, 2> types{INT8OID, TEXTOID};
    std::array<Datum, 2> values{Int64GetDatum(id), PointerGetDatum(owner)};
    AsOwner as_owner;
    as_owner.begin();
    run(&owner_statement, "update scylla.task_plan set owner = $2::pg_catalog.name where id operator(pg_catalog.=) $1",
        types, values, nullptr, SPI_OK_UPDATE);
    as_owner.end();
}

bool finish_plan(int64 id, const Toll &toll, TimestampTz now) {
    return change(&finish_statement,
                  "update scylla.task_plan p set finished = $2, failed = p.failed or $3, "
                  "cancelled = (p.cancelled or $4) and not (p.failed or $3) "
                  "from (select id from scylla.task_plan where id operator(pg_catalog.=) $1 and finished is null "
                  "for no key update skip locked) held "
                  "where p.id operator(pg_catalog.=) held.id",
                  id, now, toll);
}

void charge_plan(int64 id, const Toll &toll) {
    change(&charge_statement,
           "update scylla.task_plan set failed = failed or $3, cancelled = cancelled or $4 "
           "where id operator(pg_catalog.=) $1 and finished is null and $2 is not null",
           id, 0, toll);
}

bool remove_plan(int64 id) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(id)};
    AsOwner as_owner;
    as_owner.begin();
    run(&remove_statement,
        "delete from scylla.task_plan p using "
        "(select id from scylla.task_plan where id operator(pg_catalog.=) $1 for update skip locked) held "
        "where p.id operator(pg_catalog.=) held.id",
        types, values, nullptr, SPI_OK_DELETE);
    const bool removed = SPI_processed > 0;
    as_owner.end();
    return removed;
}

} // namespace scylla::store
