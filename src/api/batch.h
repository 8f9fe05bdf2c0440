// The leases that a call names: one, or arrays of task names. Results have the order of the array.
#pragma once

#include "task/batch.h"

namespace scylla {

// The arguments that name one lease: rn, worker and, as argument number `attempt`, its attempt.
LeaseName get_lease_name(FunctionCallInfo fcinfo, int attempt);

// Numbers of the arguments; -1: the verb does not have this argument.
struct BatchArguments {
    int rns, worker, results, attempts;
};

// Checks the arrays. 22023: a null in rns, a bad name, arrays of different length.
Batch get_batch(FunctionCallInfo fcinfo, BatchArguments where);

// One row (rn, done, status) per element in array order. Closes the store.
Datum return_batch(FunctionCallInfo fcinfo, store::Store &store, const Batch &batch);

} // namespace scylla
