// What the present transaction means to others once it commits: tasks that can be leased, times at which the monitor is
// needed, a database that has got the extension. The verbs note it; the commit callback tells it.
//
// All of it is a hint. A rolled-back savepoint leaves notes that wake somebody for nothing; a prepared transaction loses
// them, and the monitor's regular rounds make up for it.
#pragma once

#include "shmem/shared.h"

namespace scylla::shmem {

void note_ready(int32 queue, int16 priority, int64 id);
void note_time(Timer timer, TimestampTz when);
// This database has got the extension.
void note_extension();
// Databases are made, dropped or changed. When the transaction ends, committed or not, those that this backend holds back
// from monitors (Shared::blocked) are given back and the launcher looks.
void note_databases();

// Registers the callback; once per process.
void install_callback();

} // namespace scylla::shmem
