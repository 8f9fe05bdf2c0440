// What stands behind the functions that src/store/statements.pl makes of src/store/*/*.sql: src/store/README.md,
// "Statements".
#pragma once

#include "pg/memory.h"
#include "pg/text.h"
#include "store/spi.h"

namespace scylla::store {

// A named statement. Its plan is made once in each process.
struct Statement {
    const char *name;
    const char *sql;
    std::span<const Oid> parameters{};
    std::span<const Oid> columns{};
    bool indexes_only = false; // planned by use_indexes_only()
    bool latest = false;       // by the latest snapshot, whatever that of the transaction is
    bool reads_only = false;   // what the session has changed since the last command is not seen
    bool hot = false;          // with the search_path as it is
    bool as_caller = false;    // as the present role, not as the owner of the tables
    SPIPlanPtr plan = nullptr;
};

// ---- what parameters may be given as -------------------------------------------------------------------------------

// The empty view is null where the parameter may be null.
struct TextArgument {
    const text *value = nullptr;
    bool empty = false;

    TextArgument() = default;
    TextArgument(const text *given) : value(given) {} // NOLINT(google-explicit-constructor)
    TextArgument(std::string_view given)              // NOLINT(google-explicit-constructor)
        : value(cstring_to_text_with_len(given.data(), static_cast<int>(given.size()))), empty(given.empty()) {}
    TextArgument(const char *given) : value(cstring_to_text(given)) {} // NOLINT(google-explicit-constructor)
};

// Values, or an array of the server of their type, which may be null.
template <typename Element> struct ArrayArgument {
    std::span<const Element> elements;
    const ArrayType *array = nullptr;
    bool is_array = true;

    ArrayArgument() = default;
    ArrayArgument(const ArrayType *given) : array(given) {} // NOLINT(google-explicit-constructor)
    template <typename Elements>
    requires(!std::convertible_to<Elements, const ArrayType *>) ArrayArgument(const Elements &given)
        : is_array(false) { // NOLINT(google-explicit-constructor)
        if constexpr (std::convertible_to<Elements, std::span<const Element>>) {
            elements = given;
        } else {
            const auto each = allocate<Element>(given.size());
            for (std::size_t i = 0; i < each.size(); i++)
                new (&each[i]) Element(given[i]);
            elements = each;
        }
    }
};

// ---- types of SQL: how a parameter is given, and a result read -----------------------------------------------------

struct Cell {
    Datum value;
    bool null;
};

namespace sql {

// Of a type that is passed by value.
struct int8 {
    static constexpr Oid oid = INT8OID;
    using Argument = int64;
    using Value = int64;
    static Cell put(int64 value) { return {Int64GetDatum(value), false}; }
    static int64 get(Datum value) { return DatumGetInt64(value); }
};
struct int4 {
    static constexpr Oid oid = INT4OID;
    using Argument = int32;
    using Value = int32;
    static Cell put(int32 value) { return {Int32GetDatum(value), false}; }
    static int32 get(Datum value) { return DatumGetInt32(value); }
};
struct int2 {
    static constexpr Oid oid = INT2OID;
    using Argument = int16;
    using Value = int16;
    static Cell put(int16 value) { return {Int16GetDatum(value), false}; }
    static int16 get(Datum value) { return DatumGetInt16(value); }
};
struct boolean {
    static constexpr Oid oid = BOOLOID;
    using Argument = bool;
    using Value = bool;
    static Cell put(bool value) { return {BoolGetDatum(value), false}; }
    static bool get(Datum value) { return DatumGetBool(value); }
};
struct float8 {
    static constexpr Oid oid = FLOAT8OID;
    using Argument = ::float8;
    using Value = ::float8;
    static Cell put(::float8 value) { return {Float8GetDatum(value), false}; }
    static ::float8 get(Datum value) { return DatumGetFloat8(value); }
};
struct timestamptz {
    static constexpr Oid oid = TIMESTAMPTZOID;
    using Argument = TimestampTz;
    using Value = TimestampTz;
    static Cell put(TimestampTz value) { return {TimestampTzGetDatum(value), false}; }
    static TimestampTz get(Datum value) { return DatumGetTimestampTz(value); }
};

// Of a type with a length of its own. A null pointer is null.
template <typename T, Oid Id> struct Variable {
    static constexpr Oid oid = Id;
    using Argument = const T *;
    using Value = T *;
    static Cell put(const T *value) { return {PointerGetDatum(value), value == nullptr}; }
    static T *get(Datum value) { return reinterpret_cast<T *>(PG_DETOAST_DATUM_COPY(value)); }
};
using jsonb = Variable<Jsonb, JSONBOID>;
struct string : Variable<::text, TEXTOID> {
    using Argument = TextArgument;
    static Cell put(const TextArgument &given) { return {PointerGetDatum(given.value), given.value == nullptr}; }
};
struct interval {
    static constexpr Oid oid = INTERVALOID;
    using Argument = const Interval *;
    using Value = Interval *;
    static Cell put(const Interval *value) { return {PointerGetDatum(value), value == nullptr}; }
    static Interval *get(Datum value) { return DatumGetIntervalP(datumCopy(value, false, sizeof(Interval))); }
};
// A text as a string of C.
struct c_string {
    static constexpr Oid oid = TEXTOID;
    using Argument = const char *;
    using Value = const char *;
    static Cell put(const char *value) {
        return {value == nullptr ? Datum{0} : CStringGetTextDatum(value), value == nullptr};
    }
    static const char *get(Datum value) { return TextDatumGetCString(value); }
};
struct name {
    static constexpr Oid oid = NAMEOID;
    using Argument = const char *;
    using Value = const char *;
    static Cell put(const char *value) {
        return {value == nullptr ? Datum{0} : DirectFunctionCall1(namein, CStringGetDatum(value)), value == nullptr};
    }
    static const char *get(Datum value) { return pstrdup(NameStr(*DatumGetName(value))); }
};
// A text as a view. The empty one is null where null is allowed.
struct view {
    static constexpr Oid oid = TEXTOID;
    using Argument = std::string_view;
    using Value = std::string_view;
    static Cell put(std::string_view value) {
        return {PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size()))), false};
    }
    static std::string_view get(Datum value) { return scylla::view(DatumGetTextPCopy(value)); }
};
// As a Datum; 0 is null.
template <Oid Id> struct AsDatum {
    static constexpr Oid oid = Id;
    using Argument = Datum;
    using Value = Datum;
    static Cell put(Datum value) { return {value, value == 0}; }
    static Datum get(Datum value) { return PointerGetDatum(PG_DETOAST_DATUM_COPY(value)); }
};
using int8multirange = AsDatum<INT8MULTIRANGEOID>;
using jsonpath = AsDatum<JSONPATHOID>;

