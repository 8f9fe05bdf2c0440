// Conversion of texts between the model, which uses views, and SQL.
#pragma once

#include "pg/json.h"

namespace scylla::workflow {

inline text *to_text(std::string_view value) {
    return cstring_to_text_with_len(value.data(), static_cast<int>(value.size()));
}

// Null becomes the empty text.
inline std::string_view json_text(Jsonb *json) {
    return json == nullptr ? std::string_view{} : JsonbToCString(nullptr, &json->root, static_cast<int>(VARSIZE(json)));
}

inline Jsonb *to_json(std::string_view value) {
    return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(to_text(value)))));
}

// The error of a run: why it has ended.
inline Jsonb *error_saying(std::string_view message) {
    json::Builder object = json::build_object();
    object.member("message", message);
    return object.finish();
}

} // namespace scylla::workflow
