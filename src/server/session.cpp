#include "server/session.h"

#include "pg/settings.h"
#include "server/monitor.h"
#include "shmem/waiters.h"

namespace scylla::monitor {

shmem::MonitorSlot *slot = nullptr;

namespace {

Oid extension = InvalidOid;

extern "C" void leave_slot(int, Datum) {
    pg_atomic_write_u32(&slot->proc, 0);
    shmem::wake_launcher();
}

// Tells the launcher that there is nothing to monitor, and exits.
[[noreturn]] void report_absent() {
    if (slot == nullptr) // the engine of workflows: the monitor does that
        proc_exit(0);
    LWLockAcquire(shmem::shared->lock, LW_EXCLUSIVE);
    if (shmem::shared->absent_count < shmem::k_max_marked)
        shmem::shared->absent[shmem::shared->absent_count++] = MyDatabaseId;
    LWLockRelease(shmem::shared->lock);
    (void)shmem::advance(slot->state, model::ProcessEvent::stop); // not a failure
    proc_exit(0);
}

// Overrides settings of the database or its owner that would do harm.
void override_settings() {
    constexpr struct {
        const char *name;
        const char *value;
    } k_settings[] = {{"search_path", "pg_catalog, pg_temp"},
                      {"default_transaction_isolation", "read committed"},
                      {"default_transaction_read_only", "off"},
                      {"default_transaction_deferrable", "off"},
                      {"statement_timeout", "0"},
                      {"idle_in_transaction_session_timeout", "0"},
                      {"idle_session_timeout", "0"},
                      {"lock_timeout", "1s"},
                      {"jit", "off"},
                      {"synchronous_commit", "off"}};
    for (const auto &setting : k_settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

} // namespace

int64 interval() { return static_cast<int64>(settings::monitor_interval) * 1000; }

shmem::StatId database_id() { return {MyDatabaseId, extension, 0}; }

void begin_session(int32 slot_index) {
    slot = &shmem::shared->slot[slot_index];
    before_shmem_exit(leave_slot, 0);
    pg_atomic_write_u32(&slot->proc, static_cast<uint32>(compat::my_proc_number()) + 1);
    // After our process number: a stop that came before it did not wake us.
    if (shmem::advance(slot->state, model::ProcessEvent::attach) != model::ProcessState::running)
        proc_exit(0);
    begin_process("scylla monitor", pg_atomic_read_u32(&slot->database));
}

void begin_process(const char *name, Oid database) {
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
    override_settings();
    pgstat_report_appname(name);
}

Identity begin_transaction(const char *activity) {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    pgstat_report_activity(STATE_RUNNING, activity);
    if (!store::hold_installed())
        report_absent();
    extension = store::identity();
    if (slot != nullptr)
        pg_atomic_write_u32(&slot->present, 1);
    const Identity before = become(store::tables_owner(), SECURITY_RESTRICTED_OPERATION);
    PushActiveSnapshot(GetTransactionSnapshot()); // for functions in users' indexes on the tables
    return before;
}

void commit_transaction(const Identity &before) {
    PopActiveSnapshot();
    restore(before);
    CommitTransactionCommand();
    pgstat_report_activity(STATE_IDLE, nullptr);
}

void count_error(const ErrorData *error) {
    if (OidIsValid(extension))
        shmem::count_error(database_id(), error->message);
}

} // namespace scylla::monitor