// A text that is one of a list of words.
template <typename Enum, const auto &Words> struct Word {
    static constexpr Oid oid = TEXTOID;
    using Argument = Enum;
    using Value = Enum;
    static Cell put(Enum value) { return view::put(Words[static_cast<std::size_t>(value)]); }
    static Enum get(Datum value) {
        const std::string_view word = scylla::view(DatumGetTextPP(value));
        for (std::size_t i = 0; i < Words.size(); i++)
            if (word == Words[i])
                return static_cast<Enum>(i);
        elog(ERROR, "a row has the unknown word \"%.*s\"", static_cast<int>(word.size()), word.data());
    }
};

// Null is std::nullopt.
template <typename T> struct Nullable {
    static constexpr Oid oid = T::oid;
    using Argument = std::optional<typename T::Argument>;
    using Value = std::optional<typename T::Value>;
    static Cell put(const Argument &value) { return value ? T::put(*value) : Cell{0, true}; }
    static Value get(Datum value) { return T::get(value); }
};
// The type has a value for null: a null pointer, or what is empty.
template <typename T> struct OrEmpty : T {
    static Cell put(const typename T::Argument &value) {
        Cell cell = T::put(value);
        if constexpr (std::is_same_v<typename T::Argument, std::string_view>)
            cell.null = value.empty();
        if constexpr (std::is_same_v<typename T::Argument, TextArgument>)
            cell.null = cell.null || value.empty;
        return cell;
    }
};
// 0 stands for null.
template <typename T> struct OrZero : T {
    static Cell put(typename T::Argument value) { return {T::put(value).value, value == 0}; }
};
template <typename T> constexpr bool may_be_null = false;
template <typename T> constexpr bool may_be_null<Nullable<T>> = true;
template <typename T> constexpr bool may_be_null<OrEmpty<T>> = true;
template <typename T> constexpr bool may_be_null<OrZero<T>> = true;

