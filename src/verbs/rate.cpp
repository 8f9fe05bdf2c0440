#include "verbs/rate.h"

#include "pg/error.h"
#include "shmem/rates.h"
#include "shmem/waiters.h"
#include "store/upsert.h"
#include "verbs/args.h"
#include "verbs/json.h"

namespace scylla {

namespace {

std::optional<model::Rate> rate_of(const store::QueueRow &queue) {
    return queue.rate != nullptr ? std::optional(read_rate(queue.rate)) : std::nullopt;
}

// A bucket that was used up when the server started.
store::RateRow at_start(const model::Rate &rate) { return {rate, model::used_up(rate, model::to_nanos(PgStartTime))}; }

// The arrival of a row of queue_rate. Before the server started the bucket may have been in shared memory.
int64 arrival_of(const std::optional<store::RateRow> &row, const model::Rate &rate) {
    const int64 start = at_start(rate).arrival;
    return row && row->rate == rate ? Max(row->arrival, start) : start;
}

} // namespace

model::Rate read_rate(Jsonb *rate) {
    if (!json::is_object(rate))
        error::bad_argument("rate", args::show(rate), "It must be an object.");
    std::optional<int32> tasks;
    std::optional<int32> burst = 1;
    int64 per = model::k_second;
    json::for_each_member(&rate->root, [&](const char *name, JsonbValue *value) {
        const std::string_view member(name);
        if (member == "tasks")
            tasks = args::bound(name, json::to_int(name, value));
        else if (member == "burst")
            burst = args::bound(name, json::to_int(name, value));
        else if (member == "per")
            per = *args::timeout(name, json::to_interval(name, value));
        else
            error::bad_argument("rate", args::quote(cstring_to_text(name)), "It may have \"tasks\", \"per\" and \"burst\".");
    });
    if (!tasks)
        error::bad_argument("rate", args::show(rate), "It must have \"tasks\".");
    const auto result = model::make_rate(*tasks, per, *burst);
    if (!result)
        error::bad_argument("rate", args::show(rate),
                            "It must be at most a million tasks per second, and slow enough for its burst to come in ten years.");
    return *result;
}

void begin_rate(int32 queue, Jsonb *rate) {
    if (rate == nullptr) {
        store::remove_rate(queue);
        return;
    }
    const model::Rate given = read_rate(rate);
    const auto row = store::find_rate(queue);
    if (!row || row->rate != given)
        store::put_rate(queue, {given, model::used_up(given, model::to_nanos(GetCurrentTimestamp()))});
}

Tokens begin_tokens(store::Store &store, const store::QueueRow &queue) {
    Tokens tokens{};
    tokens.queue = queue.id;
    tokens.rate = rate_of(queue);
    if (tokens.rate && shmem::shared == nullptr) {
        tokens.arrival = arrival_of(store::lock_rate(queue.id, at_start(*tokens.rate)), *tokens.rate);
        tokens.now = model::to_nanos(GetCurrentTimestamp());
        tokens.there = model::tokens(*tokens.rate, tokens.arrival, tokens.now);
        refresh(store); // with what those have done who had the lock
    }
    return tokens;
}

bool take_token(Tokens &tokens) {
    if (!tokens.rate || tokens.held)
        return true;
    tokens.held = shmem::shared != nullptr ? shmem::take_token(stat_key(tokens.queue), *tokens.rate) : tokens.used < tokens.there;
    return tokens.held;
}

void use_token(Tokens &tokens) {
    tokens.held = false;
    tokens.used++;
}

void end_tokens(Tokens &tokens) {
    if (!tokens.rate)
        return;
    if (shmem::shared == nullptr)
        store::put_rate(tokens.queue, {*tokens.rate, model::take(*tokens.rate, tokens.arrival, tokens.now, tokens.used)});
    else if (tokens.held)
        shmem::return_token(stat_key(tokens.queue), *tokens.rate);
    tokens.held = false;
}

std::optional<int64> next_token(const store::QueueRow &queue) {
    const auto rate = rate_of(queue);
    if (!rate)
        return std::nullopt;
    if (shmem::shared != nullptr)
        return shmem::next_token(stat_key(queue.id), *rate, shmem::ahead(queue.id));
    const int64 now = model::to_nanos(GetCurrentTimestamp());
    const bool there = model::tokens(*rate, arrival_of(store::find_rate(queue.id), *rate), now) > 0;
    return there ? std::nullopt : std::optional(PG_INT64_MAX);
}

} // namespace scylla
