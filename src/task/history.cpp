#include "task/history.h"

#include "model/bounded_log.h"
#include "pg/json.h"
#include "pg/settings.h"
#include "pg/text.h"

namespace scylla {

namespace {

// How the marker of entries left out looks in a history and in a list of errors.
struct Marker {
    const char *key;   // the member that tells a marker
    const char *value; // by this value
    bool in_args;      // whether "count" is in "args"
    const char *rest;  // further members
};
constexpr Marker k_history_marker{"_typ", "HistoryElided", false, ""};
constexpr Marker k_errors_marker{"code", "elided", true, ", \"message\": \"errors left out\""};

constexpr const char *k_assignment = "TaskAssignment";
constexpr float8 k_most_left_out = 1e12;

Jsonb *parse(const char *json) { return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json))); }

JsonbValue *member(JsonbValue *object, const char *key) {
    if (object == nullptr || object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        return nullptr;
    return getKeyJsonValueFromContainer(object->val.binary.data, key, static_cast<int>(strlen(key)), nullptr);
}

// The count of the marker in a log that has one, else nothing. Only a log that is as long as it may be can have one.
std::optional<int64> left_out(Jsonb *log, const Marker &marker) {
    if (log == nullptr || JB_ROOT_COUNT(log) != model::k_log_max)
        return std::nullopt;
    JsonbValue *entry = getIthJsonbValueFromContainer(&log->root, model::k_log_head);
    const JsonbValue *kind = member(entry, marker.key);
    if (kind == nullptr || kind->type != jbvString ||
        std::string_view(kind->val.string.val, static_cast<std::size_t>(kind->val.string.len)) != marker.value)
        return std::nullopt;
    const JsonbValue *count = member(marker.in_args ? member(entry, "args") : entry, "count");
    if (count == nullptr || count->type != jbvNumeric)
        return std::nullopt;
    // An error of a worker may look like a marker, with any count.
    const float8 number =
        DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(count->val.numeric)));
    if (!(number >= 2 && number <= k_most_left_out) || number != std::floor(number))
        return std::nullopt;
    return static_cast<int64>(number);
}

Jsonb *make_marker(const Marker &marker, int64 count) {
    if (marker.in_args)
        return parse(psprintf("{\"%s\": \"%s\", \"args\": {\"count\": " INT64_FORMAT "}%s}", marker.key, marker.value,
                              count, marker.rest));
    return parse(
        psprintf("{\"%s\": \"%s\", \"count\": " INT64_FORMAT "%s}", marker.key, marker.value, count, marker.rest));
}

Jsonb *append(Jsonb *log, std::span<Jsonb *const> added, const Marker &marker) {
    const int size = log == nullptr ? 0 : static_cast<int>(JB_ROOT_COUNT(log));
    const auto counted = left_out(log, marker);
    const auto trim = model::trim_log(size, counted.has_value(), static_cast<int>(added.size()));

    json::Builder list = json::build_array();
    for (int i = 0; i < size; i++) {
        if (trim.trim && i == model::k_log_head) {
            list.element(json::of_json(make_marker(marker, counted.value_or(0) + trim.newly_left_out)));
            i = trim.tail_from;
            if (i == size)
                break;
        }
        list.element(*getIthJsonbValueFromContainer(&log->root, static_cast<uint32>(i)));
    }
    for (Jsonb *entry : added)
        list.element(json::of_json(entry));
    return list.finish();
}

constexpr std::size_t k_utc_size = 32; // of a year with four digits

// Writes a number with that many digits, and what follows it. Returns where that ends.
char *put_number(char *to, int number, int digits, char next) {
    for (int i = digits; i-- > 0; number /= 10)
        to[i] = static_cast<char>('0' + number % 10);
    to[digits] = next;
    return to + digits + 1;
}

