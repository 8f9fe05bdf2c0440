#include "queue/rate.h"

#include "pg/error.h"
#include "pg/text.h"
#include "pg/text_table.h"
#include "shmem/rates.h"
#include "shmem/waiters.h"
#include "store/bucket_rows.h"
#include "store/queue/buckets.h"
#include "task/rules.h"
#include "pg/json.h"
#include "queue/limits.h"

namespace scylla {

using model::Bucket;

namespace {

std::optional<model::Rate> rate_of(const char *setting, Jsonb *rate) {
    return rate != nullptr ? std::optional(read_rate(setting, rate)) : std::nullopt;
}

std::optional<model::Rate> rate_of(const store::QueueRow &queue) { return rate_of("rate", queue.rate); }
std::optional<model::Rate> key_rate_of(const store::QueueRow &queue) {
    return rate_of("rate_per_key", queue.rate_per_key);
}

int64 server_time() { return model::to_nanos(GetCurrentTimestamp()); }

// Of the queue, and of the keys that have no bucket of their own.
store::BucketOf whole(int32 queue) { return {queue, nullptr}; }
store::BucketOf others(int32 queue) { return {queue, cstring_to_text("")}; }

// A bucket that was used up when the server started.
Bucket at_start(const model::Rate &rate) { return {rate, model::used_up(rate, model::to_nanos(PgStartTime))}; }

// The arrival of a row. Before the server started the bucket may have been in shared memory.
int64 arrival_of(const std::optional<Bucket> &row, const model::Rate &rate) {
    const int64 start = at_start(rate).arrival;
    return row && row->rate == rate ? Max(row->arrival, start) : start;
}

// True: the rate has changed.
bool begin_rate(const store::BucketOf &whose, const std::optional<model::Rate> &rate) {
    const auto row = store::find_bucket(whose);
    if (rate ? row && row->rate == *rate : !row)
        return false;
    store::remove_buckets(whose);
    if (rate)
        store::put_bucket(whose, {*rate, model::used_up(*rate, server_time())});
    return true;
}

} // namespace

model::Rate read_rate(const char *setting, Jsonb *rate) {
    if (!json::is_object(rate))
        error::bad_argument(setting, error::show(rate),
                            "It must be an object with \"tasks\", and perhaps \"per\" and \"burst\".");
    std::optional<int32> tasks;
    std::optional<int32> burst = 1;
    int64 per = model::k_second;
    json::for_each_member(&rate->root, [&](const char *name, JsonbValue *value) {
        const std::string_view member(name);
        const bool is_default = value->type == jbvNull;
        if (member == "tasks")
            tasks = is_default ? tasks : args::bound(name, json::to_int(name, value));
        else if (member == "burst")
            burst = is_default ? burst : args::bound(name, json::to_int(name, value));
        else if (member == "per")
            per = is_default ? per : *args::timeout(name, json::to_interval(name, value));
        else
            error::bad_argument(setting, error::quote(cstring_to_text(name)),
                                "It may have \"tasks\", \"per\" and \"burst\".");
    });
    if (!tasks)
        error::bad_argument(setting, error::show(rate), "It must have \"tasks\", and may have \"per\" and \"burst\".");
    const auto result = model::make_rate(*tasks, per, *burst);
    if (!result)
        error::bad_argument(
            setting, error::show(rate),
            "It must be at most a million tasks per second, and slow enough for its burst to come in ten years.");
    return *result;
}

void begin_rates(int32 queue, Jsonb *rate, Jsonb *rate_per_key) {
    const auto of_queue = rate_of("rate", rate);
    const auto of_keys = rate_of("rate_per_key", rate_per_key);
    if (begin_rate(whole(queue), of_queue) && of_queue)
        shmem::reset_rate(stat_id(queue), *of_queue);
    if (begin_rate(others(queue), of_keys))
        shmem::reset_key_rates(stat_id(queue), of_keys);
}

// ---- of the queue --------------------------------------------------------------------------------------------------

Tokens begin_tokens(store::Store &store, const store::QueueRow &queue) {
    Tokens tokens{};
    tokens.queue = queue.id;
    tokens.rate = rate_of(queue);
    tokens.key_rate = key_rate_of(queue);
    tokens.context = CurrentMemoryContext;
    if (shmem::shared != nullptr || !(tokens.rate || tokens.key_rate))
        return tokens;
    if (tokens.rate)
        tokens.arrival = arrival_of(store::lock_bucket(whole(queue.id), at_start(*tokens.rate)), *tokens.rate);
    if (tokens.key_rate)
        tokens.others = arrival_of(store::lock_bucket(others(queue.id), at_start(*tokens.key_rate)), *tokens.key_rate);
    tokens.now = server_time();
    if (tokens.rate)
        tokens.there = model::tokens(*tokens.rate, tokens.arrival, tokens.now);
    refresh(store); // with what the holders of the lock have done
    return tokens;
}

Tokens look_at_tokens(const store::QueueRow &queue) {
    Tokens tokens{};
    tokens.queue = queue.id;
    tokens.key_rate = key_rate_of(queue);
    tokens.context = CurrentMemoryContext;
    if (shmem::shared == nullptr && tokens.key_rate) {
        tokens.others = arrival_of(store::find_bucket(others(queue.id)), *tokens.key_rate);
        tokens.now = server_time();
    }
    return tokens;
}

bool take_token(Tokens &tokens) {
    if (!tokens.rate || tokens.held)
        return true;
    tokens.held = shmem::shared != nullptr ? shmem::reserve_token(stat_id(tokens.queue), *tokens.rate)
                                           : tokens.used < tokens.there;
    return tokens.held;
}

void use_token(Tokens &tokens) {
    tokens.held = false;
    tokens.used++;
}

std::optional<int64> next_token(const store::QueueRow &queue) {
    const auto rate = rate_of(queue);
    if (!rate)
        return std::nullopt;
    if (shmem::shared != nullptr)
        return shmem::token_time(stat_id(queue.id), *rate, shmem::ahead(queue.id));
    const bool there = model::tokens(*rate, arrival_of(store::find_bucket(whole(queue.id)), *rate), server_time()) > 0;
    return there ? std::nullopt : std::optional(PG_INT64_MAX);
}

// ---- of keys -------------------------------------------------------------------------------------------------------

namespace {

// Without shared memory. The key is the text that the first member points to.
struct KeyBucket {
    const text *key;
    int64 arrival;
    bool changed;
};

KeyBucket &bucket_of(Tokens &tokens, const text *key) {
    if (tokens.of_key == nullptr)
        tokens.of_key = make_text_table("scylla buckets of keys", sizeof(KeyBucket), tokens.context);
    if (auto *known = static_cast<KeyBucket *>(hash_search(tokens.of_key, &key, HASH_FIND, nullptr)))
        return *known;
    const auto row = store::find_bucket({tokens.queue, key});
    MemoryContext caller = MemoryContextSwitchTo(tokens.context);
    const text *copy = cstring_to_text_with_len(view(key).data(), static_cast<int>(view(key).size()));
    MemoryContextSwitchTo(caller);
    bool found = false;
    auto *entered = static_cast<KeyBucket *>(hash_search(tokens.of_key, &copy, HASH_ENTER, &found));
    *entered = {copy, model::arrival_of(row, *tokens.key_rate, tokens.others, tokens.now), false};
    return *entered;
}

bool is_limited(const Tokens &tokens, const text *key) {
    return tokens.key_rate && key != nullptr && !view(key).empty();
}

} // namespace

int64 tokens_of(Tokens &tokens, const text *key, int64 *next) {
    if (!is_limited(tokens, key))
        return PG_INT64_MAX;
    if (shmem::shared != nullptr)
        return shmem::tokens(stat_id(tokens.queue), view(key), *tokens.key_rate, next);
    *next = PG_INT64_MAX;
    return model::tokens(*tokens.key_rate, bucket_of(tokens, key).arrival, tokens.now);
}

bool take_token(Tokens &tokens, const text *key) {
    if (!is_limited(tokens, key))
        return true;
    if (shmem::shared != nullptr)
        return shmem::reserve_token(stat_id(tokens.queue), view(key), *tokens.key_rate);
    KeyBucket &bucket = bucket_of(tokens, key);
    if (model::tokens(*tokens.key_rate, bucket.arrival, tokens.now) < 1)
        return false;
    bucket.arrival = model::take(*tokens.key_rate, bucket.arrival, tokens.now, 1);
    bucket.changed = true;
    return true;
}

void return_token(Tokens &tokens, const text *key) {
    if (!is_limited(tokens, key))
        return;
    if (shmem::shared != nullptr) {
        shmem::release_token(stat_id(tokens.queue), view(key), *tokens.key_rate);
        return;
    }
    KeyBucket &bucket = bucket_of(tokens, key);
    bucket.arrival = model::give_back(*tokens.key_rate, bucket.arrival, 1);
}

void end_tokens(Tokens &tokens) {
    if (shmem::shared != nullptr) {
        if (tokens.held)
            shmem::release_token(stat_id(tokens.queue), *tokens.rate);
    } else if (tokens.rate)
        store::put_bucket(whole(tokens.queue),
                          {*tokens.rate, model::take(*tokens.rate, tokens.arrival, tokens.now, tokens.used)});
    tokens.held = false;
    if (tokens.of_key == nullptr)
        return;
    bool changed = false;
    HASH_SEQ_STATUS at;
    hash_seq_init(&at, tokens.of_key);
    while (const auto *bucket = static_cast<const KeyBucket *>(hash_seq_search(&at)))
        if (bucket->changed) {
            store::put_bucket({tokens.queue, bucket->key}, {*tokens.key_rate, bucket->arrival});
            changed = true;
        }
    if (changed)
        store::buckets::remove_full(tokens.queue, tokens.now);
    hash_destroy(tokens.of_key);
    tokens.of_key = nullptr;
}

} // namespace scylla
