// Making, changing and removing schedules, for a role.
#pragma once

#include "store/schedule_rows.h"

namespace scylla::schedule {

// Makes a schedule, or changes it if the caller has the rights of its owner. Returns when it comes first; nothing:
// never. What a submit of its tasks would refuse is refused.
std::optional<TimestampTz> put(const store::ScheduleSettings &settings, Oid caller);
// 42704 if there is none that the caller may change.
void remove(const text *name, Oid caller);
// Makes or changes one for a maker (schedule/submission.h), or removes it.
void put_made(const store::ScheduleSettings &settings, const char *owner);
void remove_made(const text *name);
// Those that the caller may change, and that came with a copy of the database. Returns how many.
int64 arm(Oid caller);

} // namespace scylla::schedule
