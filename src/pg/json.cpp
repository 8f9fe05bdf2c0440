#include "pg/json.h"

#include "model/duration.h"
#include "pg/error.h"
#include "pg/text.h"

namespace scylla::json {

Jsonb *to_jsonb(JsonbValue *value) { return JsonbValueToJsonb(value); }

const char *show(JsonbValue *value) { return error::show(to_jsonb(value)); }

text *to_text(const char *argument, JsonbValue *value, int64 element) {
    if (value->type != jbvString)
        error::bad_argument(argument, show(value), "It must be a text.", element);
    return cstring_to_text_with_len(value->val.string.val, value->val.string.len);
}

bool to_bool(const char *argument, JsonbValue *value, int64 element) {
    if (value->type != jbvBool)
        error::bad_argument(argument, show(value), "It must be true or false.", element);
    return value->val.boolean;
}

int32 to_int(const char *argument, JsonbValue *value, int64 element) {
    const char *rule = "It must be a whole number.";
    if (value->type != jbvNumeric)
        error::bad_argument(argument, show(value), rule, element);
    const float8 number =
        DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
    if (!(number >= PG_INT32_MIN && number <= PG_INT32_MAX))
        error::bad_argument(argument, show(value), rule, element);
    const Datum whole = DirectFunctionCall2(numeric_trunc, NumericGetDatum(value->val.numeric), Int32GetDatum(0));
    if (!DatumGetBool(DirectFunctionCall2(numeric_eq, whole, NumericGetDatum(value->val.numeric))))
        error::bad_argument(argument, show(value), rule, element);
    return DatumGetInt32(DirectFunctionCall1(numeric_int4, whole));
}

float8 to_float(const char *argument, JsonbValue *value, int64 element) {
    if (value->type != jbvNumeric)
        error::bad_argument(argument, show(value), "It must be a number.", element);
    return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
}

TimestampTz to_time(const char *argument, JsonbValue *value, int64 element) {
    const text *given = to_text(argument, value, element);
    if (view(given) == "infinity") // as the server writes it in JSON
        return DT_NOEND;
    if (view(given) == "-infinity")
        return DT_NOBEGIN;
    return to_moment(argument, value, find_zone("UTC"), element).at;
}

Moment to_moment(const char *argument, JsonbValue *value, const pg_tz *zone, int64 element) {
    const auto moment = read_moment(view(to_text(argument, value, element)), zone);
    if (!moment)
        error::bad_argument(argument, show(value), psprintf("It must be %s.", model::k_time_rule.data()), element);
    return *moment;
}

Interval *to_interval(const char *argument, JsonbValue *value, int64 element) {
    const text *given = to_text(argument, value, element);
    Interval *interval = read_interval(view(given));
    if (interval == nullptr)
        error::bad_argument(argument, show(value), psprintf("It must be %s.", model::k_duration_rule.data()), element);
    return interval;
}

Interval *read_interval(std::string_view given) {
    const auto read = model::read_duration(given);
    if (!read || read->months > PG_INT32_MAX || read->days > PG_INT32_MAX)
        return nullptr;
    auto *interval = static_cast<Interval *>(palloc(sizeof(Interval)));
    interval->month = static_cast<int32>(read->months);
    interval->day = static_cast<int32>(read->days);
    interval->time = read->micros;
    return interval;
}

Jsonb *empty_object() { return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"))); }

JsonbValue of_text(std::string_view value) {
    JsonbValue result{};
    result.type = jbvString;
    result.val.string.val = const_cast<char *>(value.data()); // NOLINT: it is only read
    result.val.string.len = static_cast<int>(value.size());
    return result;
}

JsonbValue of_whole(int64 value) { return of_number(int64_to_numeric(value)); }

JsonbValue of_number(Numeric value) {
    JsonbValue result{};
    result.type = jbvNumeric;
    result.val.numeric = value;
    return result;
}

JsonbValue of_json(Jsonb *value) {
    JsonbValue result{};
    if (value == nullptr) {
        result.type = jbvNull;
    } else if (!JsonbExtractScalar(&value->root, &result)) {
        result.type = jbvBinary;
        result.val.binary.data = &value->root;
        result.val.binary.len = static_cast<int>(VARSIZE(value) - VARHDRSZ);
    }
    return result;
}

namespace {

template <typename Use> void for_each_token(JsonbContainer *container, Use use) {
    JsonbIterator *iterator = JsonbIteratorInit(container);
    JsonbValue value;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true))
        use(token, &value);
}

} // namespace

