// Compressed bodies of answers.
#pragma once

#include <string>
#include <string_view>

namespace scylla::cli::console {

enum class effort { least, most };

[[nodiscard]] std::string gzip(std::string_view text, effort how_much);

// Whether a browser that sends this header Accept-Encoding reads gzip.
[[nodiscard]] bool takes_gzip(std::string_view accepted);

} // namespace scylla::cli::console
