#include "task/retry.h"

#include "pg/error.h"
#include "task/rules.h"
#include "pg/json.h"

namespace scylla {

model::RetryPolicy read_retry_policy(Jsonb *policy, int64 element) {
    if (!json::is_object(policy))
        error::bad_argument("retry", error::show(policy), "It must be an object.", element);
    model::RetryPolicy result;
    json::for_each_member(&policy->root, [&](const char *name, JsonbValue *value) {
        const std::string_view member(name);
        const bool is_default = value->type == jbvNull;
        const auto get_delay = [&](std::int64_t by_default) {
            return is_default ? by_default : args::delay(name, json::to_interval(name, value, element), element);
        };
        if (member == "initial")
            result.backoff.initial = get_delay(result.backoff.initial);
        else if (member == "factor")
            result.backoff.factor =
                is_default ? result.backoff.factor : args::factor(json::to_float(name, value, element), element);
        else if (member == "max")
            result.backoff.max = get_delay(result.backoff.max);
        else if (member == "jitter")
            result.jitter = is_default ? result.jitter : args::jitter(json::to_float(name, value, element), element);
        else
            error::bad_argument("retry", error::quote(cstring_to_text(name)),
                                "It may have \"initial\", \"factor\", \"max\" and \"jitter\".", element);
    });
    return result;
}

int64 retry_delay(Jsonb *policy, int32 failures) {
    const model::RetryPolicy applied = policy == nullptr ? model::RetryPolicy{} : read_retry_policy(policy);
    return model::delay(applied, failures - 1, pg_prng_double(&pg_global_prng_state));
}

int64 delay_after(store::Store &store, const store::SpecRow &spec, int32 failures) {
    if (spec.retry != nullptr)
        return retry_delay(spec.retry, failures);
    const auto settings = find_settings(store, spec.queue);
    return retry_delay(settings ? settings->retry : nullptr, failures);
}

} // namespace scylla
