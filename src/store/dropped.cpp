#include "store/dropped.h"

#include "store/spi_rows.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr insert_statement = nullptr;
constinit SPIPlanPtr find_statement = nullptr;
constinit SPIPlanPtr list_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;

// The drop of a queue is announced (tell_changed()).
struct Known {
    uint64 changes; // table_changes() when it was looked; 0: never
    bool any;
};
constinit Known known{};

int32 first_number(uint64 row) { return Columns(row).next_int32(); }

} // namespace

void insert_dropped(const QueueRow &queue) {
    Parameters parameters;
    parameters.add(INT4OID, Int32GetDatum(queue.id)).add(queue.name);
    change(&insert_statement, "insert into scylla.queue_dropped (id, name) values ($1, $2)", parameters, SPI_OK_INSERT);
}

bool any_dropped() {
    const uint64 changes = table_changes();
    if (known.changes == 0 || known.changes != changes) {
        int32 first = 0;
        known = {changes, find_dropped(0, std::span(&first, 1)) > 0};
    }
    return known.any;
}

bool is_dropped(int32 queue) {
    Parameters parameters;
    parameters.add(INT4OID, Int32GetDatum(queue));
    return !select<int32>(&find_statement, "select id from scylla.queue_dropped where id operator(pg_catalog.=) $1",
                          parameters, SPI_OK_SELECT, first_number)
                .empty();
}

std::size_t find_dropped(int32 after, std::span<int32> queues) {
    Parameters parameters;
    parameters.add(static_cast<int64>(queues.size())).add(INT4OID, Int32GetDatum(after));
    const auto found = select<int32>(
        &list_statement, "select id from scylla.queue_dropped where id operator(pg_catalog.>) $2 order by id limit $1",
        parameters, SPI_OK_SELECT, first_number);
    std::copy(found.begin(), found.end(), queues.begin());
    return found.size();
}

bool forget_dropped(std::span<const int32> queues) {
    uint64 forgotten = 0;
    tell_changed(TableId::queue);
    AsOwner as_owner;
    as_owner.begin();
    for (const int32 queue : queues) {
        Parameters parameters;
        parameters.add(INT4OID, Int32GetDatum(queue));
        parameters.run(&forget_statement,
                       "delete from scylla.queue_dropped where id operator(pg_catalog.=) $1 "
                       "and (select is_called from scylla.task_id_seq)",
                       SPI_OK_DELETE);
        forgotten += SPI_processed;
    }
    as_owner.end();
    return forgotten > 0 || queues.empty();
}

} // namespace scylla::store
