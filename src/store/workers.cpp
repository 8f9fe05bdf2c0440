#include "store/workers.h"

#include "pg/memory.h"
#include "store/spi.h"

namespace scylla::store {

namespace {

constinit SPIPlanPtr count_workers_plan = nullptr;

} // namespace

std::span<WorkerCount> count_workers() {
    MemoryContext caller = CurrentMemoryContext;
    AsOwner as_owner;
    as_owner.begin();
    run(&count_workers_plan,
        "select queue, pg_catalog.count(distinct owner) from scylla.task_lease group by queue order by queue", {}, {},
        nullptr, SPI_OK_SELECT);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    const auto counts = allocate<WorkerCount>(SPI_processed);
    MemoryContextSwitchTo(spi);
    for (std::size_t i = 0; i < counts.size(); i++) {
        bool null = false;
        HeapTuple row = SPI_tuptable->vals[i];
        counts[i] = {DatumGetInt32(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &null)),
                     DatumGetInt64(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &null))};
    }
    as_owner.end();
    return counts;
}

} // namespace scylla::store
