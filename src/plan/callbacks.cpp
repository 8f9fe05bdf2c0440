// Callbacks: a task waits until an outside system returns a token.
#include "pg/error.h"
#include "plan/conditions.h"
#include "task/rights.h"

namespace scylla {

namespace {

// 128 bits that cannot be guessed, as hexadecimal digits.
text *make_token() {
    constexpr std::size_t k_bytes = 16;
    std::array<std::uint8_t, k_bytes> random;
    if (!pg_strong_random(random.data(), random.size()))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
    std::array<char, 2 * k_bytes> digits;
    hex_encode(reinterpret_cast<const char *>(random.data()), random.size(), digits.data());
    return cstring_to_text_with_len(digits.data(), digits.size());
}

} // namespace

text *create_callback(text *token, std::optional<TimestampTz> expires) {
    if (token == nullptr)
        token = make_token();
    if (store::callbacks::create(token, expires, GetUserNameFromId(GetUserId(), false)) == 0)
        error::duplicate_callback(token);
    return token;
}

Callback find_callback(store::Store &store, const text *token, TimestampTz now, int64 element) {
    const auto callback = store::callbacks::share(token);
    if (!callback || (callback->expires && *callback->expires <= now && !find_condition_end(store, callback->id)))
        error::no_such_callback(token, element);
    return *callback;
}

std::optional<Reason> describe_callback(int64 id) {
    const auto callback = store::callbacks::find(id);
    if (!callback)
        return std::nullopt;
    // The token is secret: only roles with the owner's rights see it.
    const char *name = rights::owns(callback->owner) ? psprintf("callback %s", callback->token) : "a callback";
    return Reason{name, std::nullopt, callback->expires, "It has been neither resolved nor rejected."};
}

bool end_callback(store::Store &store, const text *token, const ConditionEnd &end, TimestampTz now) {
    // The lock gives a callback a single outcome: another call that ends it waits here, and then sees that it has
    // ended.
    const auto callback = store::callbacks::hold(token);
    refresh(store);
    if (callback && find_condition_end(store, callback->id))
        return false;
    if (!callback || (callback->expires && *callback->expires <= now))
        error::no_such_callback(token, 0);
    end_condition(store, callback->id, end, now);
    return true;
}

} // namespace scylla
