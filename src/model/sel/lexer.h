// The tokens of an expression.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/sel/fault.h"

namespace scylla::model::sel {

enum class TokenKind : std::uint8_t { end, word, long_, double_, string, sign };

struct Token {
    TokenKind kind = TokenKind::end;
    Position place{};
    std::string_view text{}; // as in the expression
    std::string string{};    // of a string: its value
    std::int64_t number = 0;
    double real = 0;

    bool is(std::string_view sign_or_word) const noexcept {
        return (kind == TokenKind::sign || kind == TokenKind::word) && text == sign_or_word;
    }
};

class Lexer {
public:
    explicit Lexer(std::string_view text) noexcept : text_{text} {}
    // The next token; its text stays valid as long as the expression's.
    Token next();

private:
    void skip_blanks();
    void skip_comment();
    void advance(std::size_t bytes) noexcept;
    bool at(std::string_view expected) const noexcept { return text_.substr(at_).starts_with(expected); }
    char peek(std::size_t ahead = 0) const noexcept { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    void read_number(Token &token);
    void read_integer(Token &token, std::size_t size);
    void read_real(Token &token, std::size_t size);
    void read_string(Token &token);
    void read_escape(std::string &into);
    void read_unicode(std::string &into);
    void read_sign(Token &token);

    std::string_view text_;
    std::size_t at_ = 0;
    Position place_{1, 1};
};

[[noreturn]] void fail_at(Position place, std::string message, FaultKind kind = FaultKind::syntax);

} // namespace scylla::model::sel
