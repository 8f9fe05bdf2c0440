// Values in the form that messages show.
#include "pg/error_fields.h"

#include "pg/json_text.h"
#include "pg/text.h"

namespace scylla::error {

const char *cut(std::string_view all) {
    constexpr int k_shown = 60;
    const auto size = static_cast<int>(all.size());
    const int shown = pg_mbcharcliplen(all.data(), size, k_shown);
    return psprintf("%.*s%s", shown, all.data(), shown < size ? "..." : "");
}

const char *clip(std::string_view text) {
    constexpr std::size_t k_shown = 1'000;
    const auto size = static_cast<int>(std::min(text.size(), k_shown));
    return pnstrdup(text.data(), static_cast<Size>(pg_mbcliplen(text.data(), size, size)));
}

const char *quote(const text *value) { return value == nullptr ? "null" : psprintf("\"%s\"", cut(view(value))); }

const char *show(Jsonb *value) {
    constexpr int64 k_max_made = 1 << 20; // of text, to show its beginning
    if (value == nullptr)
        return "null";
    if (text_is_larger(value, k_max_made))
        return outline(value, text_size(value));
    return cut(JsonbToCString(nullptr, &value->root, static_cast<int>(VARSIZE(value))));
}

const char *outline(const Jsonb *value, int64 size) {
    return psprintf("%s of " INT64_FORMAT " bytes",
                    JB_ROOT_IS_OBJECT(value)   ? "an object"
                    : JB_ROOT_IS_SCALAR(value) ? "a value"
                                               : "an array",
                    size);
}

const char *print(Datum value, Oid type) {
    Oid output = InvalidOid;
    bool varlena = false;
    getTypeOutputInfo(type, &output, &varlena);
    return OidOutputFunctionCall(output, value);
}

const char *array_of(int64 size) {
    return psprintf("an array of " INT64_FORMAT " element%s", size, size == 1 ? "" : "s");
}

} // namespace scylla::error
