#include "model/sel/lexer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

// Longer ones first. Those that the language does not have are read too, so that the error names them.
constexpr auto k_signs = std::to_array<std::string_view>(
    {">>>=", "<<=", ">>=", ">>>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=",
     "|=",   "^=",  "++",  "--",  "->", "::", "<<", ">>", "(",  ")",  "{",  "}",  "[",  "]",  ";",  ",",
     ".",    "=",   ">",   "<",   "!",  "?",  ":",  "+",  "-",  "*",  "/",  "%",  "~",  "&",  "|"});

bool is_hex(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool begins_word(char c) noexcept {
    return is_letter(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

std::string_view before(std::string_view digits, std::string_view suffixes) noexcept {
    if (!digits.empty() && suffixes.find(digits.back()) != std::string_view::npos)
        digits.remove_suffix(1);
    return digits;
}

} // namespace

void fail_at(Position place, std::string message, FaultKind kind) { throw Failure{{kind, place, std::move(message)}}; }

void Lexer::advance(std::size_t bytes) noexcept {
    for (const std::size_t end = at_ + bytes; at_ < end; at_++) {
        if (text_[at_] == '\n')
            place_ = {place_.line + 1, 1};
        else if (!is_continuation(text_[at_]))
            place_.column++;
    }
}

void Lexer::skip_comment() {
    const Position start = place_;
    if (at("//")) {
        const std::size_t end = text_.find('\n', at_);
        advance((end == std::string_view::npos ? text_.size() : end) - at_);
        return;
    }
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos)
        fail_at(start, "a comment is not closed");
    advance(end + 2 - at_);
}

void Lexer::skip_blanks() {
    while (at_ < text_.size()) {
        if (is_blank(peek()))
            advance(1);
        else if (at("//") || at("/*"))
            skip_comment();
        else
            return;
    }
}

void Lexer::read_integer(Token &token, std::size_t size) {
    std::string_view digits = before(text_.substr(at_, size), "lL");
    int base = 10; // also after a 0, as in 010 for an hour
    if (digits.size() > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        base = 16;
        digits.remove_prefix(2);
    }
    token.kind = TokenKind::long_;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.number, base);
    if (error == std::errc::result_out_of_range)
        fail_at(token.place, "the number " + std::string(token.text) + " does not fit into 64 bits");
    if (error != std::errc{} || end != digits.data() + digits.size())
        fail_at(token.place, "\"" + std::string(token.text) + "\" is not a number");
}

void Lexer::read_real(Token &token, std::size_t size) {
    const std::string_view digits = before(text_.substr(at_, size), "fFdD");
    token.kind = TokenKind::double_;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.real);
    if (error == std::errc::result_out_of_range)
        fail_at(token.place, "the number " + std::string(token.text) + " is out of range");
    if (error != std::errc{} || end != digits.data() + digits.size())
        fail_at(token.place, "\"" + std::string(token.text) + "\" is not a number");
}

void Lexer::read_number(Token &token) {
    std::size_t size = 0;
    bool real = false;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
        size = 2;
        while (is_hex(peek(size)))
            size++;
    } else {
        while (is_digit(peek(size)))
            size++;
        if (peek(size) == '.') {
            real = true;
            size++;
            while (is_digit(peek(size)))
                size++;
        }
        if (peek(size) == 'e' || peek(size) == 'E') {
            real = true;
            size += peek(size + 1) == '+' || peek(size + 1) == '-' ? 2 : 1;
            while (is_digit(peek(size)))
                size++;
        }
    }
    while (begins_word(peek(size)) || is_digit(peek(size))) { // a suffix, or an invalid one
        real = real || std::string_view("fFdD").find(peek(size)) != std::string_view::npos;
        size++;
    }
    token.text = text_.substr(at_, size);
    const bool hex = token.text.size() > 1 && (token.text[1] == 'x' || token.text[1] == 'X');
    real && !hex ? read_real(token, size) : read_integer(token, size);
    advance(size);
}

// As in Java: \uXXXX, where a pair of surrogates stands for one character.
void Lexer::read_unicode(std::string &into) {
    const auto unit = [this]() -> char32_t {
        std::uint32_t code = 0;
        const char *from = text_.data() + at_ + 2;
        if (at_ + 6 > text_.size() || std::from_chars(from, from + 4, code, 16).ptr != from + 4)
            fail_at(place_, "\\u must be followed by four hexadecimal digits");
        advance(6);
        return code;
    };
    const Position start = place_;
    char32_t code = unit();
    if (code >= 0xD800 && code < 0xDC00 && at("\\u")) {
        const char32_t low = unit();
        if (low < 0xDC00 || low > 0xDFFF)
            fail_at(start, "a surrogate must be followed by its other half");
        code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    if (code == 0 || (code >= 0xD800 && code < 0xE000))
        fail_at(start, "this is not a character");
    append_char(into, code);
}

void Lexer::read_escape(std::string &into) {
    constexpr std::string_view k_written = "btnfr\\'\"";
    constexpr std::string_view k_meant = "\b\t\n\f\r\\'\"";
    const char c = peek(1);
    if (c == 'u')
        return read_unicode(into);
    if (c >= '0' && c <= '7') { // octal: up to three digits, at most 377
        std::size_t size = 1;
        int code = 0;
        while (size <= (c <= '3' ? 3U : 2U) && peek(size) >= '0' && peek(size) <= '7')
            code = code * 8 + (peek(size++) - '0');
        if (code == 0)
            fail_at(place_, "this is not a character");
        append_char(into, static_cast<char32_t>(code));
        return advance(size);
    }
    const std::size_t known = c == '\0' ? std::string_view::npos : k_written.find(c);
    if (known == std::string_view::npos)
        fail_at(place_, "there is no such escape in a string");
    into += k_meant[known];
    advance(2);
}

void Lexer::read_string(Token &token) {
    const char quote = peek();
    const std::size_t start = at_;
    token.kind = TokenKind::string;
    advance(1);
    while (peek() != quote) {
        if (at_ >= text_.size() || peek() == '\n' || peek() == '\r')
            fail_at(token.place, "a string is not closed");
        if (peek() == '\\') {
            read_escape(token.string);
            continue;
        }
        const std::size_t size = char_size(text_, at_);
        token.string += text_.substr(at_, size);
        advance(size);
    }
    advance(1);
    token.text = text_.substr(start, at_ - start);
}

void Lexer::read_sign(Token &token) {
    for (const std::string_view sign : k_signs) {
        if (at(sign)) {
            token.kind = TokenKind::sign;
            token.text = sign;
            return advance(sign.size());
        }
    }
    fail_at(place_, "\"" + std::string(text_.substr(at_, char_size(text_, at_))) + "\" is not part of the language");
}

Token Lexer::next() {
    skip_blanks();
    Token token;
    token.place = place_;
    if (at_ >= text_.size())
        return token;
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
        read_number(token);
    } else if (c == '"' || c == '\'') {
        read_string(token);
    } else if (begins_word(c)) {
        std::size_t size = 1;
        while (begins_word(peek(size)) || is_digit(peek(size)))
            size++;
        token.kind = TokenKind::word;
        token.text = text_.substr(at_, size);
        advance(size);
    } else {
        read_sign(token);
    }
    return token;
}

} // namespace scylla::model::sel
