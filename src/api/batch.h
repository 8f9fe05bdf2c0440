// The leases that a call is about: one, or arrays of task names, which are answered in the order of the array.
#pragma once

#include "task/batch.h"

namespace scylla {

// What a worker says about one lease: rn, worker and, as argument number `attempt`, which attempt.
LeaseName get_lease_name(FunctionCallInfo fcinfo, int attempt);

// Where the arguments are; -1: the verb has none.
struct BatchArguments {
    int rns, worker, results, attempts;
};

// Checks the arrays. 22023: a null in rns, a bad name, arrays of different length.
Batch get_batch(FunctionCallInfo fcinfo, BatchArguments where);

// One row (rn, done, status) per element in array order. Closes the store.
Datum return_batch(FunctionCallInfo fcinfo, store::Store &store, const Batch &batch);

} // namespace scylla
