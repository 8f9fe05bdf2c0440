#include "workflow/numbers.h"

#include "store/spi_rows.h"
#include "workflow/definitions.h"

namespace scylla::workflow {

namespace {

constinit SPIPlanPtr numbers_statement = nullptr;

struct Row {
    Head head; // for the check of rights
    Numbers numbers;
};

Row read_row(uint64 row) {
    store::Columns columns(row);
    Row read{};
    read.head.owner = columns.next_string();
    for (ArrayType *&grantees : read.head.grantees)
        grantees = columns.next_array();
    Numbers &numbers = read.numbers;
    numbers.id = columns.next_text();
    for (int64 *number : {&numbers.instances, &numbers.queued, &numbers.running, &numbers.failed, &numbers.agenda})
        *number = columns.next_int64();
    for (int64 &steps : numbers.steps)
        steps = columns.next_int64();
    for (auto *oldest : {&numbers.oldest_queued, &numbers.oldest_running, &numbers.oldest_agenda})
        *oldest = columns.next_time();
    return read;
}

} // namespace

std::span<const Numbers> read_numbers() {
    store::Parameters none;
    const auto rows = store::select<Row>(
        &numbers_statement,
        "select owner::pg_catalog.text, runners, viewers, admins, workflow, instances, queued, running, failed, "
        "agenda, steps_failed, steps_paused, steps_retrying, steps_running, steps_waiting_for_permits, "
        "steps_waiting_for_signals, oldest_queued, oldest_running, oldest_agenda from scylla._stat_workflow "
        "order by workflow",
        none, SPI_OK_SELECT, read_row);
    const bool all = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
    Growing<Numbers> seen;
    for (const Row &row : rows)
        if (all || can_view(row.head))
            seen.add(row.numbers);
    return seen.all();
}

} // namespace scylla::workflow
