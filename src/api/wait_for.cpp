#include "api/wait_for.h"

#include "model/bounds.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "task/rules.h"

namespace scylla {

namespace {

constexpr const char *k_array_rule =
    "It must be an array of objects with \"task\", \"callback\", \"signal\" or \"check\".";
constexpr const char *k_one_rule = "It must have exactly one of \"task\", \"callback\", \"signal\" and \"check\".";
constexpr const char *k_signal_rule = "Only a signal has \"match\", \"since\" and \"seq\".";
constexpr const char *k_seq_rule = "With \"seq\" it must have neither \"match\" nor \"since\".";
constexpr const char *k_check_rule = "It must be an object with \"queue\", \"spec\" and perhaps \"every\".";
constexpr const char *k_only_check_rule = "Only a check has \"execution_timeout\" and \"retries\".";
constexpr const char *k_timeout_rule = "\"on_timeout\" needs a \"timeout\".";

std::optional<WaitFor::What> what_of(std::string_view member) {
    if (member == "task")
        return WaitFor::What::task;
    if (member == "callback")
        return WaitFor::What::callback;
    if (member == "signal")
        return WaitFor::What::signal;
    return std::nullopt;
}

// Reads the queue, the spec and the interval of a check.
void read_check(JsonbValue *object, WaitFor *wait, int64 element) {
    if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        error::bad_argument("check", json::show(object), k_check_rule, element);
    wait->what = WaitFor::What::check;
    json::for_each_member(object->val.binary.data, [&](const char *argument, JsonbValue *value) {
        const std::string_view member(argument);
        if (member == "spec")
            wait->question = args::spec(json::to_jsonb(value), element);
        else if (value->type == jbvNull)
            return;
        else if (member == "queue")
            wait->name = args::name(argument, json::to_text(argument, value, element), element);
        else if (member == "every")
            wait->every = args::timeout(argument, json::to_interval(argument, value, element), element);
        else
            error::bad_argument("check", error::quote(cstring_to_text(argument)), k_check_rule, element);
    });
    if (wait->name == nullptr || wait->question == nullptr)
        error::bad_argument("check", json::show(object), k_check_rule, element);
}

// The number of a signal.
int64 read_seq(JsonbValue *value, int64 element) {
    constexpr float8 k_largest = 9007199254740992.0; // up to which every whole number is a float8
    const float8 seq = json::to_float("seq", value, element);
    if (!(seq >= 1 && seq <= k_largest) || seq != std::floor(seq))
        error::bad_argument("seq", json::show(value), "It must be the number of a signal.", element);
    return static_cast<int64>(seq);
}

// How often a wait is tried again that reaches its timeout, and what else limits each try.
struct Tries {
    std::optional<int64> execution_timeout;
    std::optional<int32> retries;
};

int32 read_retries(JsonbValue *value, int64 element) {
    constexpr int32 k_most = 1000;
    const int32 retries = json::to_int("retries", value, element);
    if (retries < 0 || retries > k_most)
        error::bad_argument("retries", json::show(value), psprintf("It must be between 0 and %d.", k_most), element);
    return retries;
}

// As for sensors, 0 means none.
std::optional<int64> read_execution_timeout(const char *argument, JsonbValue *value, int64 element) {
    Interval *given = json::to_interval(argument, value, element);
    const bool is_none = given->month == 0 && given->day == 0 && given->time == 0;
    return is_none ? std::nullopt : std::optional(args::timeout(argument, given, element));
}

// The timeout of a check over all tries.
std::optional<int64> timeout_of_check(const WaitFor &wait, const Tries &tries, int64 element) {
    std::optional<int64> timeout = wait.timeout;
    if (!timeout && settings::check_timeout > 0)
        timeout = settings::check_timeout * model::k_second;
    if (tries.execution_timeout)
        timeout = timeout ? Min(*timeout, *tries.execution_timeout) : *tries.execution_timeout;
    if (!timeout)
        return std::nullopt;
    const int64 all = *timeout * (int64{tries.retries.value_or(0)} + 1);
    if (all > model::k_max_timeout)
        error::bad_argument("retries", psprintf("%d", *tries.retries),
                            "The timeout times (retries + 1) must be at most 365 days.", element);
    return all;
}

WaitFor read_wait(JsonbValue *object, store::OnFailure on_failure, int64 element) {
    if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        error::bad_argument("wait_for", json::show(object), k_array_rule, element);
    WaitFor wait{.what = WaitFor::What::task, .name = nullptr, .on_failure = on_failure};
    bool has_on_timeout = false;
    Tries tries{};
    json::for_each_member(object->val.binary.data, [&](const char *argument, JsonbValue *value) {
        const std::string_view member(argument);
        if (value->type == jbvNull)
            return;
        if (const auto what = what_of(member)) {
            if (wait.name != nullptr)
                error::bad_argument("wait_for", json::show(object), k_one_rule, element);
            wait.what = *what;
            wait.name = args::name(argument, json::to_text(argument, value, element), element);
        } else if (member == "check") {
            if (wait.name != nullptr)
                error::bad_argument("wait_for", json::show(object), k_one_rule, element);
            read_check(value, &wait, element);
        } else if (member == "match")
            wait.match = json::to_jsonb(value);
        else if (member == "since") {
            wait.since = json::to_time(argument, value, element);
            if (TIMESTAMP_NOT_FINITE(*wait.since))
                error::bad_argument(argument, json::show(value), "It must be finite.", element);
        } else if (member == "seq")
            wait.seq = read_seq(value, element);
        else if (member == "on_failure")
            wait.on_failure = args::on_failure(argument, json::to_text(argument, value, element), element);
        else if (member == "timeout")
            wait.timeout = args::timeout(argument, json::to_interval(argument, value, element), element);
        else if (member == "execution_timeout")
            tries.execution_timeout = read_execution_timeout(argument, value, element);
        else if (member == "retries")
            tries.retries = read_retries(value, element);
        else if (member == "on_timeout") {
            wait.on_timeout = args::on_timeout(json::to_text(argument, value, element), element);
            has_on_timeout = true;
        } else
            error::bad_argument("wait_for", error::quote(cstring_to_text(argument)),
                                "There is no such member of an element of wait_for.", element);
    });
    if (wait.name == nullptr)
        error::bad_argument("wait_for", json::show(object), k_one_rule, element);
    if (wait.seq != 0 && (wait.match != nullptr || wait.since))
        error::bad_argument("wait_for", json::show(object), k_seq_rule, element);
    if (wait.what != WaitFor::What::signal && (wait.match != nullptr || wait.since || wait.seq != 0))
        error::bad_argument("wait_for", json::show(object), k_signal_rule, element);
    if (wait.what == WaitFor::What::check)
        wait.timeout = timeout_of_check(wait, tries, element);
    else if (tries.execution_timeout || tries.retries)
        error::bad_argument("wait_for", json::show(object), k_only_check_rule, element);
    if (has_on_timeout && !wait.timeout)
        error::bad_argument("wait_for", json::show(object), k_timeout_rule, element);
    if (wait.what == WaitFor::What::signal && wait.match == nullptr)
        wait.match = json::empty_object();
    return wait;
}

} // namespace

std::span<const WaitFor> read_waits(std::span<text *const> depends_on, store::OnFailure on_failure, Jsonb *wait_for,
                                    int64 element) {
    if (wait_for != nullptr && (!JB_ROOT_IS_ARRAY(wait_for) || JB_ROOT_IS_SCALAR(wait_for)))
        error::bad_argument("wait_for", error::show(wait_for), k_array_rule, element);
    const std::size_t elements = wait_for != nullptr ? JB_ROOT_COUNT(wait_for) : 0;
    if (const std::size_t gates = depends_on.size() + elements; gates > k_max_gates)
        error::bad_argument(elements > 0 ? "wait_for" : "depends_on", psprintf("%zu gates", gates),
                            psprintf("A task may have at most %d, by depends_on and wait_for together.", k_max_gates),
                            element);
    const auto waits = allocate<WaitFor>(depends_on.size() + elements);
    std::size_t count = 0;
    for (text *rn : depends_on)
        waits[count++] = {.what = WaitFor::What::task, .name = rn, .on_failure = on_failure};
    if (elements == 0)
        return waits;
    JsonbIterator *iterator = JsonbIteratorInit(&wait_for->root);
    JsonbValue value;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true))
        if (token == WJB_ELEM)
            waits[count++] = read_wait(&value, on_failure, element);
    return waits;
}

std::span<const WaitFor> read_wait_for(Jsonb *wait_for) {
    if (wait_for == nullptr)
        error::bad_argument("wait_for", "null", k_array_rule);
    return read_waits({}, store::OnFailure::cascade, wait_for);
}

} // namespace scylla
