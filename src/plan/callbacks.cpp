// Callbacks: a task waits until an outside system returns a token.
#include "pg/error.h"
#include "plan/conditions.h"
#include "store/spi.h"
#include "task/rights.h"

namespace scylla {

namespace {

constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr is_statement = nullptr;
constinit SPIPlanPtr hold_statement = nullptr;
constinit SPIPlanPtr describe_statement = nullptr;

// 128 bits that cannot be guessed, as hexadecimal digits.
text *make_token() {
    constexpr std::size_t k_bytes = 16;
    std::array<std::uint8_t, k_bytes> random;
    if (!pg_strong_random(random.data(), random.size()))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
    std::array<char, 2 * k_bytes> digits;
    hex_encode(reinterpret_cast<const char *>(random.data()), random.size(), digits.data());
    return cstring_to_text_with_len(digits.data(), digits.size());
}

// The row that a statement has returned for a token: id, expires.
std::optional<Callback> found() {
    if (SPI_processed == 0)
        return std::nullopt;
    HeapTuple row = SPI_tuptable->vals[0];
    bool null = false;
    const int64 id = DatumGetInt64(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &null));
    const Datum expires = SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &null);
    return Callback{id, null ? std::nullopt : std::optional(DatumGetTimestampTz(expires))};
}

std::optional<Callback> look_up(SPIPlanPtr *plan, const char *sql, const text *token) {
    std::array<Oid, 1> types{TEXTOID};
    std::array<Datum, 1> values{PointerGetDatum(token)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(plan, sql, types, values, nullptr, SPI_OK_SELECT);
    const auto callback = found();
    as_owner.end();
    return callback;
}

} // namespace

text *create_callback(text *token, std::optional<TimestampTz> expires) {
    if (token == nullptr)
        token = make_token();
    NameData owner{};
    namestrcpy(&owner, GetUserNameFromId(GetUserId(), false));
    std::array<Oid, 3> types{TEXTOID, TIMESTAMPTZOID, NAMEOID};
    std::array<Datum, 3> values{PointerGetDatum(token), TimestampTzGetDatum(expires.value_or(0)), NameGetDatum(&owner)};
    const char nulls[] = {' ', expires ? ' ' : 'n', ' '};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(
        &insert_statement,
        "insert into scylla.task_callback (token, expires, owner) values ($1, $2, $3) on conflict (token) do nothing",
        types, values, nulls, SPI_OK_INSERT);
    const bool inserted = SPI_processed > 0;
    as_owner.end();
    if (!inserted)
        error::duplicate_callback(token);
    return token;
}

Callback find_callback(store::Store &store, const text *token, TimestampTz now, int64 element) {
    const auto callback = look_up(
        &find_statement,
        "select id, expires from scylla.task_callback where token operator(pg_catalog.=) $1 for key share", token);
    if (!callback || (callback->expires && *callback->expires <= now && !find_condition_end(store, callback->id)))
        error::no_such_callback(token, element);
    return *callback;
}

bool is_callback(int64 id) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(id)};
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&is_statement, "select from scylla.task_callback where id operator(pg_catalog.=) $1", types, values,
               nullptr, SPI_OK_SELECT);
    const bool found = SPI_processed > 0;
    as_owner.end();
    return found;
}

std::optional<Reason> describe_callback(int64 id) {
    std::array<Oid, 1> types{INT8OID};
    std::array<Datum, 1> values{Int64GetDatum(id)};
    MemoryContext caller = CurrentMemoryContext;
    const char *owner = nullptr;
    const char *token = nullptr;
    std::optional<TimestampTz> expires;
    store::AsOwner as_owner;
    as_owner.begin();
    store::run(&describe_statement,
               "select owner, token, expires from scylla.task_callback where id operator(pg_catalog.=) $1", types,
               values, nullptr, SPI_OK_SELECT);
    if (SPI_processed > 0) {
        HeapTuple row = SPI_tuptable->vals[0];
        TupleDesc type = SPI_tuptable->tupdesc;
        bool null = false;
        const Datum time = SPI_getbinval(row, type, 3, &null);
        expires = null ? std::nullopt : std::optional(DatumGetTimestampTz(time));
        MemoryContext spi = MemoryContextSwitchTo(caller);
        owner = pstrdup(NameStr(*DatumGetName(SPI_getbinval(row, type, 1, &null))));
        token = TextDatumGetCString(SPI_getbinval(row, type, 2, &null));
        MemoryContextSwitchTo(spi);
    }
    as_owner.end();
    if (owner == nullptr)
        return std::nullopt;
    // The token is secret: only roles with the owner's rights see it.
    const char *name = rights::owns(owner) ? psprintf("callback %s", token) : "a callback";
    return Reason{name, std::nullopt, expires, "It has been neither resolved nor rejected."};
}

bool end_callback(store::Store &store, const text *token, const ConditionEnd &end, TimestampTz now) {
    // The lock gives a callback a single outcome: another call that ends it waits here, and then sees that it has
    // ended.
    const auto callback = look_up(
        &hold_statement,
        "select id, expires from scylla.task_callback where token operator(pg_catalog.=) $1 for no key update", token);
    refresh(store);
    if (callback && find_condition_end(store, callback->id))
        return false;
    if (!callback || (callback->expires && *callback->expires <= now))
        error::no_such_callback(token, 0);
    end_condition(store, callback->id, end, now);
    return true;
}

} // namespace scylla
