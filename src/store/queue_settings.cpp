#include "store/queue_settings.h"

#include "pg/error.h"
#include "pg/text.h"

namespace scylla::store {

namespace {

template <typename T> constexpr Oid k_type_of = InvalidOid;
template <> constexpr Oid k_type_of<Interval *> = INTERVALOID;
template <> constexpr Oid k_type_of<float8> = FLOAT8OID;
template <> constexpr Oid k_type_of<std::optional<int32>> = INT4OID;
template <> constexpr Oid k_type_of<bool> = BOOLOID;
template <> constexpr Oid k_type_of<OnFull> = TEXTOID;
template <> constexpr Oid k_type_of<Jsonb *> = JSONBOID;
template <> constexpr Oid k_type_of<text *> = TEXTOID;

NullableDatum to_datum(const void *pointer) { return {PointerGetDatum(pointer), pointer == nullptr}; }
NullableDatum to_datum(float8 number) { return {Float8GetDatum(number), false}; }
NullableDatum to_datum(std::optional<int32> number) { return {Int32GetDatum(number.value_or(0)), !number}; }
NullableDatum to_datum(bool flag) { return {BoolGetDatum(flag), false}; }
NullableDatum to_datum(OnFull word) {
    return {CStringGetTextDatum(k_on_full_names[static_cast<std::size_t>(word)]), false};
}

void from_datum(Datum value, Interval **to) { *to = DatumGetIntervalP(datumCopy(value, false, sizeof(Interval))); }
void from_datum(Datum value, float8 *to) { *to = DatumGetFloat8(value); }
void from_datum(Datum value, std::optional<int32> *to) { *to = DatumGetInt32(value); }
void from_datum(Datum value, bool *to) { *to = DatumGetBool(value); }
void from_datum(Datum value, Jsonb **to) { *to = DatumGetJsonbPCopy(value); }
void from_datum(Datum value, text **to) { *to = DatumGetTextPCopy(value); }
void from_datum(Datum value, OnFull *to) {
    const text *word = DatumGetTextPP(value);
    for (std::size_t i = 0; i < k_on_full_names.size(); i++)
        if (view(word) == k_on_full_names[i]) {
            *to = static_cast<OnFull>(i);
            return;
        }
    error::bad_argument("on_full", error::quote(word), "It must be \"error\" or \"shed\".");
}

template <typename T> T member_type(T QueueSettings::*);

} // namespace

Oid type_of(const Setting &setting) {
    return std::visit([](auto member) { return k_type_of<decltype(member_type(member))>; }, setting.member);
}

NullableDatum get(const QueueSettings &settings, const Setting &setting) {
    return std::visit([&](auto member) { return to_datum(settings.*member); }, setting.member);
}

void set(QueueSettings &settings, const Setting &setting, NullableDatum value) {
    std::visit(
        [&](auto member) {
            if (value.isnull)
                settings.*member = QueueSettings{}.*member;
            else
                from_datum(value.value, &(settings.*member));
        },
        setting.member);
}

} // namespace scylla::store
