#include "shmem/shared.h"

#include "settings.h"

namespace scylla::shmem {

constinit Shared *shared = nullptr;

namespace {

constinit shmem_request_hook_type previous_request = nullptr;
constinit shmem_startup_hook_type previous_startup = nullptr;

extern "C" void request() {
    if (previous_request != nullptr)
        previous_request();
    RequestAddinShmemSpace(sizeof(Shared));
    RequestNamedLWLockTranche("scylla", 1);
}

extern "C" void startup() {
    if (previous_startup != nullptr)
        previous_startup();
    shared = nullptr; // the postmaster may be starting again after a crash
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    auto *made = static_cast<Shared *>(ShmemInitStruct("scylla", sizeof(Shared), &found));
    if (!found) {
        memset(made, 0, sizeof(Shared));
        made->lock = &GetNamedLWLockTranche("scylla")->lock;
        pg_atomic_init_u32(&made->launcher, 0);
        pg_atomic_init_u32(&made->rescan, 0);
        ConditionVariableInit(&made->exited);
        made->slots = settings::max_monitors;
        for (int i = 0; i < made->slots; i++) {
            MonitorSlot &slot = made->slot[i];
            pg_atomic_init_u32(&slot.database, 0);
            pg_atomic_init_u32(&slot.proc, 0);
            pg_atomic_init_u32(&slot.stop, 0);
            for (pg_atomic_uint64 &wake : slot.wake)
                pg_atomic_init_u64(&wake, 0);
        }
    }
    LWLockRelease(AddinShmemInitLock);
    shared = made;
}

} // namespace

void install() {
    previous_request = shmem_request_hook;
    shmem_request_hook = request;
    previous_startup = shmem_startup_hook;
    shmem_startup_hook = startup;
}

void wake(uint32 proc_plus_one) noexcept {
    if (proc_plus_one != 0)
        SetLatch(&ProcGlobal->allProcs[proc_plus_one - 1].procLatch);
}

void wake_launcher() noexcept {
    if (shared != nullptr)
        wake(pg_atomic_read_u32(&shared->launcher));
}

} // namespace scylla::shmem
