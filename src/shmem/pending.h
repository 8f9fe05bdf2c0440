// What the present transaction means to others once it ends: tasks that can be leased, times at which the monitor is
// needed, a database that has got the extension. The verbs note it; the callback at the end of the transaction tells
// it.
//
// All of it is a hint. A savepoint that is rolled back leaves notes that may wake somebody for nothing; a prepared
// transaction loses them, and the monitor's rounds and the derivation of the heads make up for it.
#pragma once

#include "shmem/heads.h"
#include "shmem/shared.h"

namespace scylla::shmem {

// A task has become ready. `is_new`: its id is just given out; tasks that come back have older ids.
void note_ready(Oid file, int32 queue, int16 priority, int64 id, bool is_new);
// A ready task has been taken out of its table. If the transaction rolls back it is there again.
void note_taken(Oid file, int32 queue, int16 priority);
// A queue has been created.
void note_queue(const text *name, int32 queue);
// There may be tasks to lease that nobody could lease before: `count` waiters of the queue are to look.
void note_room(int32 queue, int64 count);
void note_time(Timer timer, TimestampTz when);
// A task that waits for gates, or a plan, about which nobody could decide yet (task/gates.h).
void note_recheck(int64 id);
// Whether there is a monitor to do what is noted, now or as soon as it has started again.
bool has_monitor() noexcept;
bool monitor_is_running() noexcept;
// A running task has been ended by others than its worker: a server worker need not go on with it.
void note_taken_away(int64 id);
// Something has changed of a pool that may let a task of its line start. 0: of any pool.
void note_pool(int64 pool);
// Tasks have been placed: if the transaction rolls back others may have what they were to get.
void note_placed();
// For the monitor: the pools of which commits have told since the last call. Of none: all, as it looks without a sign.
struct ChangedPools {
    bool all;
    std::size_t count;
    std::array<int64, k_changed_pools> pool;
};
ChangedPools take_changed_pools();
// A plan is finished: whoever waits for one is to look.
void note_plan_finished();
// There is something for the engine of workflows.
void note_agenda();
// This database has got the extension.
void note_extension();
// Databases are made, dropped or changed. When the transaction ends, committed or not, those that this backend holds
// back from monitors (Shared::blocked) are given back and the launcher looks.
void note_databases();

// The tasks that this transaction has made ready, of one queue and priority: those with new ids between two of them (0:
// none), and those that came back.
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
