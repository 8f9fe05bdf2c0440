// JSON as text: what the server's jsonb takes, and how to write a string.
#pragma once

#include <string>
#include <string_view>

namespace scylla::cli {

// Whether the text is one JSON value that can be stored as jsonb. A little stricter than the server: nesting up to 500,
// numbers up to a thousand digits and exponents up to 999, so that no limit of the server is ever met.
[[nodiscard]] bool is_jsonb(std::string_view text) noexcept;

// The text as UTF-8 that the server accepts: what is no UTF-8 becomes U+FFFD, and NUL too.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

// The text as a JSON string, quotes and all.
[[nodiscard]] std::string quote(std::string_view bytes);

} // namespace scylla::cli
