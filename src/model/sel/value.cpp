#include "model/sel/value.h"

#include <cstdlib>
#include <functional>
#include <new>

namespace scylla::model::sel {

namespace {

constexpr std::size_t k_chunk = 64 * 1024;
constexpr std::uint32_t k_members_without_index = 8;

} // namespace

void fail(FaultKind kind, std::string message) { throw Failure{{kind, {}, std::move(message)}}; }

Heap::~Heap() {
    while (chunks_ != nullptr) {
        Chunk *next = chunks_->next;
        std::free(chunks_);
        chunks_ = next;
    }
}

void *Heap::take_from_new_chunk(std::size_t size) {
    const std::size_t room = std::max(size, k_chunk);
    auto *chunk = static_cast<Chunk *>(std::malloc(sizeof(Chunk) + room));
    if (chunk == nullptr)
        throw std::bad_alloc{};
    chunk->next = chunks_;
    chunks_ = chunk;
    char *start = reinterpret_cast<char *>(chunk + 1);
    if (size >= k_chunk) // the new chunk is full; the rest of the chunk before is used first
        return start;
    next_ = start + size;
    end_ = start + room;
    return start;
}

void Heap::too_much() { fail(FaultKind::limit, "the expression needs too much memory"); }

Value Value::of(Array *value) noexcept {
    Value made;
    made.type = Type::array;
    made.array = value;
    return made;
}
Value Value::of(Map *value) noexcept {
    Value made;
    made.type = Type::map;
    made.map = value;
    return made;
}
Value Value::of(const Zone *value) noexcept {
    Value made;
    made.type = Type::zone;
    made.zone = value;
    return made;
}
Value Value::of(const Date *value) noexcept {
    Value made;
    made.type = Type::date;
    made.date = value;
    return made;
}
Value Value::of(const Formatter *value) noexcept {
    Value made;
    made.type = Type::formatter;
    made.formatter = value;
    return made;
}
Value Value::of(const Property *value) noexcept {
    Value made;
    made.type = Type::property;
    made.property = value;
    return made;
}

namespace {

Value string_of(Text *text, std::size_t size) noexcept {
    Value made;
    made.type = Type::string;
    made.size = static_cast<std::uint32_t>(size);
    made.text = text;
    return made;
}

Value reserve_string(Heap &heap, std::size_t size, std::size_t capacity) {
    if (size > static_cast<std::size_t>(k_max_string))
        fail(FaultKind::limit, "a string is too long");
    auto *text = heap.make(Text{nullptr, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(capacity)});
    text->bytes = heap.allocate<char>(capacity);
    return string_of(text, size);
}

} // namespace

Value make_string(Heap &heap, std::string_view bytes) {
    const Value made = reserve_string(heap, bytes.size(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), made.text->bytes);
    return made;
}

Value wrap_string(Heap &heap, std::string_view bytes) {
    if (bytes.size() > static_cast<std::size_t>(k_max_string))
        fail(FaultKind::limit, "a string is too long");
    // Nothing writes to it: its capacity is 0.
    return string_of(heap.make(Text{const_cast<char *>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0}),
                     bytes.size());
}

Value append(Heap &heap, const Value &front, std::string_view back) {
    Text *text = front.text;
    const std::size_t size = front.size + back.size();
    if (text->used == front.size && size <= text->capacity) {
        std::memmove(text->bytes + front.size, back.data(), back.size());
        text->used = static_cast<std::uint32_t>(size);
        return string_of(text, size);
    }
    // No spare room the first time: most strings are appended to once.
    const bool again = text->capacity != 0;
    const Value made = reserve_string(heap, size, again ? size + size / 2 + 16 : size);
    std::memcpy(made.text->bytes, text->bytes, front.size);
    if (!back.empty())
        std::memcpy(made.text->bytes + front.size, back.data(), back.size());
    return made;
}

Array *make_array(Heap &heap, Elements elements, std::size_t size) {
    auto *array = heap.make(Array{elements, static_cast<std::uint32_t>(size), nullptr});
    array->items = heap.allocate<Value>(size);
    std::uninitialized_fill_n(array->items, size, Value{});
    return array;
}

Value *Map::find(std::string_view key) const noexcept {
    if (slots == 0) {
        for (Member &member : all()) {
            if (member.key.view() == key)
                return &member.value;
        }
        return nullptr;
    }
    for (std::size_t slot = std::hash<std::string_view>{}(key);; slot++) {
        const std::uint32_t place = index[slot & (slots - 1)];
        if (place == 0)
            return nullptr;
        if (members[place - 1].key.view() == key)
            return &members[place - 1].value;
    }
}

void Map::enter(std::uint32_t place) noexcept {
    std::size_t slot = std::hash<std::string_view>{}(members[place].key.view());
    while (index[slot & (slots - 1)] != 0)
        slot++;
    index[slot & (slots - 1)] = place + 1;
}

void Map::grow(Heap &heap) {
    const std::uint32_t room = capacity == 0 ? 4 : capacity * 2;
    auto *moved = heap.allocate<Member>(room);
    std::uninitialized_copy_n(members, size, moved);
    members = moved;
    capacity = room;
    if (room <= k_members_without_index)
        return;
    slots = room * 2;
    index = heap.allocate<std::uint32_t>(slots);
    std::fill_n(index, slots, 0U);
    for (std::uint32_t place = 0; place < size; place++)
        enter(place);
}

void Map::put(Heap &heap, const Value &key, const Value &value) {
    if (Value *there = find(key.view())) {
        *there = value;
        return;
    }
    if (size == capacity)
        grow(heap);
    new (members + size) Member{key, value};
    size++;
    if (slots != 0)
        enter(size - 1);
}

std::string_view array_name(Elements elements) noexcept {
    switch (elements) {
    case Elements::string:
        return "STRING_ARRAY";
    case Elements::long_:
        return "LONG_ARRAY";
    case Elements::double_:
        return "DOUBLE_ARRAY";
    case Elements::boolean:
        return "BOOLEAN_ARRAY";
    case Elements::any:
        break;
    }
    return "ARRAY";
}

std::string_view type_name(const Value &value) noexcept {
    switch (value.type) {
    case Type::null:
        return "NULL";
    case Type::string:
        return "STRING";
    case Type::long_:
        return "LONG";
    case Type::double_:
        return "DOUBLE";
    case Type::boolean:
        return "BOOLEAN";
    case Type::array:
        return array_name(value.array->elements);
    case Type::map:
        return "MAP";
    case Type::date:
        return "DATETIME";
    case Type::zone:
        return "DATETIME_ZONE";
    case Type::formatter:
        return "DATETIME_FORMATTER";
    case Type::property:
        return "DATETIME_PROPERTY";
    case Type::days:
        return "DATETIME_DAYS";
    case Type::params:
        return "PARAMS";
    case Type::class_:
        return "CLASS";
    case Type::none:
        break;
    }
    return "VOID";
}

Elements elements_of(Type type) noexcept {
    switch (type) {
    case Type::string:
        return Elements::string;
    case Type::long_:
        return Elements::long_;
    case Type::double_:
        return Elements::double_;
    case Type::boolean:
        return Elements::boolean;
    default:
        return Elements::any;
    }
}

void settle_elements(Array &array) noexcept {
    if (array.size == 0)
        return;
    Elements common = elements_of(array.items[0].type);
    for (const Value &item : array.values()) {
        const Elements own = elements_of(item.type);
        const bool numbers = (own == Elements::long_ && common == Elements::double_) ||
                             (own == Elements::double_ && common == Elements::long_);
        common = numbers ? Elements::double_ : own == common ? common : Elements::any;
        if (common == Elements::any)
            break;
    }
    array.elements = common;
    if (common != Elements::double_)
        return;
    for (Value &item : array.values()) {
        if (item.type == Type::long_)
            item = Value::of(static_cast<double>(item.number));
    }
}

} // namespace scylla::model::sel
