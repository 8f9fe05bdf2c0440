#include "pg/json.h"

#include "pg/error.h"
#include "pg/text.h"

namespace scylla::json {

namespace {

// The text through the input function of a type; what the server finds wrong with it becomes our error.
Datum read(const char *argument, JsonbValue *value, const char *rule, int64 element, PGFunction input) {
    const char *written = text_to_cstring(to_text(argument, value, element));
    MemoryContext context = CurrentMemoryContext;
    volatile Datum result = 0;
    PG_TRY();
    { result = DirectFunctionCall3(input, CStringGetDatum(written), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)); }
    PG_CATCH();
    {
        // Data exceptions become ours, which names the element; anything else (a cancel) goes on as it is.
        if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_DATA_EXCEPTION)
            PG_RE_THROW();
        MemoryContextSwitchTo(context);
        FlushErrorState();
        error::bad_argument(argument, show(value), rule, element);
    }
    PG_END_TRY();
    return result;
}

} // namespace

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
    return DatumGetTimestampTz(read(argument, value, "It must be a timestamp.", element, timestamptz_in));
}

Interval *to_interval(const char *argument, JsonbValue *value, int64 element) {
    return DatumGetIntervalP(read(argument, value, "It must be an interval.", element, interval_in));
}

Jsonb *empty_object() { return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"))); }

void push_key(JsonbParseState **state, std::string_view key) {
    JsonbValue name{};
    name.type = jbvString;
    name.val.string.val = const_cast<char *>(key.data()); // NOLINT: it is only read
    name.val.string.len = static_cast<int>(key.size());
    pushJsonbValue(state, WJB_KEY, &name);
}

void push_text(JsonbParseState **state, std::string_view key, const text *value) {
    push_key(state, key);
    JsonbValue string{};
    string.type = jbvString;
    string.val.string.val = text_to_cstring(value);
    string.val.string.len = static_cast<int>(view(value).size());
    pushJsonbValue(state, WJB_VALUE, &string);
}

void push_json(JsonbParseState **state, std::string_view key, Jsonb *value) {
    push_key(state, key);
    JsonbValue binary{};
    binary.type = jbvBinary;
    binary.val.binary.data = &value->root;
    binary.val.binary.len = static_cast<int>(VARSIZE_ANY_EXHDR(value));
    pushJsonbValue(state, WJB_VALUE, &binary);
}

void push_int64(JsonbParseState **state, JsonbIteratorToken token, int64 value) {
    JsonbValue number{};
    number.type = jbvNumeric;
    number.val.numeric = int64_to_numeric(value);
    pushJsonbValue(state, token, &number);
}

} // namespace scylla::json
