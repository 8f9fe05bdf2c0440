#include "model/sel/json.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "model/sel/dates.h"
#include "model/sel/library.h"
#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

class JsonReader {
public:
    JsonReader(Context &context, std::string_view text) : context_{context}, text_{text} {}

    Value read() {
        const Value value = read_value();
        skip_blanks();
        if (at_ != text_.size())
            malformed();
        return value;
    }

private:
    [[noreturn]] static void malformed() { fail(FaultKind::value, "the parameters are not JSON"); }
    char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_blanks() noexcept {
        while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')
            at_++;
    }
    bool take_if(std::string_view wanted) noexcept {
        if (!text_.substr(at_).starts_with(wanted))
            return false;
        at_ += wanted.size();
        return true;
    }
    void expect(std::string_view wanted) {
        skip_blanks();
        if (!take_if(wanted))
            malformed();
    }

    Value read_value() {
        if (++depth_ > context_.limits.depth)
            fail(FaultKind::limit, "the parameters are nested too deeply");
        skip_blanks();
        context_.work();
        const Value value = read_any();
        depth_--;
        return value;
    }
    Value read_any() {
        if (peek() == '"')
            return read_string();
        if (take_if("{"))
            return read_object();
        if (take_if("["))
            return read_array();
        if (take_if("true"))
            return Value::of(true);
        if (take_if("false"))
            return Value::of(false);
        if (take_if("null"))
            return {};
        return read_number();
    }
    Value read_number() {
        const std::size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
        const std::string_view digits = text_.substr(at_, end - at_);
        const char *const last = digits.data() + digits.size();
        std::int64_t whole = 0;
        double real = 0;
        at_ = end;
        if (const auto [stop, error] = std::from_chars(digits.data(), last, whole);
            error == std::errc{} && stop == last)
            return Value::of(whole);
        if (digits.empty() || !(digits[0] == '-' || (digits[0] >= '0' && digits[0] <= '9')))
            malformed();
        const auto [stop, error] = std::from_chars(digits.data(), last, real);
        if (error == std::errc::result_out_of_range && stop == last)
            fail(FaultKind::value, "a number of the parameters is out of range");
        if (error != std::errc{} || stop != last)
            malformed();
        return Value::of(real);
    }
    Value read_string() {
        at_++;
        const std::size_t start = at_;
        const std::size_t end = text_.find_first_of("\"\\", at_);
        if (end == std::string_view::npos)
            malformed();
        if (text_[end] == '"') { // the text of the parameters stays where it is
            at_ = end + 1;
            context_.work_on(end - start);
            return wrap_string(context_.heap, text_.substr(start, end - start));
        }
        std::string string;
        while (peek() != '"') {
            if (at_ >= text_.size())
                malformed();
            if (peek() == '\\')
                read_escape(string);
            else
                string += text_[at_++];
        }
        at_++;
        return new_string(context_, string);
    }
    void read_escape(std::string &into) {
        constexpr std::string_view k_written = "\"\\/bfnrt";
        constexpr std::string_view k_meant = "\"\\/\b\f\n\r\t";
        at_++;
        const char c = peek();
        if (c != 'u') {
            const std::size_t known = c == '\0' ? std::string_view::npos : k_written.find(c);
            if (known == std::string_view::npos)
                malformed();
            into += k_meant[known];
            at_++;
            return;
        }
        char32_t code = read_unit();
        if (code >= 0xD800 && code < 0xDC00 && take_if("\\")) {
            const char32_t low = read_unit();
            if (low < 0xDC00 || low > 0xDFFF)
                malformed();
            code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
        }
        if (code == 0 || (code >= 0xD800 && code < 0xE000))
            malformed();
        append_char(into, code);
    }
    char32_t read_unit() {
        std::uint32_t code = 0;
        if (at_ + 5 > text_.size() || text_[at_] != 'u')
            malformed();
        const char *from = text_.data() + at_ + 1;
        if (std::from_chars(from, from + 4, code, 16).ptr != from + 4)
            malformed();
        at_ += 5;
        return code;
    }
    Value read_object() {
        Map *map = make_map(context_.heap);
        skip_blanks();
        if (take_if("}"))
            return Value::of(map);
        do {
            skip_blanks();
            if (peek() != '"')
                malformed();
            const Value key = read_string();
            expect(":");
            map->put(context_.heap, key, read_value());
            skip_blanks();
        } while (take_if(","));
        expect("}");
        return Value::of(map);
    }
    Value read_array() {
        std::vector<Value> values;
        skip_blanks();
        if (!take_if("]")) {
            do {
                values.push_back(read_value());
                skip_blanks();
            } while (take_if(","));
            expect("]");
        }
        Array *array = make_array(context_.heap, Elements::any, values.size());
        std::copy(values.begin(), values.end(), array->items);
        settle_elements(*array);
        return Value::of(array);
    }

