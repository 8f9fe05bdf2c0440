#include "trigger/numbers.h"

#include "pg/growing.h"
#include "store/spi_rows.h"
#include "task/rights.h"

namespace scylla::trigger {

namespace {

constinit SPIPlanPtr numbers_statement = nullptr;

Numbers read_row(uint64 row) {
    store::Columns columns(row);
    Numbers numbers{};
    numbers.owner = columns.next_string();
    numbers.name = columns.next_text();
    for (int64 *number : {&numbers.fired, &numbers.skipped, &numbers.waiting, &numbers.failing})
        *number = columns.next_int64();
    numbers.paused = columns.next_bool();
    return numbers;
}

} // namespace

std::span<const Numbers> read_numbers() {
    store::Parameters none;
    const auto all = store::select<Numbers>(
        &numbers_statement,
        "select owner::pg_catalog.text, trigger, fired, skipped, waiting, failing, paused from scylla._stat_trigger "
        "order by trigger collate pg_catalog.\"C\"",
        none, SPI_OK_SELECT, read_row);
    if (has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
        return all;
    Growing<Numbers> seen;
    for (const Numbers &each : all)
        if (rights::owns(each.owner))
            seen.add(each);
    return seen.all();
}

} // namespace scylla::trigger
