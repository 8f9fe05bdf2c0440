// The files of the pages, which are part of the program: CMake makes assets.cpp from web/.
#pragma once

#include <string_view>
#include <vector>

namespace scylla::cli::console {

struct asset {
    std::string_view path; // "/app.js"
    std::string_view type;
    std::string_view content;
    std::string_view tag; // of this content
};

[[nodiscard]] const std::vector<asset> &assets();

} // namespace scylla::cli::console
