// The leases that a call names: one, or arrays of task names. Results have the order of the array.
#pragma once

#include "api/call.h"
#include "task/batch.h"

namespace scylla {

// The arguments that name one lease.
LeaseName get_lease_name(const auto &given) {
    return {args::name(given.rn()), args::name(given.worker()), given.attempt()};
}

// The arguments that name several. Checks the arrays. 22023: a null in rns, a bad name, arrays of different length.
struct BatchArguments {
    std::optional<args::Array> rns;
    text *worker;
    std::optional<args::Array> attempts;
    std::optional<args::Array> results = std::nullopt; // nothing: the verb has none
};
Batch get_batch(const BatchArguments &given);

// One row (rn, done, status) per element in array order. Closes the store.
Datum return_batch(FunctionCallInfo fcinfo, store::Store &store, const Batch &batch);

} // namespace scylla