constexpr Oid array_oid(Oid element) {
    switch (element) {
    case INT8OID:
        return INT8ARRAYOID;
    case INT4OID:
        return INT4ARRAYOID;
    case INT2OID:
        return INT2ARRAYOID;
    case BOOLOID:
        return BOOLARRAYOID;
    case FLOAT8OID:
        return FLOAT8ARRAYOID;
    case TIMESTAMPTZOID:
        return TIMESTAMPTZARRAYOID;
    case TEXTOID:
        return TEXTARRAYOID;
    case NAMEOID:
        return NAMEARRAYOID;
    case JSONBOID:
        return JSONBARRAYOID;
    case INTERVALOID:
        return INTERVALARRAYOID;
    case INT8MULTIRANGEOID:
        return INT8MULTIRANGEARRAYOID;
    default:
        return InvalidOid;
    }
}
Datum make_array(Oid element, std::span<Datum> values, std::span<bool> nulls);

template <typename T> struct Array {
    static constexpr Oid oid = array_oid(T::oid);
    static_assert(OidIsValid(oid), "array_oid() does not know this type");
    using Argument = ArrayArgument<typename T::Argument>;
    using Value = ArrayType *;
    static Cell put(const Argument &given) {
        if (given.is_array)
            return {PointerGetDatum(given.array), given.array == nullptr};
        const auto values = allocate<Datum>(given.elements.size());
        const auto nulls = allocate<bool>(given.elements.size());
        for (std::size_t i = 0; i < given.elements.size(); i++) {
            const Cell cell = T::put(given.elements[i]);
            values[i] = cell.value;
            nulls[i] = cell.null;
        }
        return {make_array(T::oid, values, nulls), false};
    }
    static ArrayType *get(Datum value) { return DatumGetArrayTypePCopy(value); }
};

} // namespace sql

