#include "verbs/moves.h"

#include "shmem/pending.h"

namespace scylla {

using store::Store;
using store::TableId;

Store open_for_write(const char *call) {
    PreventCommandIfReadOnly(call);
    PreventCommandIfParallelMode(call);
    PreventCommandDuringRecovery(call);
    return store::open(RowExclusiveLock);
}

Task make_ready(Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz now, bool is_new) {
    const store::ReadyRow row{spec.id, now, spec.queue, spec.priority, carry, {}};
    insert(store, row);
    shmem::note_ready(compat::file_number(store[TableId::ready].rel), spec.queue, spec.priority, spec.id, is_new);
    return task_of(spec, row);
}

Task make_waiting(Store &store, const store::SpecRow &spec, const store::Carry &carry, TimestampTz due, TimestampTz now) {
    const store::WaitingRow row{spec.id, due, now, spec.queue, carry, {}};
    insert(store, row);
    shmem::note_time(shmem::Timer::due, due);
    return task_of(spec, row);
}

Task make_running(Store &store, const store::SpecRow &spec, const store::Carry &carry, text *worker, int64 timeout,
                  TimestampTz now) {
    store::LeaseRow row{spec.id, now + timeout, now, now, timeout, spec.queue, 0, worker, carry, {}};
    row.carry.attempt++;
    insert(store, row);
    shmem::note_time(shmem::Timer::deadline, row.deadline);
    return task_of(spec, row);
}

Task make_final(Store &store, const store::SpecRow &spec, const Final &end, TimestampTz now) {
    const store::OutcomeRow row{spec.id,    now,       end.leased, spec.queue,  end.progress, end.status,
                                end.owner, end.carry, end.result, end.metrics, {}};
    insert(store, row);
    return task_of(spec, row);
}

store::Taken take(Store &store, TableId table, const ItemPointerData &tid, Wait wait) {
    return remove(store[table], tid, store.snapshot, wait == Wait::yes);
}

store::Taken take_ready(Store &store, const store::SpecRow &spec, const ItemPointerData &tid, Wait wait) {
    const store::Taken taken = take(store, TableId::ready, tid, wait);
    if (taken == store::Taken::ok)
        shmem::note_taken(compat::file_number(store[TableId::ready].rel), spec.queue, spec.priority, spec.id);
    return taken;
}

} // namespace scylla
