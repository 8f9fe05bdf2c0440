// The token buckets of queues with a rate (model/rate.h): each is one number in the queue's entry of the statistics (stat_entries.h).
//
// A bucket begins used up: after a start or a crash, when the rate is changed, and when the entry has given way to another queue
// meanwhile. So whatever happens, no more is taken than burst + rate × time. Tokens are taken at once and not given back by a rollback:
// the leases may have been used. The clock is one that nobody sets (pg/clock.h).
#pragma once

#include "model/rate.h"
#include "shmem/stats.h"

namespace scylla::shmem {

// False: there is none.
bool take_token(const StatKey &key, const model::Rate &rate) noexcept;
// One that was taken and not used.
void return_token(const StatKey &key, const model::Rate &rate) noexcept;
// Nothing if there is a token. Else when there will be one for somebody before whom `ahead` others want one, of steady_now().
std::optional<int64> next_token(const StatKey &key, const model::Rate &rate, int64 ahead) noexcept;

} // namespace scylla::shmem
