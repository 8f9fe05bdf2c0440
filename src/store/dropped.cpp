#include "store/dropped.h"

#include "store/spi.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr any_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr list_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;

// The drop of a queue is announced (tell_changed()).
struct Known {
    uint64 changes; // table_changes() when it was looked; 0: never
    bool any;
};
constinit Known known{};

int32 number_at(uint64 row) {
    bool null = false;
    return DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1, &null));
}

} // namespace

void insert_dropped(const QueueRow &queue) {
    std::array<Oid, 2> types{INT4OID, TEXTOID};
    std::array<Datum, 2> values{Int32GetDatum(queue.id), PointerGetDatum(queue.name)};
    AsOwner as_owner;
    as_owner.begin();
    run(&insert_statement, "insert into scylla.queue_dropped (id, name) values ($1, $2)", types, values, nullptr,
        SPI_OK_INSERT);
    as_owner.end();
}

bool any_dropped() {
    const uint64 changes = table_changes();
    if (known.changes == 0 || known.changes != changes) {
        AsOwner as_owner;
        as_owner.begin();
        run(&any_statement, "select 1 from scylla.queue_dropped limit 1", {}, {}, nullptr, SPI_OK_SELECT);
        known = {changes, SPI_processed > 0};
        as_owner.end();
    }
    return known.any;
}

bool is_dropped(int32 queue) {
    std::array<Oid, 1> types{INT4OID};
    std::array<Datum, 1> values{Int32GetDatum(queue)};
    AsOwner as_owner;
    as_owner.begin();
    run(&find_statement, "select id from scylla.queue_dropped where id operator(pg_catalog.=) $1", types, values,
        nullptr, SPI_OK_SELECT);
    const bool found = SPI_processed > 0;
    as_owner.end();
    return found;
}

std::size_t find_dropped(int32 after, std::span<int32> queues) {
    std::array<Oid, 2> types{INT8OID, INT4OID};
    std::array<Datum, 2> values{Int64GetDatum(static_cast<int64>(queues.size())), Int32GetDatum(after)};
    AsOwner as_owner;
    as_owner.begin();
    run(&list_statement, "select id from scylla.queue_dropped where id operator(pg_catalog.>) $2 order by id limit $1",
        types, values, nullptr, SPI_OK_SELECT);
    const auto count = static_cast<std::size_t>(SPI_processed);
    for (std::size_t i = 0; i < count; i++)
        queues[i] = number_at(i);
    as_owner.end();
    return count;
}

bool forget_dropped(std::span<const int32> queues) {
    std::array<Oid, 1> types{INT4OID};
    uint64 forgotten = 0;
    tell_changed(TableId::queue);
    AsOwner as_owner;
    as_owner.begin();
    for (const int32 queue : queues) {
        std::array<Datum, 1> values{Int32GetDatum(queue)};
        run(&forget_statement,
            "delete from scylla.queue_dropped where id operator(pg_catalog.=) $1 "
            "and (select is_called from scylla.task_id_seq)",
            types, values, nullptr, SPI_OK_DELETE);
        forgotten += SPI_processed;
    }
    as_owner.end();
    return forgotten > 0 || queues.empty();
}

} // namespace scylla::store