void Builder::member(std::string_view key, JsonbValue value) {
    JsonbValue name = of_text(key);
    push(WJB_KEY, &name);
    push(WJB_VALUE, &value);
}

void Builder::members_of(JsonbContainer *object) {
    for_each_token(object, [this](JsonbIteratorToken token, JsonbValue *value) {
        if (token == WJB_KEY || token == WJB_VALUE)
            push(token, value);
    });
}

void Builder::elements_of(JsonbContainer *array) {
    for_each_token(array, [this](JsonbIteratorToken token, JsonbValue *value) {
        if (token == WJB_ELEM)
            push(token, value);
    });
}

void Builder::begin_object(std::string_view key) {
    JsonbValue name = of_text(key);
    push(WJB_KEY, &name);
    begin_object();
}

void Builder::begin_array(std::string_view key) {
    JsonbValue name = of_text(key);
    push(WJB_KEY, &name);
    begin_array();
}

Jsonb *Builder::finish() { return JsonbValueToJsonb(push(is_array_ ? WJB_END_ARRAY : WJB_END_OBJECT, nullptr)); }

namespace {

// An element in the form of an array: its type and its bytes.
struct Element {
    JEntry type;
    const char *bytes;
    uint32 size;
    bool aligned;
};

Element element_of(const Jsonb *value) {
    if (value == nullptr)
        return {JENTRY_ISNULL, nullptr, 0, false};
    const JsonbContainer &root = value->root;
    if (!JB_ROOT_IS_SCALAR(value))
        return {JENTRY_ISCONTAINER, reinterpret_cast<const char *>(&root),
                static_cast<uint32>(VARSIZE(value) - VARHDRSZ), true};
    const JEntry entry = root.children[0];
    return {entry & JENTRY_TYPEMASK, reinterpret_cast<const char *>(&root.children[1]), JBE_OFFLENFLD(entry),
            JBE_ISNUMERIC(entry)};
}

} // namespace

// The elements are copied as bytes: the server's own function would take them apart, with a recursion as deep as their
// nesting. Then a result that one session could just store might be too deep for the next one, and the task that
// depends on it would make every lease fail.
Jsonb *array_of(std::span<Jsonb *const> elements) {
    const auto place = [](Size at, const Element &element) { return element.aligned ? INTALIGN(at) : at; };
    const Size begin = offsetof(Jsonb, root.children) + elements.size() * sizeof(JEntry);
    Size end = begin;
    for (const Jsonb *value : elements) {
        const Element element = element_of(value);
        end = place(end, element) + element.size;
    }
    if (end - begin > JENTRY_OFFLENMASK)
        return nullptr;
    auto *array = static_cast<Jsonb *>(palloc0(end));
    SET_VARSIZE(array, end);
    array->root.header = static_cast<uint32>(elements.size()) | JB_FARRAY;
    Size at = begin;
    for (std::size_t i = 0; i < elements.size(); i++) {
        const Element element = element_of(elements[i]);
        const Size before = at;
        at = place(at, element);
        if (element.size > 0)
            memcpy(reinterpret_cast<char *>(array) + at, element.bytes, element.size);
        at += element.size;
        // Most entries have their length with padding; every JB_OFFSET_STRIDE-th one has the offset of its end.
        array->root.children[i] =
            element.type | (i % JB_OFFSET_STRIDE == 0 ? JENTRY_HAS_OFF | static_cast<JEntry>(at - begin)
                                                      : static_cast<JEntry>(at - before));
    }
    return array;
}

} // namespace scylla::json
