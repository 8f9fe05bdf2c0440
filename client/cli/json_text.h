// JSON as text: what the server's jsonb accepts, and how to write a string.
#pragma once

#include <string>
#include <string_view>

namespace scylla::cli {

// Whether the text is one JSON value that can be stored as jsonb. A little stricter than the server: nesting up to 500,
// numbers up to a thousand digits and exponents up to 999, so that no limit of the server is ever reached.
[[nodiscard]] bool is_jsonb(std::string_view text) noexcept;

// The text as UTF-8 that the server accepts: invalid bytes and NUL become U+FFFD.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

// The text as a JSON string, with quotes.
[[nodiscard]] std::string quote(std::string_view bytes);

} // namespace scylla::cli
