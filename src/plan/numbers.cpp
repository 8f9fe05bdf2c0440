#include "plan/numbers.h"

#include "store/spi_rows.h"

namespace scylla {

namespace {

constinit SPIPlanPtr numbers_statement = nullptr;

WaitNumbers read_row(uint64 row) {
    store::Columns columns(row);
    WaitNumbers numbers{};
    numbers.queue = columns.next_int32();
    for (int64 *number :
         {&numbers.callbacks, &numbers.checks, &numbers.pools, &numbers.signals, &numbers.deferred, &numbers.asked})
        *number = columns.next_int64();
    return numbers;
}

} // namespace

std::span<const WaitNumbers> read_wait_numbers() {
    store::Parameters none;
    return store::select<WaitNumbers>(
        &numbers_statement,
        "select queue, for_callbacks, for_checks, for_pools, for_signals, deferred, checks "
        "from scylla._stat_waiting order by queue",
        none, SPI_OK_SELECT, read_row);
}

} // namespace scylla
