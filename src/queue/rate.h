// rate, rate_per_key: how many leases of a queue, and of each key in it, may start in a time. Each takes a token from
// the queue's bucket, and one from that of its key (model/rate.h).
//
// With shared memory the buckets are there (shmem/rates.h), and a token is gone when it is taken, whatever becomes of
// the lease. Without, they are rows of queue_rate. That of the queue, or for keys that of the keys which have none, is
// made with the setting; it is locked to the end of the transaction, and what was taken is rolled back with it: others
// that want to lease from the queue wait for that.
#pragma once

#include "model/rate.h"
#include "task/moves.h"

namespace scylla {

// A setting: an object with "tasks", "per" (1 s) and "burst" (1). 22023 if it is none.
model::Rate read_rate(const char *setting, Jsonb *rate);

// The settings of a queue have been made or changed; null: it has no such rate any more. Buckets begin used up if their
// rate is another than before.
void begin_rates(int32 queue, Jsonb *rate, Jsonb *rate_per_key);

// The tokens of one call.
struct Tokens {
    int32 queue;
    std::optional<model::Rate> rate;     // nothing: the queue has none
    std::optional<model::Rate> key_rate; // likewise
    bool held;                           // one of the queue is taken and not used yet
    int64 used;
    // Without shared memory:
    int64 there;
    int64 arrival; // of the queue's row
    int64 now;
    int64 others;          // the arrival of keys without a row
    MemoryContext context; // of what follows
    HTAB *of_key;          // the buckets of keys that were asked for; null: none yet
};
Tokens begin_tokens(store::Store &store, const store::QueueRow &queue);
// For a look: none is taken, and nobody waits.
Tokens look_at_tokens(const store::QueueRow &queue);
// Has a token for the next lease. False: there is none.
bool take_token(Tokens &tokens);
void use_token(Tokens &tokens);
// Gives back what was not used.
void end_tokens(Tokens &tokens);

// Nothing if a lease from the queue could have a token now. Else when there may be one (steady_now()); without shared
// memory that is never, for nobody waits for it.
std::optional<int64> next_token(const store::QueueRow &queue);

// How many tokens there are for a key, or PG_INT64_MAX if it needs none: null and the empty text are no key. If none,
// *next is when the first comes, as above.
int64 tokens_of(Tokens &tokens, const text *key, int64 *next);
// Takes one for a lease. False: there is none.
bool take_token(Tokens &tokens, const text *key);
// One that was not used.
void return_token(Tokens &tokens, const text *key);

} // namespace scylla
