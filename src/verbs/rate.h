// rate: how many leases of a queue may start in a time. Each takes a token from the queue's bucket (model/rate.h).
//
// With shared memory the bucket is there (shmem/rates.h), and a token is gone when it is taken, whatever becomes of the lease.
// Without, it is a row of queue_rate, made with the setting, which is locked to the end of the transaction and rolled back with it: others that want to
// lease from the queue wait for that.
#pragma once

#include "model/rate.h"
#include "verbs/moves.h"

namespace scylla {

// The setting: an object with "tasks", "per" (1 s) and "burst" (1). 22023 if it is none.
model::Rate read_rate(Jsonb *rate);

// The setting of a queue has been made or changed; null: it has none any more. Its bucket begins used up.
void begin_rate(int32 queue, Jsonb *rate);

// The tokens of one call that leases.
struct Tokens {
    int32 queue;
    std::optional<model::Rate> rate; // nothing: the queue has none
    bool held;                       // one is taken and not used yet
    int64 used;
    // Without shared memory:
    int64 there;
    int64 arrival; // of the row
    int64 now;
};
Tokens begin_tokens(store::Store &store, const store::QueueRow &queue);
// Has a token for the next lease. False: there is none.
bool take_token(Tokens &tokens);
void use_token(Tokens &tokens);
// Gives back what was not used.
void end_tokens(Tokens &tokens);

// Nothing if a lease from the queue could have a token now. Else when there may be one (steady_now()); without shared memory
// that is never, for nobody waits for it.
std::optional<int64> next_token(const store::QueueRow &queue);

} // namespace scylla
