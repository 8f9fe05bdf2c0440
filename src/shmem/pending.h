// What the present transaction means to others once it ends: tasks that can be leased, times at which the monitor is needed,
// a database that has got the extension. The verbs note it; the callback at the end of the transaction tells it.
//
// All of it is a hint. A rolled-back savepoint leaves notes that wake somebody for nothing; a prepared transaction loses
// them, and the monitor's rounds and the derivation of the heads make up for it.
#pragma once

#include "shmem/heads.h"
#include "shmem/shared.h"

namespace scylla::shmem {

// A task has become ready. `is_new`: its id is just given out; tasks that come back have older ids.
void note_ready(Oid file, int32 queue, int16 priority, int64 id, bool is_new);
// A ready task has been taken out of its table. If the transaction rolls back it is there again.
void note_taken(Oid file, int32 queue, int16 priority, int64 id);
// A queue has been created: whoever waits for a queue that does not exist yet is to look again.
void note_queue();
void note_time(Timer timer, TimestampTz when);
// This database has got the extension.
void note_extension();
// Databases are made, dropped or changed. When the transaction ends, committed or not, those that this backend holds back
// from monitors (Shared::blocked) are given back and the launcher looks.
void note_databases();

// The lowest ids that this transaction has made ready and has taken, of one queue and priority; 0: none.
struct Own {
    int64 made;
    int64 taken;
};
Own own_lowest(Oid file, int32 queue, int16 priority);
// More than could be noted: nothing is known about the own rows.
bool own_unknown();

// Registers the callbacks; once per process.
void install_callbacks();

} // namespace scylla::shmem
