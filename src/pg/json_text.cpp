#include "pg/json_text.h"

namespace scylla {

namespace {

// Bytes of a character in a JSON string, as escape_json() writes it.
using Sizes = std::array<std::uint8_t, 256>;
constexpr Sizes escaped_sizes() {
    Sizes size{};
    for (std::size_t c = 0; c < size.size(); c++)
        size[c] = c < ' ' ? 6 : 1;
    for (const char c : {'\b', '\f', '\n', '\r', '\t', '"', '\\'})
        size[static_cast<std::size_t>(c)] = 2;
    return size;
}
constexpr Sizes k_escaped_size = escaped_sizes();

int64 string_size(std::string_view value) {
    constexpr std::size_t k_portion = 1 << 20; // a string may have 256 MB
    int64 size = 2;
    for (std::size_t from = 0; from < value.size(); from += k_portion) {
        CHECK_FOR_INTERRUPTS();
        for (const char c : value.substr(from, k_portion))
            size += k_escaped_size[static_cast<std::uint8_t>(c)];
    }
    return size;
}

// The stored form of a numeric, which is private to numeric.c, but kept by pg_upgrade: a header of 16 bits, in
// the long form the weight of the first digit in 16 more, then digits to the base 10,000.
struct StoredNumeric {
    bool negative;
    int weight;
    int scale; // decimal digits after the point
    int first; // digit; 0 if there is none
};

StoredNumeric read_numeric(const NumericData *numeric) {
    const char *at = VARDATA_ANY(numeric);
    const char *const end = at + VARSIZE_ANY_EXHDR(numeric);
    const auto next = [&at, end] {
        int16 value = 0;
        if (at < end)
            memcpy(&value, at, sizeof(value));
        at += sizeof(value);
        return value;
    };
    const auto header = static_cast<uint16>(next());
    const bool is_short = (header & 0xC000) == 0x8000;
    if (!is_short) {
        const int weight = next();
        return {(header & 0xC000) == 0x4000, weight, header & 0x3FFF, next()};
    }
    const int weight = (header & 0x3F) - ((header & 0x40) != 0 ? 0x40 : 0);
    return {(header & 0x2000) != 0, weight, (header & 0x1F80) >> 7, next()};
}

int64 number_size(const NumericData *numeric) {
    const StoredNumeric number = read_numeric(numeric);
    const int first = number.first >= 1000 ? 4 : number.first >= 100 ? 3 : number.first >= 10 ? 2 : 1;
    const int whole = number.weight < 0 ? 1 : first + 4 * number.weight;
    return (number.negative ? 1 : 0) + whole + (number.scale > 0 ? 1 + number.scale : 0);
}

int64 scalar_size(const JsonbValue &value) {
    switch (value.type) {
    case jbvString:
        return string_size({value.val.string.val, static_cast<std::size_t>(value.val.string.len)});
    case jbvNumeric:
        return number_size(value.val.numeric);
    case jbvBool:
        return value.val.boolean ? 4 : 5;
    default:
        return 4; // null
    }
}

constexpr int64 k_separator = 2; // ", " and ": "

int64 brackets_size(int64 elements) { return 2 + (elements > 1 ? elements - 1 : 0) * k_separator; }

} // namespace

int64 text_size(const Jsonb *value) {
    JsonbIterator *iterator = JsonbIteratorInit(const_cast<JsonbContainer *>(&value->root));
    JsonbValue each;
    int64 size = 0;
    for (auto token = JsonbIteratorNext(&iterator, &each, false); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &each, false)) {
        CHECK_FOR_INTERRUPTS();
        if (token == WJB_BEGIN_ARRAY && !each.val.array.rawScalar)
            size += brackets_size(each.val.array.nElems);
        else if (token == WJB_BEGIN_OBJECT)
            size += brackets_size(each.val.object.nPairs);
        else if (token == WJB_KEY)
            size += scalar_size(each) + k_separator;
        else if (token == WJB_VALUE || token == WJB_ELEM)
            size += scalar_size(each);
    }
    return size;
}

} // namespace scylla
