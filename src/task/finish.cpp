#include "task/finish.h"

#include "task/gates.h"
#include "task/history.h"
#include "task/line.h"
#include "task/retry.h"

namespace scylla {

namespace {

Task completed(store::Store &store, const Claim &claim, const Outcome &outcome, TimestampTz now) {
    const store::LeaseRow &lease = *claim.lease;
    return make_final(
        store, *claim.spec,
        {model::Status::completed, 1, lease.owner, lease.leased, lease.carry, outcome.result, outcome.metrics}, now);
}

Task aborted(store::Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, const store::Carry &carry,
             TimestampTz now) {
    return make_final(
        store, spec, {model::Status::aborted, lease.progress, lease.owner, lease.leased, carry, nullptr, nullptr}, now);
}

// Takes the lease or raises the reason why not.
Claim take_or_raise(store::Store &store, const LeaseName &name) {
    Claim claim = take_held(store, name);
    require_held(name, claim);
    return claim;
}

} // namespace

Task fail_run(store::Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, const Failure &failure,
              TimestampTz now) {
    const shmem::StatId id = stat_id(spec.queue);
    shmem::count(id, shmem::Count::failed);
    store::Carry carry = lease.carry;
    carry.errors = add_error(carry.errors, failure.error);
    if (spec.max_attempts && carry.failures + 1 >= *spec.max_attempts) {
        carry.failures++;
        return aborted(store, spec, lease, carry, now);
    }
    shmem::count_time(id, shmem::Time::run, now - lease.leased);
    leave_pools(store, spec);
    Jsonb *errors = carry.errors;
    carry = carry_on(lease, Ending::retry, now);
    carry.errors = errors;
    const int64 delay = failure.retry_after ? *failure.retry_after : delay_after(store, spec, carry.failures);
    return delay > 0 ? make_waiting(store, spec, carry, now + delay, now) : make_startable(store, spec, carry, now);
}

Task complete(store::Store &store, const LeaseName &name, const Outcome &outcome) {
    const Claim claim = take_or_raise(store, name);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = completed(store, claim, outcome, now);
    settle_gates(store, now);
    return task;
}

void complete_each(store::Store &store, const Batch &batch) {
    const TimestampTz now = GetCurrentTimestamp();
    begin_bulk(store[store::TableId::outcome]);
    for_each(
        batch,
        [&](BatchItem &item) {
            const Claim claim = take_held(store, item.name);
            if (claim.lease)
                completed(store, claim, {item.result, nullptr}, now);
            settle(item, claim, model::Status::completed);
        },
        settle_repeat);
    end_bulk(store[store::TableId::outcome]);
    settle_gates(store, now);
}

bool complete_all(store::Store &store, const Batch &batch) {
    const TimestampTz now = GetCurrentTimestamp();
    begin_bulk(store[store::TableId::outcome]);
    for_each(
        batch,
        [&](BatchItem &item) {
            const Claim claim = take_held(store, item.name);
            require_held(item.name, claim);
            completed(store, claim, {item.result, nullptr}, now);
            settle(item, claim, model::Status::completed);
        },
        [&](const BatchItem &item, const BatchItem &done) {
            // All or nothing: the error tells how the task stood before this call.
            if (item.name.attempt && *item.name.attempt != done.attempt)
                error::not_held(item.name.rn, item.name.worker, model::name(model::Status::running), item.name.worker,
                                done.attempt, item.name.attempt);
        });
    end_bulk(store[store::TableId::outcome]);
    return settle_gates(store, now);
}

Task abort_task(store::Store &store, const LeaseName &name, Jsonb *error) {
    const Claim claim = take_or_raise(store, name);
    store::Carry carry = claim.lease->carry;
    carry.errors = add_error(carry.errors, error);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = aborted(store, *claim.spec, *claim.lease, carry, now);
    settle_gates(store, now);
    return task;
}

Task fail(store::Store &store, const LeaseName &name, const Failure &failure) {
    const Claim claim = take_or_raise(store, name);
    const TimestampTz now = GetCurrentTimestamp();
    const Task task = fail_run(store, *claim.spec, *claim.lease, failure, now);
    settle_gates(store, now);
    return task;
}

Claim complete_if_held(store::Store &store, const LeaseName &name, const Outcome &outcome) {
    const Claim claim = take_held(store, name);
    if (claim.lease) {
        const TimestampTz now = GetCurrentTimestamp();
        completed(store, claim, outcome, now);
        settle_gates(store, now);
    }
    return claim;
}

bool fail_if_held(store::Store &store, const LeaseName &name, const Failure &failure) {
    const Claim claim = take_held(store, name);
    if (claim.lease) {
        const TimestampTz now = GetCurrentTimestamp();
        fail_run(store, *claim.spec, *claim.lease, failure, now);
        settle_gates(store, now);
    }
    return claim.lease.has_value();
}

} // namespace scylla
