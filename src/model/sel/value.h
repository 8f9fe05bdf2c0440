// The values of an expression. They live in a heap that is freed as a whole, so values are copied and dropped freely,
// and a map may even contain itself.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/sel/fault.h"

namespace scylla::model::sel {

// Allocated memory counts until the heap ends: values that a program drops are not freed.
class Heap {
public:
    // cppcheck-suppress uninitMemberVar ; first_ is written when it is given out
    explicit Heap(std::int64_t limit) noexcept : left_{limit} {}
    ~Heap();
    Heap(const Heap &) = delete;
    Heap &operator=(const Heap &) = delete;

    template <typename T> T *allocate(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
        if (count > static_cast<std::size_t>(left_) / sizeof(T))
            too_much();
        return static_cast<T *>(take(count * sizeof(T)));
    }
    template <typename T> T *make(const T &value) { return new (allocate<T>(1)) T(value); }

private:
    struct Chunk {
        Chunk *next;
    };

    void *take(std::size_t size) {
        size = (size + 7) & ~std::size_t{7};
        left_ -= static_cast<std::int64_t>(size);
        if (left_ < 0)
            too_much();
        if (size > static_cast<std::size_t>(end_ - next_))
            return take_from_new_chunk(size);
        char *taken = next_;
        next_ += size;
        return taken;
    }
    void *take_from_new_chunk(std::size_t size);
    [[noreturn]] static void too_much();

    std::int64_t left_;
    Chunk *chunks_ = nullptr;
    alignas(8) char first_[2048]; // most expressions need no more
    char *next_ = first_;
    char *end_ = first_ + sizeof(first_);
};

enum class Type : std::uint8_t {
    null,
    string,
    long_,
    double_,
    boolean,
    array,
    map,
    date,
    zone,
    formatter,
    property, // a field of a date, as dayOfWeek() returns it
    days,
    params, // the parameters
    class_, // a name like Math, before its method is called
    none,   // a program without a result
};

// The elements of an array have one type, or any.
enum class Elements : std::uint8_t { any, string, long_, double_, boolean };

struct Text;
struct Array;
struct Map;
struct Date;
struct Formatter;
struct Property;

// A zone: one of the caller's (handle), or a fixed offset.
struct Zone {
    std::string_view name{};
    const void *handle = nullptr;
    std::int32_t offset = 0; // seconds east of Greenwich, without a handle
};

struct Value {
    Type type = Type::null;
    std::uint32_t size = 0; // of a string, in bytes
    union {
        std::int64_t number; // long_, days, class_
        double real;
        bool truth;
        Text *text;
        Array *array;
        Map *map;
        const Date *date;
        const Zone *zone;
        const Formatter *formatter;
        const Property *property;
    };

    constexpr Value() noexcept : number{0} {}
    static constexpr Value of(std::int64_t value) noexcept { return of(Type::long_, value); }
    static constexpr Value of(Type type, std::int64_t value) noexcept {
        Value made;
        made.type = type;
        made.number = value;
        return made;
    }
    static constexpr Value of(double value) noexcept {
        Value made;
        made.type = Type::double_;
        made.real = value;
        return made;
    }
    static constexpr Value of(bool value) noexcept {
        Value made;
        made.type = Type::boolean;
        made.truth = value;
        return made;
    }
    static Value of(Array *value) noexcept;
    static Value of(Map *value) noexcept;
    static Value of(const Zone *value) noexcept;
    static Value of(const Date *value) noexcept;
    static Value of(const Formatter *value) noexcept;
    static Value of(const Property *value) noexcept;

    std::string_view view() const noexcept;
    bool is_null() const noexcept { return type == Type::null; }
};

// Bytes that strings share. A string is the first bytes of one of these. A string of all used bytes may be appended to
// in place, so that a loop that builds a string does not copy it each time.
struct Text {
    char *bytes;
    std::uint32_t used;
    std::uint32_t capacity; // 0: the bytes belong to another owner
};

inline std::string_view Value::view() const noexcept { return {text->bytes, size}; }

struct Array {
    Elements elements = Elements::any;
    std::uint32_t size = 0;
    Value *items = nullptr;

    std::span<Value> values() const noexcept { return {items, size}; }
};

// Members in the order in which they were put. A map of more than eight finds them by a hash index.
struct Map {
    struct Member {
        Value key;
        Value value;
    };
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
    std::uint32_t slots = 0; // of the index, a power of two
    Member *members = nullptr;
    std::uint32_t *index = nullptr; // place of the member plus 1; 0: empty

    std::span<Member> all() const noexcept { return {members, size}; }
    Value *find(std::string_view key) const noexcept;
    void put(Heap &heap, const Value &key, const Value &value);

private:
    void grow(Heap &heap);
    void enter(std::uint32_t place) noexcept;
};

struct Date {
    std::int64_t millis; // since 1970 in UTC
    const Zone *zone;
};

struct Formatter {
    std::string_view pattern;
    const Zone *zone; // null: that of the date
};

enum class Field : std::uint8_t {
    year,
    month,
    week_year,
    week,
    day_of_year,
    day_of_month,
    day_of_week,
    hour,
    minute_of_day,
    minute,
    second_of_day,
    second,
    milli_of_day,
    milli,
};

struct Property {
    Date date;
    Field field;
};

inline constexpr std::int64_t k_max_string = 100'000'000;

// A string with a copy of the bytes; one that refers to bytes that stay valid; and one with bytes appended.
Value make_string(Heap &heap, std::string_view bytes);
Value wrap_string(Heap &heap, std::string_view bytes);
Value append(Heap &heap, const Value &front, std::string_view back);

Array *make_array(Heap &heap, Elements elements, std::size_t size);
inline Map *make_map(Heap &heap) { return heap.make(Map{}); }

// Its name in messages: STRING, LONG_ARRAY, …
std::string_view type_name(const Value &value) noexcept;
std::string_view array_name(Elements elements) noexcept;
// The kind of array for values of this type; any if there is no typed one.
Elements elements_of(Type type) noexcept;
// Gives an array the narrowest type of its elements. Longs among doubles become doubles.
void settle_elements(Array &array) noexcept;

[[noreturn]] void fail(FaultKind kind, std::string message);

} // namespace scylla::model::sel
