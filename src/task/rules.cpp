#include "task/rules.h"

#include "model/backoff.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/json_text.h"
#include "pg/settings.h"
#include "pg/text.h"

namespace scylla::args {

namespace {

std::optional<int64> length(const char *argument, const Interval *value, int64 min, int64 max, const char *rule,
                            int64 element = 0) {
    if (value == nullptr)
        return std::nullopt;
    const auto micros = model::interval_length(value->month, value->day, value->time, min, max);
    if (!micros)
        error::bad_argument(argument, error::print(PointerGetDatum(value), INTERVALOID), rule, element);
    return micros;
}

// NaN is outside every range.
float8 number(const char *argument, std::optional<float8> value, float8 min, float8 max, const char *rule,
              int64 element = 0) {
    if (!value || !(*value >= min && *value <= max))
        error::bad_argument(argument, value ? error::print(Float8GetDatum(*value), FLOAT8OID) : "null", rule, element);
    return *value;
}

Jsonb *parse(const char *json) { return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json))); }

JsonbValue *member(const Jsonb *object, std::string_view key, JsonbValue *value) {
    return getKeyJsonValueFromContainer(const_cast<JsonbContainer *>(&object->root), key.data(),
                                        static_cast<int>(key.size()), value);
}

// Without a member that is null: that is as good as none.
Jsonb *without_null(Jsonb *object, const char *key) {
    JsonbValue value;
    if (object == nullptr || !JB_ROOT_IS_OBJECT(object) || member(object, key, &value) == nullptr ||
        value.type != jbvNull)
        return object;
    return DatumGetJsonbP(
        DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(object), PointerGetDatum(cstring_to_text(key))));
}

// The value with its "description" as its "message", if it has no "message".
Jsonb *with_message(Jsonb *value) {
    JsonbValue found;
    if (value == nullptr || !JB_ROOT_IS_OBJECT(value) || member(value, "message", &found) != nullptr ||
        member(value, "description", &found) == nullptr)
        return value;
    json::Builder object = json::build_object();
    object.member("message", found);
    Jsonb *message = object.finish();
    const Datum others = DirectFunctionCall2(jsonb_delete, JsonbPGetDatum(value), CStringGetTextDatum("description"));
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, others, JsonbPGetDatum(message)));
}

} // namespace

text *name(const char *argument, text *value, int64 element) {
    if (value != nullptr) {
        const auto chars = pg_mbstrlen_with_len(view(value).data(), static_cast<int>(view(value).size()));
        if (chars >= 1 && chars <= model::k_max_name_chars)
            return value;
    }
    error::bad_argument(argument, error::quote(value), "It must have 1 to 200 characters.", element);
}

text *new_queue_name(text *value) {
    name("queue", value);
    constexpr std::string_view k_blanks = " \t\r\n\f\v";
    if (k_blanks.find(view(value).front()) != std::string_view::npos ||
        k_blanks.find(view(value).back()) != std::string_view::npos)
        error::bad_argument("queue", error::quote(value), "It must not begin or end with a blank.");
    return value;
}

text *optional_name(const char *argument, text *value, int64 element) {
    return value == nullptr ? nullptr : name(argument, value, element);
}

store::OnFailure on_failure(const char *argument, const text *value, int64 element) {
    constexpr struct {
        const char *word;
        store::OnFailure rule;
    } k_rules[] = {
        {"cascade", store::OnFailure::cascade}, {"ignore", store::OnFailure::ignore}, {"skip", store::OnFailure::skip}};
    if (value == nullptr)
        return store::OnFailure::cascade;
    for (const auto &each : k_rules)
        if (view(value) == each.word)
            return each.rule;
    error::bad_argument(argument, error::quote(value), "It must be cascade, ignore or skip.", element);
}

store::OnTimeout on_timeout(const text *value, int64 element) {
    if (view(value) == "abort")
        return store::OnTimeout::abort;
    if (view(value) == "skip")
        return store::OnTimeout::skip;
    if (view(value) == "ignore")
        return store::OnTimeout::ignore;
    error::bad_argument("on_timeout", error::quote(value), "It must be abort, skip or ignore.", element);
}

int16 priority(std::optional<int32> value, int64 element) {
    if (!value)
        return 0;
    if (*value < 0 || *value > model::k_max_priority)
        error::bad_argument("priority", psprintf("%d", *value), "It must be between 0 and 127.", element);
    return static_cast<int16>(*value);
}

Jsonb *spec(Jsonb *value, int64 element) {
    const bool json_null =
        value != nullptr && JB_ROOT_IS_SCALAR(value) && getIthJsonbValueFromContainer(&value->root, 0)->type == jbvNull;
    if (value == nullptr || json_null)
        error::bad_argument("spec", "null", "A task must say what is to be done.", element);
    return document("spec", value, element);
}

Jsonb *document(const char *argument, Jsonb *value, int64 element) {
    const auto refuse = [&](int64 size, const char *rule) {
        error::bad_argument(argument, error::outline(value, size), rule, element);
    };
    if (value == nullptr)
        return value;
    if (text_is_larger(value, settings::value_limit()))
        refuse(text_size(value),
               psprintf("Its text must not have more than " INT64_FORMAT " bytes, as \"scylla.max_value_size\" says.",
                        settings::value_limit()));
    // Numbers of one digit take more in the tables than as text.
    if (VARSIZE(value) > model::k_max_value_bytes)
        refuse(VARSIZE(value), psprintf("It must not take more than %d bytes.", model::k_max_value_bytes));
    return value;
}

