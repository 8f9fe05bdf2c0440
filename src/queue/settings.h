// Creating, changing and dropping queues.
#pragma once

#include "store/rows.h"

namespace scylla {

// Changes the settings that are members of the object; null is the default. 22023 if a member is no setting, or its
// value is not valid.
void apply(Jsonb *changes, store::QueueSettings &settings);

// Sets one setting to a value of its type. A function is looked up by its name: 22023 if there is none.
void put(store::QueueSettings &settings, const store::Setting &setting, NullableDatum value);

// Warns of a few seconds: '30' is more likely to mean days. 0 is no mistake.
void warn_of_short_retentions(const store::QueueSettings &settings);

// 42710 if the queue exists.
void create_queue(store::Store &store, const text *name, const store::QueueSettings &settings);
void alter_queue(store::Store &store, const text *name, Jsonb *changes);
void set_paused(store::Store &store, const text *name, bool paused);
// 2BP01 if it has tasks and `force` is not given. With `force` they are invisible from the commit on; their rows are
// removed later (task/dropped.h).
void drop_queue(store::Store &store, const text *name, bool force);

} // namespace scylla
