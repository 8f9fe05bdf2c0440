// Making, changing and removing schedules, for a role.
#pragma once

#include "store/schedule/schedules.h"

namespace scylla::schedule {

// Creates a schedule, or changes it if the caller has the rights of its owner. Returns its first time; nothing: there
// is none. Raises the errors that a submit of its tasks would raise.
std::optional<TimestampTz> put(const store::schedules::Settings &settings, Oid caller);
// 42704 if there is no such schedule that the caller may change.
void remove(const text *name, Oid caller);
// Creates or changes one for a maker (schedule/submission.h), or removes it.
void put_made(const store::schedules::Settings &settings, const char *owner);
void remove_made(const text *name);
// Arms the schedules that came with a copy of the database and that the caller may change. Returns how many.
int64 arm(Oid caller);

} // namespace scylla::schedule
