// What the present transaction means to others once it ends: tasks that can be leased, times at which the monitor is
// needed, a database in which the extension was created. The verbs note it; the callback at the end of the transaction
// acts on the notes.
//
// All of it is a hint. The notes of a savepoint that is rolled back may wake a process for nothing. The notes of a
// prepared transaction are lost; the monitor's rounds and the derivation of the heads find its tasks.
#pragma once

#include "shmem/heads.h"
#include "shmem/shared.h"

namespace scylla::shmem {

// A task has become ready. `is_new`: its id is new; tasks that come back have older ids.
void note_ready(Oid file, int32 queue, int16 priority, int64 id, bool is_new);
// A ready task has been taken out of its table. If the transaction rolls back it is there again.
void note_taken(Oid file, int32 queue, int16 priority);
// A queue has been created.
void note_queue(const text *name, int32 queue);
// Tasks may have become leasable that were not before: `count` waiters of the queue have to look.
void note_room(int32 queue, int64 count);
void note_time(Timer timer, TimestampTz when);
// A task that waits for gates, or a plan, is in doubt (task/gates.h): the monitor decides later.
void note_recheck(int64 id);
// Whether the database has a monitor that acts on the notes, now or when the launcher has started it again.
bool has_monitor() noexcept;
// Whether it runs, or need not because nothing is due.
bool is_monitor_in_order() noexcept;
// Whether it has a monitor that has found the extension.
bool is_monitored() noexcept;
// What the monitor of this database cannot do: duties whose last turn ended with an error, as bits by their numbers.
struct Failing {
    uint64 duties;
    TimestampTz since;
};
Failing failing_duties() noexcept;
// Somebody other than its worker has ended a running task: a server worker stops running it.
void note_taken_away(int64 id);
// A pool has changed, so a task in its line may be able to start. 0: any pool.
void note_pool(int64 pool);
// Tasks have been placed: if the transaction rolls back, other tasks may get their permits.
void note_placed();
// For the monitor: the pools that commits have noted since the last call. If none: all, because then no note led to the
// look.
struct ChangedPools {
    bool all;
    bool unannounced; // none
    std::size_t count;
    std::array<int64, k_changed_pools> pool;
};
ChangedPools take_changed_pools();
// A plan has ended: calls that wait for a plan have to look.
void note_plan_finished();
// The engine of workflows has something to do.
void note_agenda();
// The extension was created in this database, or its tables may be there again: if there is no monitor, the launcher
// looks. For what is not undone if this transaction rolls back: announce_extension().
void note_extension();
void announce_extension() noexcept;
// Databases are created, dropped or changed. When the transaction ends, committed or not, the launcher may start
// monitors again in those that this backend has blocked (Shared::blocked).
void note_databases();

// The tasks of one queue and priority that this transaction has made ready: new ones, with ids from `new_low` to
// `new_high` (0: none), and those that came back.
constexpr std::size_t k_own_stretches = 32;
struct Own {
    int64 new_low;
    int64 new_high;
    const model::Stretches<k_own_stretches> *back; // may be null
    Progress progress;
};
// Whether the transaction has made or taken any ready tasks.
bool has_own_tasks() noexcept;
// Nothing if it has neither made nor taken any there.
std::optional<Own> own_tasks(Oid file, int32 queue, int16 priority);
// Keeps the progress of its scans where the transaction has own tasks.
void note_progress(Oid file, int32 queue, int16 priority, const Progress &progress) noexcept;

// Registers the callbacks; once per process.
void install_callbacks();

} // namespace scylla::shmem
