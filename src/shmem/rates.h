// The token buckets (model/rate.h) of queues with a rate, and of keys in queues with a rate per key. The clock is one
// that nobody sets (pg/clock.h). Tokens are taken at once and not given back by a rollback: the leases may have been
// used.
//
// The bucket of a queue is one number in its entry of the statistics (stat_entries.h). It begins used up: when the rate
// is set or changed; and when somebody looks at it for the first time after a start or a crash, after a change that
// others have made or undone meanwhile, and after the entry has given way to another queue. So whatever happens, no
// more is taken than burst + rate × time.
//
// Keys are too many for that. A bucket that is full again needs no place, so there are scylla.max_rate_keys places for
// those that are not. All keys of a queue that have none share one bucket, in the entry of the queue, from which nobody
// takes: it begins used up as above, and fills. A key that takes its first token begins as that is; so
//
//   (I)  the arrival of a key that it would have if every key had a place for ever is past, or not later than that of
//   its place, or than
//        that of the others if it has none.
//
//   * A place is free again when its bucket is full: then that of the others tells as much, or less.
//   * Where all places in question are taken, the bucket that is nearest to full gives way. That of the others of its
//   queue becomes no
//     fuller than it was: they all may have to wait for as long as that one would have.
//   * The bucket of the others begins used up when the setting or the entry of the queue is lost, so all places of the
//   queue could be
//     forgotten then; when the setting is changed or the queue dropped, they are. (Of a database or an extension that
//     is dropped they stay until they are full.)
//
// A place is found by the queue and 128 bits of a hash of the key: were they the same for two keys, these would share a
// bucket. Places are in rows, and each row has a lock, of few. It is held from the look at the others' bucket to the
// end; so whoever finds no place for a key sees what became of the others' bucket when it gave way or was forgotten.
#pragma once

#include "model/rate.h"
#include "shmem/stats.h"

namespace scylla::shmem {

// The rate is set or changed.
void reset_rate(const StatKey &key, const model::Rate &rate) noexcept;
// False: there is none.
bool reserve_token(const StatKey &key, const model::Rate &rate) noexcept;
// One that was taken and not used.
void release_token(const StatKey &key, const model::Rate &rate) noexcept;
// Nothing if there is a token. Else when there will be one for somebody before whom `ahead` others want one, of
// steady_now().
std::optional<int64> token_time(const StatKey &key, const model::Rate &rate, int64 ahead) noexcept;

// The same for a key of the queue.
bool reserve_token(const StatKey &queue, std::string_view key, const model::Rate &rate) noexcept;
void release_token(const StatKey &queue, std::string_view key, const model::Rate &rate) noexcept;
// How many tokens there are; if none, *next is when the first comes, of steady_now().
int64 tokens(const StatKey &queue, std::string_view key, const model::Rate &rate, int64 *next) noexcept;
// The rate of the keys is set, changed, or gone.
void reset_key_rates(const StatKey &queue, const std::optional<model::Rate> &rate) noexcept;

// What keys need of shared memory (shared.cpp makes it).
struct KeyPlaces;
inline constexpr int k_key_place_locks = 16;
Size key_places_size();
void make_key_places(KeyPlaces *made, LWLockPadded *locks, bool found);

} // namespace scylla::shmem
