#include "gzip.h"

#include <algorithm>
#include <new>

#include <zlib.h>

namespace scylla::cli::console {

namespace {

constexpr int k_gzip_window = 15 + 16; // the largest window; 16: a gzip header instead of zlib's
constexpr int k_memory_level = 8;      // zlib's default

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// "q=0", also with zeros after the point.
bool is_refusal(std::string_view parameter) {
    const std::string_view quality = trimmed(parameter);
    return quality.starts_with("q=0") && quality.find_first_not_of("0.", 2) == quality.npos;
}

} // namespace

std::string gzip(std::string_view text, effort how_much) {
    z_stream stream{};
    if (deflateInit2(&stream, how_much == effort::most ? Z_BEST_COMPRESSION : Z_BEST_SPEED, Z_DEFLATED, k_gzip_window,
                     k_memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc{};
    std::string compressed(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data())); // zlib does not write there
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef *>(compressed.data());
    stream.avail_out = static_cast<uInt>(compressed.size());
    deflate(&stream, Z_FINISH); // the bound is enough for all of it
    compressed.resize(stream.total_out);
    deflateEnd(&stream);
    return compressed;
}

bool takes_gzip(std::string_view accepted) {
    while (!accepted.empty()) {
        const std::string_view coding = accepted.substr(0, accepted.find(','));
        const auto end_of_name = coding.find(';');
        if (trimmed(coding.substr(0, end_of_name)) == "gzip")
            return end_of_name == coding.npos || !is_refusal(coding.substr(end_of_name + 1));
        accepted.remove_prefix(std::min(coding.size() + 1, accepted.size()));
    }
    return false;
}

} // namespace scylla::cli::console
