// The arguments of a call. api/arguments.h, which src/api/arguments.pl makes of the signatures in sql/, names those of
// each function: `const args::Submit given{fcinfo};`, given.queue(). Their rules are in task/rules.h.
#pragma once

#include "pg/error.h"
#include "pg/text.h"
#include "task/rules.h"

namespace scylla::args {

// An argument with its name, for messages.
template <typename T> struct Named {
    const char *name;
    T value;

    operator T() const { return value; } // NOLINT(google-explicit-constructor)
    template <typename Otherwise> auto value_or(Otherwise otherwise) const { return value.value_or(otherwise); }
};

inline text *name(const Named<text *> &given) { return name(given.name, given.value); }
inline text *optional_name(const Named<text *> &given) { return optional_name(given.name, given.value); }
inline Jsonb *document(const Named<Jsonb *> &given) { return document(given.name, given.value); }
inline std::optional<int64> timeout(const Named<Interval *> &given) { return timeout(given.name, given.value); }

// Which of the words it is.
template <typename Enum, typename Words> Enum one_of(const Named<text *> &given, const Words &words, const char *rule) {
    for (std::size_t i = 0; given.value != nullptr && i < words.size(); i++)
        if (view(given.value) == words[i])
            return static_cast<Enum>(i);
    error::bad_argument(given.name, error::quote(given.value), rule);
}
// The same; null: the default.
template <typename Enum, typename Words>
Enum one_of(const Named<text *> &given, const Words &words, const char *rule, Enum by_default) {
    return given.value == nullptr ? by_default : one_of<Enum>(given, words, rule);
}

// The argument of that number. One that an older declaration of the function has not is null.
text *get_text(FunctionCallInfo fcinfo, int n); // null if null, as the next ones
const char *get_name(FunctionCallInfo fcinfo, int n);
Jsonb *get_jsonb(FunctionCallInfo fcinfo, int n);
Interval *get_interval(FunctionCallInfo fcinfo, int n);
Datum get_datum(FunctionCallInfo fcinfo, int n); // 0 if null
std::optional<int32> get_int(FunctionCallInfo fcinfo, int n);
std::optional<int64> get_bigint(FunctionCallInfo fcinfo, int n);
std::optional<bool> get_bool(FunctionCallInfo fcinfo, int n);
std::optional<float8> get_float(FunctionCallInfo fcinfo, int n);
std::optional<TimestampTz> get_time(FunctionCallInfo fcinfo, int n);

// An array argument as values. Nothing if the argument is null.
struct Array {
    Datum *value;
    bool *null;
    int64 size;
};
std::optional<Array> get_array(FunctionCallInfo fcinfo, int n, Oid element_type);

} // namespace scylla::args
