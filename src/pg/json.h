// Arguments that come inside JSON: the elements of submit_many(), the settings of a queue, a retry policy. Each
// function reads a value of one kind, or raises 22023 with the name of the member and the value. `element` as in
// pg/error.h.
#pragma once

#include "pg/prelude.h"

namespace scylla::json {

Jsonb *to_jsonb(JsonbValue *value);
Jsonb *empty_object();
// For a message.
const char *show(JsonbValue *value);

text *to_text(const char *argument, JsonbValue *value, int64 element = 0);
bool to_bool(const char *argument, JsonbValue *value, int64 element = 0);
int32 to_int(const char *argument, JsonbValue *value, int64 element = 0);
float8 to_float(const char *argument, JsonbValue *value, int64 element = 0);
TimestampTz to_time(const char *argument, JsonbValue *value, int64 element = 0);
Timestamp to_local_time(const char *argument, JsonbValue *value); // as a clock on a wall shows it
Interval *to_interval(const char *argument, JsonbValue *value, int64 element = 0);

// Values for building JSON. They point to their arguments.
JsonbValue of_text(std::string_view value);
JsonbValue of_whole(int64 value);
JsonbValue of_number(Numeric value);
JsonbValue of_json(Jsonb *value); // a null pointer is a null

// A member of an object that is being built.
void push(JsonbParseState **state, std::string_view key, JsonbValue value);
void push_key(JsonbParseState **state, std::string_view key);
void push_text(JsonbParseState **state, std::string_view key, const text *value);
void push_json(JsonbParseState **state, std::string_view key, Jsonb *value);
void push_int64(JsonbParseState **state, JsonbIteratorToken token, int64 value);

// Elements as an array; a null pointer is a null. Null if they have more bytes than an array may have (256 MB).
Jsonb *array_of(std::span<Jsonb *const> elements);

inline bool is_object(Jsonb *value) { return value != nullptr && JB_ROOT_IS_OBJECT(value); }

// Calls use(name, value) for each member of an object; name is a C string.
template <typename Use> void for_each_member(JsonbContainer *object, Use use) {
    JsonbIterator *iterator = JsonbIteratorInit(object);
    JsonbValue key;
    JsonbValue value;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &key, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &key, true)) {
        if (token != WJB_KEY)
            continue;
        JsonbIteratorNext(&iterator, &value, true);
        use(pnstrdup(key.val.string.val, static_cast<Size>(key.val.string.len)), &value);
    }
}

} // namespace scylla::json
