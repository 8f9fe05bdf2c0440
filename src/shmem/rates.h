// The token buckets (model/rate.h) of queues with a rate, and of keys in queues with a rate per key. They use a clock
// that cannot be set (pg/clock.h). A token is taken at once, and a rollback does not give it back: the lease may have
// been used.
//
// The bucket of a queue is one number in its entry of the statistics (stat_entries.h). It begins used up: when the rate
// is set or changed; at the first use after a start or a crash; at the first use after a change that others have made
// or undone; and when the entry was evicted. So no more than burst + rate × time is ever taken.
//
// There can be too many keys for that. A bucket that is full again needs no slot, so there are scylla.max_rate_keys
// slots for buckets that are not full. All keys of a queue without a slot share one bucket, in the entry of the queue.
// No token is taken from it: it begins used up as above, and fills. A key that takes its first token begins with the
// state of that bucket. So
//
//   (I)  the arrival that a key would have if every key had a slot for ever is past, or not later than that of its
//   slot,
//        or, without a slot, than that of the shared bucket.
//
//   * A slot becomes free when its bucket is full: then the shared bucket says the same, or less.
//   * If all slots that the key could use are taken, the bucket that is nearest to full is evicted. The shared bucket
//     of its queue is lowered to it: all keys without a slot may then have to wait as long as the evicted key.
//   * The shared bucket begins used up when the setting or the entry of the queue is lost. So all slots of the queue
//     could be forgotten then. They are when the setting is changed or the queue is dropped. (If the database or the
//     extension is dropped, they stay until they are full.)
//
// A slot is found by the queue and a 128-bit hash of the key; two keys with the same hash would share a bucket. Slots
// are in rows. A few locks guard the rows. A lock is held from the look at the shared bucket to the end, so a call that
// finds no slot for a key sees what the shared bucket became when that slot was evicted or forgotten.
#pragma once

#include "model/rate.h"
#include "shmem/stats.h"

namespace scylla::shmem {

// The rate is set or changed.
void reset_rate(const StatId &id, const model::Rate &rate) noexcept;
// False: there is none.
bool reserve_token(const StatId &id, const model::Rate &rate) noexcept;
// Gives back a token that was not used.
void release_token(const StatId &id, const model::Rate &rate) noexcept;
// Nothing if there is a token. Else the time (steady_now()) at which there will be one for a caller behind `ahead`
// others.
std::optional<int64> token_time(const StatId &id, const model::Rate &rate, int64 ahead) noexcept;

// The same for a key of the queue.
bool reserve_token(const StatId &queue, std::string_view key, const model::Rate &rate) noexcept;
void release_token(const StatId &queue, std::string_view key, const model::Rate &rate) noexcept;
// How many tokens there are. If none, *next is the time (steady_now()) of the first.
int64 tokens(const StatId &queue, std::string_view key, const model::Rate &rate, int64 *next) noexcept;
// The rate of the keys is set, changed, or gone.
void reset_key_rates(const StatId &queue, const std::optional<model::Rate> &rate) noexcept;

// The shared memory of the keys' buckets (shared.cpp makes it).
struct KeyPlaces;
inline constexpr int k_key_place_locks = 16;
Size key_places_size();
void make_key_places(KeyPlaces *made, LWLockPadded *locks, bool found);

} // namespace scylla::shmem