std::optional<TimestampTz> not_before(std::optional<TimestampTz> value, int64 element) {
    if (value && TIMESTAMP_NOT_FINITE(*value))
        error::bad_argument("not_before", error::print(TimestampTzGetDatum(*value), TIMESTAMPTZOID),
                            "It must be finite.", element);
    return value;
}

std::optional<int32> max_attempts(std::optional<int32> value, int64 element) {
    if (value && *value < 1)
        error::bad_argument("max_attempts", psprintf("%d", *value), "It must be at least 1.", element);
    return value;
}

int32 max_tasks(int32 value, const char *argument) {
    if (value < 1 || value > model::k_max_tasks)
        error::bad_argument(argument, psprintf("%d", value), "It must be between 1 and 100000.");
    return value;
}

std::optional<float4> progress(std::optional<float8> value) {
    if (!value)
        return std::nullopt;
    return static_cast<float4>(number("progress", value, 0, 1, "It must be between 0 and 1."));
}

float8 aging(std::optional<float8> value) {
    return number("aging", value.value_or(0), 0, model::k_max_aging,
                  "It must be between 0 and 1000 points per second.");
}

float8 factor(std::optional<float8> value, int64 element) {
    return number("factor", value, 1, model::k_max_factor, "It must be between 1 and 1000.", element);
}

float8 jitter(std::optional<float8> value, int64 element) {
    return number("jitter", value, 0, 1, "It must be between 0 and 1.", element);
}

std::optional<int32> bound(const char *argument, std::optional<int32> value) {
    if (value && *value < 1)
        error::bad_argument(argument, psprintf("%d", *value), "It must be at least 1.");
    return value;
}

store::OnFull on_full(const text *value) {
    if (value == nullptr)
        return store::OnFull::error;
    for (std::size_t i = 0; i < store::k_on_full_names.size(); i++)
        if (view(value) == store::k_on_full_names[i])
            return static_cast<store::OnFull>(i);
    error::bad_argument("on_full", error::quote(value), "It must be \"error\" or \"shed\".");
}

float8 fraction(std::optional<float8> value) { return number("fraction", value, 0, 1, "It must be between 0 and 1."); }

std::optional<int64> timeout(const char *argument, const Interval *value, int64 element) {
    return length(argument, value, 1, model::k_max_timeout, "It must be more than 0 and at most 365 days.", element);
}

std::optional<int64> wait_time(const char *argument, const Interval *value) {
    return length(argument, value, 0, model::k_max_timeout, "It must be between 0 and 365 days.");
}

std::optional<int64> retry_after(const Interval *value) {
    return value == nullptr ? std::nullopt : std::optional(delay("retry_after", value));
}

int64 delay(const char *argument, const Interval *value, int64 element) {
    const char *rule = "It must be between 0 and 365 days.";
    if (value == nullptr)
        error::bad_argument(argument, "null", rule, element);
    return *length(argument, value, 0, model::k_max_timeout, rule, element);
}

std::optional<int64> retention(const char *argument, const Interval *value) {
    return length(argument, value, 0, model::k_max_retention, "It must be between 0 and 36500 days.");
}

std::optional<int64> grace(const Interval *value) {
    return length("grace", value, 0, model::k_max_timeout, "It must be between 0 and 365 days.");
}

std::optional<int64> schedule_jitter(const Interval *value) {
    return length("jitter", value, 0, model::k_day, "It must be between 0 and 1 day.");
}

int32 max_catch_up(int32 value) {
    if (value < 1 || value > model::k_max_catch_up)
        error::bad_argument("max_catch_up", psprintf("%d", value), "It must be between 1 and 10000.");
    return value;
}

Jsonb *error(Jsonb *value) {
    const char *rule = "It must be an object with a non-empty text \"code\"; \"message\" must be a text.";
    // Errors accumulate in one value, which has to stay far below what a value may hold.
    if (value != nullptr && text_is_larger(value, model::k_max_error_bytes))
        error::bad_argument("error", error::outline(value, text_size(value)), "It must not have more than 1 MB.");
    Jsonb *given = value;
    value = with_message(without_null(without_null(without_null(value, "args"), "message"), "description"));
    JsonbValue code;
    JsonbValue message;
    const bool good = value != nullptr && JB_ROOT_IS_OBJECT(value) && member(value, "code", &code) != nullptr &&
                      code.type == jbvString && code.val.string.len > 0 &&
                      (member(value, "message", &message) == nullptr || message.type == jbvString);
    if (!good)
        error::bad_argument("error", error::show(given), rule);
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(parse("{\"args\": {}, \"message\": \"\"}")),
                                              JsonbPGetDatum(value)));
}

OnDuplicate on_duplicate(const text *value, OnDuplicate by_default, bool may_replace) {
    if (value == nullptr)
        return by_default;
    if (view(value) == "error")
        return OnDuplicate::error;
    if (view(value) == "ignore")
        return OnDuplicate::ignore;
    if (may_replace && view(value) == "replace")
        return OnDuplicate::replace;
    error::bad_argument("on_duplicate", error::quote(value),
                        may_replace ? "It must be \"error\", \"ignore\" or \"replace\"."
                                    : "It must be \"error\" or \"ignore\".");
}

void same_size(const char *argument, int64 size, const char *other, int64 other_size) {
    if (size != other_size)
        error::bad_argument(
            argument, error::array_of(size),
            psprintf("It must have as many elements as \"%s\", which has " INT64_FORMAT ".", other, other_size));
}

} // namespace scylla::args
