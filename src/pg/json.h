// Arguments that come inside JSON: the elements of submit_many(), the settings of a queue, a retry policy. Each
// function reads a value of one kind, or raises 22023 with the name of the member and the value. `element` as in
// pg/error.h.
#pragma once

#include "pg/prelude.h"

#include "pg/moment.h"
#include "pg/text.h"

namespace scylla::json {

Jsonb *to_jsonb(JsonbValue *value);
Jsonb *empty_object();
// For a message.
const char *show(JsonbValue *value);

text *to_text(const char *argument, JsonbValue *value, int64 element = 0);
bool to_bool(const char *argument, JsonbValue *value, int64 element = 0);
int32 to_int(const char *argument, JsonbValue *value, int64 element = 0);
float8 to_float(const char *argument, JsonbValue *value, int64 element = 0);
// Without a zone in the text it is one of UTC.
TimestampTz to_time(const char *argument, JsonbValue *value, int64 element = 0);
Moment to_moment(const char *argument, JsonbValue *value, const pg_tz *zone, int64 element = 0);
Interval *to_interval(const char *argument, JsonbValue *value, int64 element = 0);
// A duration (model/duration.h); null: it is none. The server's own function depends on intervalstyle.
Interval *read_interval(std::string_view given);

// Values for building JSON. They point to their arguments.
JsonbValue of_text(std::string_view value);
JsonbValue of_whole(int64 value);
JsonbValue of_number(Numeric value);
JsonbValue of_json(Jsonb *value); // a null pointer is a null

// Builds an object or an array, part by part. Keys and values are not copied before finish().
class Builder {
public:
    explicit Builder(bool is_array) : is_array_(is_array) {
        push(is_array ? WJB_BEGIN_ARRAY : WJB_BEGIN_OBJECT, nullptr);
    }
    // Of an object. If a key is given twice, the last value counts.
    void member(std::string_view key, JsonbValue value);
    void member(std::string_view key, std::string_view value) { member(key, of_text(value)); }
    void member(std::string_view key, const text *value) { member(key, of_text(view(value))); }
    void member(std::string_view key, Jsonb *value) { member(key, of_json(value)); }
    void members_of(JsonbContainer *object);
    // Of an array.
    void element(JsonbValue value) { push(WJB_ELEM, &value); }
    void element(std::string_view value) { element(of_text(value)); }
    void elements_of(JsonbContainer *array);
    // Parts of an array, and, with a key, of an object.
    void begin_object() { push(WJB_BEGIN_OBJECT, nullptr); }
    void begin_object(std::string_view key);
    void end_object() { push(WJB_END_OBJECT, nullptr); }
    void begin_array() { push(WJB_BEGIN_ARRAY, nullptr); }
    void begin_array(std::string_view key);
    void end_array() { push(WJB_END_ARRAY, nullptr); }

    Jsonb *finish();

private:
    JsonbValue *push(JsonbIteratorToken token, JsonbValue *value) {
        return compat::push_jsonb_value(&state_, token, value);
    }
    compat::JsonbState state_{};
    bool is_array_;
};

inline Builder build_object() { return Builder(false); }
inline Builder build_array() { return Builder(true); }

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
