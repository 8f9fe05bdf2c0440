// rate, rate_per_key: how many leases of a queue, and of each key in it, may start in a time. Each lease takes a token
// from the bucket of the queue, and one from that of its key (model/rate.h).
//
// With shared memory the buckets are there (shmem/rates.h), and a taken token is gone, even if the lease rolls back.
// Without it, they are rows of queue_rate. The row of the queue, or that of all keys without a row, is made with the
// setting. It is locked to the end of the transaction, and a rollback restores it: other leases from the queue wait for
// that.
#pragma once

#include "model/rate.h"
#include "task/moves.h"

namespace scylla {

// A setting: an object with "tasks", "per" (1 s) and "burst" (1). 22023 if it is none.
model::Rate read_rate(const char *setting, Jsonb *rate);

// The rates of a queue have been set or changed; null: it has no such rate any more. A bucket begins used up if its
// rate has changed.
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
// For a look: no token is taken, and no other call waits.
Tokens look_at_tokens(const store::QueueRow &queue);
// Takes a token for the next lease, unless one is held. False: there is none.
bool take_token(Tokens &tokens);
void use_token(Tokens &tokens);
// Gives back unused tokens.
void end_tokens(Tokens &tokens);

// Nothing if a lease from the queue could get a token now. Else when there may be one (steady_now()); never without
// shared memory, because then nothing waits for it.
std::optional<int64> next_token(const store::QueueRow &queue);

// How many tokens there are for a key, or PG_INT64_MAX if it needs none: null and the empty text are no key. If there
// are none, *next is when the first comes, as above.
int64 tokens_of(Tokens &tokens, const text *key, int64 *next);
// Takes one for a lease. False: there is none.
bool take_token(Tokens &tokens, const text *key);
// Gives back a token that was not used.
void return_token(Tokens &tokens, const text *key);

} // namespace scylla
