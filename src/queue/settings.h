// Queues are made, changed and dropped.
#pragma once

#include "store/rows.h"

namespace scylla {

// Changes those settings that are members of the object; null is the default. 22023 for what is no setting or no value
// of one.
void apply(Jsonb *changes, store::QueueSettings &settings);

// Sets one setting, by a value of its type. A function is found by its name: 22023 if there is none.
void put(store::QueueSettings &settings, const store::Setting &setting, NullableDatum value);

// '30' was meant to be days, more likely than seconds. 0 is meant.
void warn_of_short_retentions(const store::QueueSettings &settings);

// 42710 if there is one.
void create_queue(store::Store &store, const text *name, const store::QueueSettings &settings);
void alter_queue(store::Store &store, const text *name, Jsonb *changes);
void set_paused(store::Store &store, const text *name, bool paused);
// 2BP01 if it has tasks and `force` is not given. With `force` they are gone for everybody from the commit on; what is
// left of them is removed later (task/dropped.h).
void drop_queue(store::Store &store, const text *name, bool force);

} // namespace scylla