// ISO 8601 in UTC and always with microseconds, so that times compare as text, whatever the session's settings.
const char *utc(TimestampTz time) {
    pg_tm tm{};
    fsec_t micros = 0;
    if (timestamp2tm(time, nullptr, &tm, &micros, nullptr, nullptr) != 0)
        ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("timestamp out of range")));
    if (tm.tm_year < 0 || tm.tm_year > 9999)
        return psprintf("%d-%02d-%02dT%02d:%02d:%02d.%06d+00:00", tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour,
                        tm.tm_min, tm.tm_sec, micros);
    // Each lease of a task writes one. Formatting it by psprintf() takes ten times as long.
    auto *text = static_cast<char *>(palloc(k_utc_size + 1));
    char *end = put_number(text, tm.tm_year, 4, '-');
    end = put_number(end, tm.tm_mon, 2, '-');
    end = put_number(end, tm.tm_mday, 2, 'T');
    end = put_number(end, tm.tm_hour, 2, ':');
    end = put_number(end, tm.tm_min, 2, ':');
    end = put_number(end, tm.tm_sec, 2, '.');
    end = put_number(end, micros, 6, '+');
    memcpy(end, "00:00", sizeof("00:00"));
    return text;
}

// The shortest decimal number that is this value, whatever extra_float_digits is.
Numeric to_numeric(float4 number) {
    char digits[FLOAT_SHORTEST_DECIMAL_LEN];
    float_to_shortest_decimal_buf(number, digits);
    return DatumGetNumeric(
        DirectFunctionCall3(numeric_in, CStringGetDatum(digits), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

Jsonb *make_entry(const char *type, const text *worker, int32 attempt, float4 progress, TimestampTz time,
                  std::string_view code_version = {}) {
    json::Builder object = json::build_object();
    object.member("_typ", type);
    object.member("worker", view(worker));
    object.member("attempt", json::of_whole(attempt));
    object.member("progress", progress == 0 ? json::of_whole(0) : json::of_number(to_numeric(progress)));
    object.member("time", utc(time));
    if (!code_version.empty())
        object.member("code_version", code_version);
    return object.finish();
}

// The history that was made last for a task without a stored one. As a rule the next is the same, or differs in the
// time alone, and times are all of one length.
struct LastHistory {
    TimestampTz leased;
    int32 attempt;
    std::size_t worker_size;
    std::array<char, 64> worker;
    std::size_t size; // 0: none
    std::array<char, 320> json;
    std::size_t time; // where it is in `json`
};

Jsonb *first_history(const text *worker, int32 attempt, TimestampTz leased) {
    static constinit LastHistory last{};
    const std::string_view name = view(worker);
    const bool alike =
        last.size > 0 && last.attempt == attempt && name == std::string_view(last.worker.data(), last.worker_size);
    const std::string_view time = alike && last.leased == leased
                                      ? std::string_view(last.json.data() + last.time, k_utc_size)
                                      : std::string_view(utc(leased));
    if (!alike || time.size() != k_utc_size) {
        Jsonb *const entries[] = {make_entry(k_assignment, worker, attempt, 0, leased)};
        Jsonb *history = append(nullptr, entries, k_history_marker);
        const std::string_view json(reinterpret_cast<const char *>(history), VARSIZE(history));
        if (time.size() == k_utc_size && name.size() <= last.worker.size() && json.size() <= last.json.size()) {
            last.leased = leased;
            last.attempt = attempt;
            last.worker_size = name.size();
            memcpy(last.worker.data(), name.data(), name.size());
            last.size = json.size();
            memcpy(last.json.data(), json.data(), json.size());
            last.time = json.find(time); // its key is shorter than that of the worker, so it comes first
        }
        return history;
    }
    if (last.leased != leased) {
        last.leased = leased;
        memcpy(last.json.data() + last.time, time.data(), k_utc_size);
    }
    auto *copy = static_cast<char *>(palloc(last.size));
    memcpy(copy, last.json.data(), last.size);
    return reinterpret_cast<Jsonb *>(copy);
}

const char *type_of(Ending how) {
    switch (how) {
    case Ending::timeout:
        return "TaskTimeout";
    case Ending::yield:
        return "TaskYield";
    case Ending::retry:
        return "TaskRetry";
    case Ending::defer:
        return "TaskDefer";
    }
    return "";
}

// Whether the assignment of the lease is stored. That of an earlier one is followed by its ending.
bool ends_with_assignment(Jsonb *history) {
    if (history == nullptr || JB_ROOT_COUNT(history) == 0)
        return false;
    JsonbValue *last = getIthJsonbValueFromContainer(&history->root, JB_ROOT_COUNT(history) - 1);
    const JsonbValue *type = member(last, "_typ");
    return type != nullptr && type->type == jbvString &&
           std::string_view(type->val.string.val, static_cast<std::size_t>(type->val.string.len)) == k_assignment;
}

} // namespace

Jsonb *begin_history(Jsonb *stored, const text *worker, int32 attempt, TimestampTz leased) {
    const char *version = settings::code_version;
    if (version == nullptr || *version == '\0')
        return stored;
    Jsonb *const entries[] = {make_entry(k_assignment, worker, attempt, 0, leased, version)};
    return append(stored, entries, k_history_marker);
}

Jsonb *full_history(Jsonb *stored, const text *worker, int32 attempt, std::optional<TimestampTz> leased) {
    if (!leased || ends_with_assignment(stored))
        return stored;
    if (stored == nullptr)
        return first_history(worker, attempt, *leased);
    Jsonb *const entries[] = {make_entry(k_assignment, worker, attempt, 0, *leased)};
    return append(stored, entries, k_history_marker);
}

store::Carry carry_on(const store::LeaseRow &lease, Ending how, TimestampTz now) {
    const int32 attempt = lease.carry.attempt;
    Jsonb *const entries[] = {make_entry(k_assignment, lease.owner, attempt, 0, lease.leased),
                              make_entry(type_of(how), lease.owner, attempt, lease.progress, now)};
    const std::span<Jsonb *const> added(entries);
    store::Carry carry = lease.carry;
    carry.history =
        append(lease.carry.history, added.subspan(ends_with_assignment(lease.carry.history) ? 1 : 0), k_history_marker);
    if (how != Ending::yield && how != Ending::defer)
        carry.failures++;
    return carry;
}

std::optional<TimestampTz> last_deferral(Jsonb *history) {
    const std::string_view deferred = type_of(Ending::defer);
    for (uint32 i = history == nullptr ? 0 : JB_ROOT_COUNT(history); i > 0; i--) {
        JsonbValue *entry = getIthJsonbValueFromContainer(&history->root, i - 1);
        const JsonbValue *type = member(entry, "_typ");
        if (type != nullptr && type->type == jbvString &&
            std::string_view(type->val.string.val, static_cast<std::size_t>(type->val.string.len)) == deferred)
            return json::to_time("time", member(entry, "time"));
    }
    return std::nullopt;
}

Jsonb *add_error(Jsonb *errors, Jsonb *error) {
    Jsonb *const entries[] = {error};
    return append(errors, entries, k_errors_marker);
}

Jsonb *make_error(const char *code, Jsonb *arguments, const char *message) {
    json::Builder object = json::build_object();
    object.member("code", code);
    object.member("args", arguments);
    object.member("message", message);
    return object.finish();
}

JsonbValue *last_error(Jsonb *errors) {
    return errors == nullptr || JB_ROOT_COUNT(errors) == 0
               ? nullptr
               : getIthJsonbValueFromContainer(&errors->root, JB_ROOT_COUNT(errors) - 1);
}

bool ends_with_error(Jsonb *errors, const char *code) {
    const JsonbValue *last = last_error(errors);
    if (last == nullptr || last->type != jbvBinary || !JsonContainerIsObject(last->val.binary.data))
        return false;
    const char *name = "code";
    JsonbValue found;
    const JsonbValue *value =
        getKeyJsonValueFromContainer(last->val.binary.data, name, static_cast<int>(strlen(name)), &found);
    return value != nullptr && value->type == jbvString &&
           std::string_view(value->val.string.val, static_cast<std::size_t>(value->val.string.len)) == code;
}

Jsonb *make_error(const char *code, const char *message) { return make_error(code, parse("{}"), message); }

namespace {

Jsonb *error_about(const char *code, const char *argument, JsonbValue value, const char *message) {
    json::Builder object = json::build_object();
    object.member(argument, value);
    return make_error(code, object.finish(), message);
}

} // namespace

Jsonb *make_error(const char *code, const char *argument, const text *value, const char *message) {
    return error_about(code, argument, json::of_text(view(value)), message);
}

Jsonb *make_error(const char *code, const char *argument, Jsonb *value, const char *message) {
    return error_about(code, argument, json::of_json(value), message);
}

Jsonb *make_error(const char *code, std::span<const ErrorArgument> arguments, const char *message) {
    json::Builder object = json::build_object();
    for (const ErrorArgument &argument : arguments)
        if (argument.value != nullptr)
            object.member(argument.name, argument.value);
    return make_error(code, object.finish(), message);
}

} // namespace scylla
