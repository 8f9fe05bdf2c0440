#include "task/waits.h"

#include "pg/error.h"
#include "task/checks.h"
#include "task/gates.h"
#include "task/rights.h"

namespace scylla {

using store::GateLimit;
using store::OnFailure;
using store::OnTimeout;
using store::Store;

namespace {

// A provider that expires has failed, and the gate's on_failure says what that means.
OnTimeout as_timeout(OnFailure on_failure) {
    switch (on_failure) {
    case OnFailure::cascade:
        return OnTimeout::abort;
    case OnFailure::skip:
        return OnTimeout::skip;
    case OnFailure::ignore:
        return OnTimeout::ignore;
    }
    elog(ERROR, "unexpected on_failure \"%c\"", static_cast<char>(on_failure));
}

std::optional<GateLimit> limit_of(const WaitFor &wait, const Provider &provider, TimestampTz now) {
    std::optional<GateLimit> limit;
    if (wait.timeout)
        limit = GateLimit{now + *wait.timeout, wait.on_timeout};
    if (provider.expires && (!limit || *provider.expires < limit->deadline))
        limit = GateLimit{*provider.expires, as_timeout(wait.on_failure)};
    return limit;
}

store::GateKind kind_of(const WaitFor &wait) {
    switch (wait.what) {
    case WaitFor::What::task:
        return store::GateKind::task;
    case WaitFor::What::check:
        return store::GateKind::check;
    case WaitFor::What::callback:
    case WaitFor::What::signal:
    case WaitFor::What::known:
        break;
    }
    return store::GateKind::condition;
}

} // namespace

int64 provider_id(Store &store, const text *rn, int64 element) {
    const auto spec = find_spec(store, rn, store::With::no_spec);
    if (!spec || !rights::may_act(store, spec->queue, model::Privilege::depend))
        error::no_such_provider(rn, nullptr, element);
    return spec->id;
}

Provider find_provider(Store &store, const WaitFor &wait, TimestampTz now, int64 element) {
    if (wait.what == WaitFor::What::task)
        return {.id = provider_id(store, wait.name, element), .expires = {}};
    if (wait.what == WaitFor::What::known)
        return {.id = wait.known, .expires = {}};
    if (wait.what == WaitFor::What::check) {
        require_check_queue(store, wait.name);
        return {.id = 0, .expires = {}};
    }
    return conditions().find(store, wait, now, element);
}

void insert_gates(Store &store, store::Dirty *dirty, const store::SpecRow &spec, const Waits &of, TimestampTz now,
                  NewConditions *made) {
    for (std::size_t i = 0; i < of.waits.size(); i++) {
        const WaitFor &wait = of.waits[i];
        const bool is_check = wait.what == WaitFor::What::check;
        int64 &provider = of.providers[i].id;
        if (is_check)
            provider = check_for(store, dirty, spec, wait);
        else if (provider == 0) {
            bool is_new = false;
            provider = conditions().make(store, dirty, wait, now, &is_new);
            if (is_new)
                made->ids[made->count++] = provider;
        }
        insert(store, store::GateRow{.task = spec.id,
                                     .provider = provider,
                                     .ord = static_cast<int32>(i + 1),
                                     .kind = kind_of(wait),
                                     .on_failure = wait.on_failure,
                                     .limit = limit_of(wait, of.providers[i], now),
                                     .every = wait.every});
        if (is_check)
            hasten_check(store, dirty, spec, wait, provider, now);
    }
}

void look_back(Store &store, const NewConditions &made, TimestampTz now) {
    if (made.count == 0)
        return;
    CommandCounterIncrement();
    refresh(store);
    for (const int64 id : made.ids.first(made.count))
        conditions().look_back(store, id, now);
}

std::optional<TimestampTz> first_timeout(const Waits &of, TimestampTz now) {
    std::optional<TimestampTz> first;
    for (std::size_t i = 0; i < of.waits.size(); i++)
        if (const auto limit = limit_of(of.waits[i], of.providers[i], now))
            first = Min(first.value_or(limit->deadline), limit->deadline);
    return first;
}

} // namespace scylla
