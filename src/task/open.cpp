#include "task/open.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

void require_writable(const char *call) {
    PreventCommandDuringRecovery(call); // a standby is read-only, too
    PreventCommandIfReadOnly(call);
    PreventCommandIfParallelMode(call);
}

} // namespace

Store open_for_write(const char *call) {
    require_writable(call);
    return store::open(RowExclusiveLock, TableId::spec);
}

Store open_for_settings(const char *call) {
    require_writable(call);
    Store store = store::open(RowExclusiveLock);
    store.reads_queues = true;
    return store;
}

} // namespace scylla
