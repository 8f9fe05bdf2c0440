// What the views on shared memory show.
#include "verbs/task.h"

#include "shmem/heads.h"

SCYLLA_FUNCTION(scylla_heads) {
    using namespace scylla;
    const Rows rows = begin_rows(fcinfo);
    shmem::HeadStatus status;
    for (int at = 0; shmem::next_head(&at, &status);) {
        CHECK_FOR_INTERRUPTS();
        for (std::size_t p = 0; p < shmem::k_priorities; p++) {
            if ((status.view.nonempty[p / 64] >> (p % 64) & 1) == 0)
                continue;
            int32 returned = 0;
            for (int i = 0; i < status.view.returned_count; i++)
                returned += static_cast<std::size_t>(status.view.returned[static_cast<std::size_t>(i)].priority) == p;
            Datum values[] = {ObjectIdGetDatum(status.key.file), Int32GetDatum(status.key.queue),
                              Int32GetDatum(static_cast<int32>(p)), Int64GetDatum(status.view.frontier[p]),
                              Int32GetDatum(returned)};
            bool nulls[5] = {};
            tuplestore_putvalues(rows.store, rows.type, values, nulls);
        }
    }
    return 0;
}