// The elements of an array of int8 without nulls.
inline std::span<const int64> int8s(const ArrayType *array) {
    return {reinterpret_cast<const int64 *>(ARR_DATA_PTR(array)),
            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

// ---- running a statement -------------------------------------------------------------------------------------------

// A row of the result, read column by column. Values are copied into the current memory context.
class Fields {
public:
    Fields(const Statement &statement, HeapTuple tuple, TupleDesc columns)
        : statement_(statement), tuple_(tuple), columns_(columns) {}

    template <typename T> typename T::Value next() {
        bool null = false;
        const Datum value = heap_getattr(tuple_, ++column_, columns_, &null);
        if (!null)
            return T::get(value);
        if constexpr (!sql::may_be_null<T>)
            refuse_null();
        return typename T::Value{};
    }

private:
    [[noreturn]] void refuse_null() const;

    const Statement &statement_;
    HeapTuple tuple_;
    TupleDesc columns_;
    int column_ = 0;
};

// What a function that reads a row returns.
template <auto Read> using RowOf = decltype(Read(std::declval<Fields &>()));
template <typename T> typename T::Value read_value(Fields &row) { return row.next<T>(); }

// Says of a row whether it is the one. It is not kept.
template <typename Row> class Test {
public:
    template <typename Says>
    Test(const Says &says) // NOLINT(google-explicit-constructor)
        : is_wanted_([](const void *what, const void *row) {
              return static_cast<bool>((*static_cast<const Says *>(what))(*static_cast<const Row *>(row)));
          }),
          says_(&says) {}

    bool (*is_wanted_)(const void *says, const void *row);
    const void *says_;
};

// How run() reads rows: each into a place of this size.
struct Reader {
    std::size_t size;
    void (*read)(Fields &row, void *to);
    uint64 least = 0; // another number of rows is an error
    uint64 most = UINT64_MAX;
    Tuplestorestate *table = nullptr;                               // gets the rows as they are
    bool (*is_wanted)(const void *says, const void *row) = nullptr; // only the first such row, by a cursor
    const void *says = nullptr;
};
struct Rows {
    void *first = nullptr; // in the present memory context; null without a reader
    uint64 count = 0;      // of the rows that were found or changed
};
Rows run(Statement &statement, const Datum *values, const char *nulls, const Reader *reader = nullptr);
[[noreturn]] void refuse_null(const Statement &statement, std::size_t parameter);

// The values of the parameters of a statement.
template <std::size_t Count> class Given {
public:
    explicit Given(Statement &statement) : statement_(statement) {}

    template <typename T> void put(const typename T::Argument &value) { add(checked<T>(T::put(value))); }
    // A member of each row, as an array.
    template <typename T, typename Row, typename Member> void column(std::span<const Row> rows, Member Row::*member) {
        const auto values = allocate<Datum>(rows.size());
        const auto nulls = allocate<bool>(rows.size());
        for (std::size_t i = 0; i < rows.size(); i++) {
            const Cell cell = checked<T>(T::put(rows[i].*member));
            values[i] = cell.value;
            nulls[i] = cell.null;
        }
        add({sql::make_array(T::oid, values, nulls), false});
    }

    int64 run() { return static_cast<int64>(store::run(statement_, values_.data(), nulls_.data()).count); }
    void put_rows(Tuplestorestate *rows) {
        const Reader reader{.size = 0, .read = nullptr, .table = rows};
        (void)store::run(statement_, values_.data(), nulls_.data(), &reader);
    }
    template <auto Read> std::span<RowOf<Read>> select() { return read_rows<Read>(reader<Read>()); }
    template <auto Read> RowOf<Read> select_one() {
        Reader one = reader<Read>();
        one.least = one.most = 1;
        return read_rows<Read>(one)[0];
    }
    template <auto Read> std::optional<RowOf<Read>> find() {
        Reader one = reader<Read>();
        one.most = 1;
        return first(read_rows<Read>(one));
    }
    template <auto Read> std::optional<RowOf<Read>> find_first(const Test<RowOf<Read>> &test) {
        Reader one = reader<Read>();
        one.is_wanted = test.is_wanted_;
        one.says = test.says_;
        return first(read_rows<Read>(one));
    }

private:
    template <auto Read> static Reader reader() {
        using Row = RowOf<Read>;
        static_assert(Pod<Row>);
        return {.size = sizeof(Row), .read = [](Fields &row, void *to) { new (to) Row(Read(row)); }};
    }
    template <auto Read> std::span<RowOf<Read>> read_rows(const Reader &how) {
        const Rows rows = store::run(statement_, values_.data(), nulls_.data(), &how);
        return {static_cast<RowOf<Read> *>(rows.first), rows.count};
    }
    template <typename Row> static std::optional<Row> first(std::span<Row> rows) {
        return rows.empty() ? std::nullopt : std::optional(rows[0]);
    }
    template <typename T> Cell checked(const Cell &cell) const {
        if constexpr (!sql::may_be_null<T>)
            if (cell.null)
                refuse_null(statement_, count_ + 1);
        return cell;
    }
    void add(const Cell &cell) {
        nulls_[count_] = cell.null ? 'n' : ' ';
        values_[count_++] = cell.value;
    }

    Statement &statement_;
    std::size_t count_ = 0;
    std::array<Datum, Count> values_{};
    std::array<char, Count + 1> nulls_{};
};

} // namespace scylla::store
