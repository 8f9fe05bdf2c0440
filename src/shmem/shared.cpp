#include "shmem/shared.h"

#include "pg/settings.h"
#include "shmem/databases.h"
#include "shmem/gaps.h"
#include "shmem/heads.h"
#include "shmem/rates.h"
#include "shmem/stats.h"
#include "shmem/waiters.h"

namespace scylla::shmem {

constinit Shared *shared = nullptr;

namespace {

// The locks of the tranche.
constexpr int k_shared_lock = 0;
constexpr int k_waiters_lock = 1;
constexpr int k_stats_lock = 2;
constexpr int k_first_key_places_lock = 3;
constexpr int k_first_gaps_lock = k_first_key_places_lock + k_key_place_locks;
constexpr int k_first_heads_lock = k_first_gaps_lock + k_gap_locks;

constinit shmem_request_hook_type previous_request = nullptr;
constinit shmem_startup_hook_type previous_startup = nullptr;

extern "C" void request() {
    if (previous_request != nullptr)
        previous_request();
    RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
    RequestAddinShmemSpace(MAXALIGN(waiters_size()));
    RequestAddinShmemSpace(MAXALIGN(stats_size()));
    RequestAddinShmemSpace(MAXALIGN(key_places_size()));
    RequestAddinShmemSpace(MAXALIGN(heads_size()));
    RequestAddinShmemSpace(MAXALIGN(gaps_size()));
    RequestAddinShmemSpace(MAXALIGN(databases_size()));
    RequestNamedLWLockTranche("scylla", k_first_heads_lock + heads_locks());
}

extern "C" void startup() {
    if (previous_startup != nullptr)
        previous_startup();
    shared = nullptr; // the postmaster may be starting again after a crash
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    LWLockPadded *locks = GetNamedLWLockTranche("scylla");
    bool found = false;
    auto *made = static_cast<Shared *>(ShmemInitStruct("scylla monitors", sizeof(Shared), &found));
    if (!found) {
        memset(made, 0, sizeof(Shared));
        made->lock = &locks[k_shared_lock].lock;
        pg_atomic_init_u32(&made->launcher, 0);
        pg_atomic_init_u32(&made->rescan, 0);
        ConditionVariableInit(&made->exited);
        made->slots = settings::max_monitors;
        for (int i = 0; i < made->slots; i++) {
            MonitorSlot &slot = made->slot[i];
            pg_atomic_init_u32(&slot.database, 0);
            pg_atomic_init_u32(&slot.proc, 0);
            pg_atomic_init_u32(&slot.state, 0);
            pg_atomic_init_u32(&slot.present, 0);
            pg_atomic_init_u32(&slot.visits, 0);
            pg_atomic_init_u32(&slot.rested, 0);
            pg_atomic_init_u32(&slot.duty, 0);
            pg_atomic_init_u64(&slot.failing, 0);
            pg_atomic_init_u64(&slot.failing_since, 0);
            for (pg_atomic_uint64 &wake : slot.wake)
                pg_atomic_init_u64(&wake, 0);
        }
        for (WorkerSlot &worker : made->worker) {
            pg_atomic_init_u32(&worker.database, 0);
            pg_atomic_init_u32(&worker.proc, 0);
            pg_atomic_init_u32(&worker.state, 0);
            pg_atomic_init_u32(&worker.idle, 0);
        }
    }
    // One statement to find each and one to make it: the order in which arguments are evaluated is not fixed.
    auto *waiters = static_cast<Waiters *>(ShmemInitStruct("scylla waiters", waiters_size(), &found));
    make_waiters(waiters, &locks[k_waiters_lock].lock, found);
    auto *stats = static_cast<Stats *>(ShmemInitStruct("scylla statistics", stats_size(), &found));
    make_stats(stats, &locks[k_stats_lock].lock, found);
    auto *key_places = static_cast<KeyPlaces *>(ShmemInitStruct("scylla keys with a rate", key_places_size(), &found));
    make_key_places(key_places, &locks[k_first_key_places_lock], found);
    auto *heads = static_cast<Heads *>(ShmemInitStruct("scylla heads", heads_size(), &found));
    make_heads(heads, &locks[k_first_heads_lock], found);
    auto *gaps = static_cast<GapTable *>(ShmemInitStruct("scylla gaps", gaps_size(), &found));
    make_gaps(gaps, &locks[k_first_gaps_lock], found);
    auto *databases = static_cast<KnownDatabases *>(ShmemInitStruct("scylla databases", databases_size(), &found));
    make_databases(databases, found);
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

model::ProcessState advance(pg_atomic_uint32 &state, model::ProcessEvent event) noexcept {
    uint32 before = pg_atomic_read_u32(&state);
    for (;;) {
        const model::ProcessState next = model::after(static_cast<model::ProcessState>(before), event);
        if (pg_atomic_compare_exchange_u32(&state, &before, static_cast<uint32>(next)))
            return next;
    }
}

void ask_to_leave(MonitorSlot &slot) noexcept {
    (void)advance(slot.state, model::ProcessEvent::stop);
    wake(pg_atomic_read_u32(&slot.proc));
}

void wake(uint32 proc_plus_one) noexcept {
    if (proc_plus_one != 0)
        SetLatch(&ProcGlobal->allProcs[proc_plus_one - 1].procLatch);
}

MonitorSlot *monitor_slot(Oid database) noexcept {
    for (int i = 0; shared != nullptr && i < shared->slots; i++)
        if (pg_atomic_read_u32(&shared->slot[i].database) == database)
            return &shared->slot[i];
    return nullptr;
}

void wake_monitor(Oid database) noexcept {
    if (MonitorSlot *slot = monitor_slot(database))
        wake(pg_atomic_read_u32(&slot->proc));
}

void wake_launcher() noexcept {
    if (shared != nullptr)
        wake(pg_atomic_read_u32(&shared->launcher));
}

} // namespace scylla::shmem
