// complete, complete_many, abort, fail: how a worker ends its lease with a word about the task.
#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"
#include "api/batch.h"
#include "plan/gates.h"
#include "task/history.h"
#include "queue/lease.h"
#include "task/retry.h"

namespace scylla {

namespace {

Task completed(store::Store &store, const Claim &claim, Jsonb *result, Jsonb *metrics, TimestampTz now) {
    const store::LeaseRow &lease = *claim.lease;
    return make_final(store, *claim.spec,
                      {model::Status::completed, 1, lease.owner, lease.leased, lease.carry, result, metrics}, now);
}

Task aborted(store::Store &store, const Claim &claim, const store::Carry &carry, TimestampTz now) {
    const store::LeaseRow &lease = *claim.lease;
    return make_final(store, *claim.spec,
                      {model::Status::aborted, lease.progress, lease.owner, lease.leased, carry, nullptr, nullptr},
                      now);
}

// The delay by the policy of the task, else of its queue.
int64 delay_after(store::Store &store, const store::SpecRow &spec, int32 failures) {
    if (spec.retry != nullptr)
        return retry_delay(spec.retry, failures);
    const auto settings = find_settings(store, spec.queue);
    return retry_delay(settings ? settings->retry : nullptr, failures);
}

Task failed(store::Store &store, const Claim &claim, Jsonb *error, std::optional<int64> retry_after, TimestampTz now) {
    const shmem::StatKey key = stat_key(claim.spec->queue);
    shmem::count(key, shmem::Count::failed);
    store::Carry carry = claim.lease->carry;
    carry.errors = add_error(carry.errors, error);
    if (claim.spec->max_attempts && carry.failures + 1 >= *claim.spec->max_attempts) {
        carry.failures++;
        return aborted(store, claim, carry, now);
    }
    shmem::count_time(key, shmem::Time::run, now - claim.lease->leased);
    Jsonb *errors = carry.errors;
    carry = carry_on(*claim.lease, Ending::retry, now);
    carry.errors = errors;
    const int64 delay = retry_after ? *retry_after : delay_after(store, *claim.spec, carry.failures);
    return delay > 0 ? make_waiting(store, *claim.spec, carry, now + delay, now)
                     : make_ready(store, *claim.spec, carry, now);
}

LeaseName lease_name(FunctionCallInfo fcinfo, int attempt) {
    return {args::name("rn", args::get_text(fcinfo, 0)), args::name("worker", args::get_text(fcinfo, 1)),
            args::get_int(fcinfo, attempt)};
}

// Takes the lease or raises the reason why not.
Claim take_or_raise(store::Store &store, const LeaseName &name) {
    Claim claim = take_held(store, name);
    require_held(name, claim);
    return claim;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_complete) {
    using namespace scylla;
    const LeaseName name = lease_name(fcinfo, 4);
    store::Store store = open_for_write("scylla.complete()");
    const Claim claim = take_or_raise(store, name);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = completed(store, claim, args::get_jsonb(fcinfo, 2), args::get_jsonb(fcinfo, 3), now);
    settle_gates(store, now);
    return return_task(fcinfo, store, task, Show::no_spec);
}

SCYLLA_FUNCTION(scylla_complete_many) {
    using namespace scylla;
    const Batch batch = get_batch(fcinfo, {.rns = 0, .worker = 1, .results = 2, .attempts = 3});
    store::Store store = open_for_write("scylla.complete_many()");
    const TimestampTz now = GetCurrentTimestamp();
    begin_bulk(store[store::TableId::outcome]);
    for_each(
        batch,
        [&](BatchItem &item) {
            const Claim claim = take_held(store, item.name);
            if (claim.lease)
                completed(store, claim, item.result, nullptr, now);
            settle(item, claim, model::Status::completed);
        },
        settle_repeat);
    end_bulk(store[store::TableId::outcome]);
    settle_gates(store, now);
    return return_batch(fcinfo, store, batch);
}

SCYLLA_FUNCTION(scylla_complete_and_lease) {
    using namespace scylla;
    const Batch batch = get_batch(fcinfo, {.rns = 0, .worker = 1, .results = 5, .attempts = 6});
    const LeaseRequest request = get_lease_request(fcinfo, {.queue = 2, .worker = 1, .max_tasks = 3, .timeout = 4});
    store::Store store = open_for_write("scylla.complete_and_lease()");
    const TimestampTz now = GetCurrentTimestamp();
    begin_bulk(store[store::TableId::outcome]);
    for_each(
        batch,
        [&](BatchItem &item) {
            const Claim claim = take_held(store, item.name);
            require_held(item.name, claim);
            completed(store, claim, item.result, nullptr, now);
            settle(item, claim, model::Status::completed);
        },
        [&](const BatchItem &item, const BatchItem &done) {
            // All or nothing: the error tells how the task stood before this call.
            if (item.name.attempt && *item.name.attempt != done.attempt)
                error::not_held(item.name.rn, item.name.worker, model::name(model::Status::running), item.name.worker,
                                done.attempt);
        });
    end_bulk(store[store::TableId::outcome]);
    if (settle_gates(store, now)) {
        // What this has made ready can be among the next tasks.
        CommandCounterIncrement();
        refresh(store);
    }
    Rows rows = begin_rows(fcinfo);
    lease_tasks(store, request, rows);
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_abort) {
    using namespace scylla;
    const LeaseName name = lease_name(fcinfo, 3);
    Jsonb *error = args::error(args::get_jsonb(fcinfo, 2));
    store::Store store = open_for_write("scylla.abort()");
    const Claim claim = take_or_raise(store, name);
    store::Carry carry = claim.lease->carry;
    carry.errors = add_error(carry.errors, error);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = aborted(store, claim, carry, now);
    settle_gates(store, now);
    return return_task(fcinfo, store, task, Show::no_spec);
}

SCYLLA_FUNCTION(scylla_fail) {
    using namespace scylla;
    const LeaseName name = lease_name(fcinfo, 4);
    Jsonb *error = args::error(args::get_jsonb(fcinfo, 2));
    const auto retry_after = args::retry_after(args::get_interval(fcinfo, 3));
    store::Store store = open_for_write("scylla.fail()");
    const Claim claim = take_or_raise(store, name);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = failed(store, claim, error, retry_after, now);
    settle_gates(store, now);
    return return_task(fcinfo, store, task, Show::no_spec);
}