    Context &context_;
    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

class JsonWriter {
public:
    explicit JsonWriter(Context &context) : context_{context} {}

    std::string text() && { return std::move(text_); }
    void add(const Value &value, int depth = 0) {
        if (depth > context_.limits.depth)
            fail(FaultKind::limit, "the result is nested too deeply");
        context_.work();
        add_any(value, depth);
        // No character has more than four bytes.
        if (static_cast<std::int64_t>(text_.size()) > context_.limits.output * 4)
            too_long();
    }
    void check_size() const {
        if (static_cast<std::int64_t>(text_.size()) > context_.limits.output &&
            count_chars(text_) > context_.limits.output)
            too_long();
    }

private:
    [[noreturn]] void too_long() const {
        fail(FaultKind::limit, "the result is longer than " + std::to_string(context_.limits.output) + " characters");
    }
    void add_any(const Value &value, int depth) {
        switch (value.type) {
        case Type::string:
            return add_string(value.view());
        case Type::array:
            return add_array(*value.array, depth);
        case Type::map:
            return add_map(*value.map, depth);
        case Type::double_:
            return add_double(value.real);
        case Type::days:
            text_ += std::to_string(value.number);
            return;
        case Type::date:
        case Type::zone:
            return add_string(show(context_, value));
        case Type::null:
        case Type::long_:
        case Type::boolean:
            text_ += show(context_, value);
            return;
        case Type::none:
            fail(FaultKind::value, "the expression has no value");
        default:
            break;
        }
        fail(FaultKind::value, std::string(type_name(value)) + " cannot be the result");
    }
    void add_double(double value) {
        if (!std::isfinite(value))
            fail(FaultKind::value, show_double(value) + " cannot be the result");
        const std::string shown = show_double(value);
        text_ += shown;
    }
    void add_string(std::string_view string) {
        context_.work_on(string.size());
        if (static_cast<std::int64_t>(string.size()) > context_.limits.output * 4)
            too_long();
        text_ += '"';
        for (const char c : string) {
            if (c == '"' || c == '\\') {
                text_ += '\\';
                text_ += c;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                constexpr std::string_view k_digits = "0123456789abcdef";
                text_ += "\\u00";
                text_ += k_digits[static_cast<std::size_t>(c) >> 4U];
                text_ += k_digits[static_cast<std::size_t>(c) & 0xFU];
            } else {
                text_ += c;
            }
        }
        text_ += '"';
    }
    void add_array(const Array &array, int depth) {
        text_ += '[';
        for (const Value &item : array.values()) {
            if (&item != array.items)
                text_ += ',';
            add(item, depth + 1);
        }
        text_ += ']';
    }
    void add_map(const Map &map, int depth) {
        text_ += '{';
        for (const Map::Member &member : map.all()) {
            if (&member != map.members)
                text_ += ',';
            add_string(member.key.view());
            text_ += ':';
            add(member.value, depth + 1);
        }
        text_ += '}';
    }

    Context &context_;
    std::string text_{};
};

} // namespace

Value read_json(Context &context, std::string_view text) { return JsonReader(context, text).read(); }

std::string write_json(Context &context, const Value &value) {
    JsonWriter writer(context);
    writer.add(value);
    writer.check_size();
    return std::move(writer).text();
}

std::string write_text(Context &context, const Value &value) {
    const bool structure = value.type == Type::array || value.type == Type::map;
    return structure ? write_json(context, value) : show(context, value);
}

} // namespace scylla::model::sel
