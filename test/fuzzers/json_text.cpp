// The command line's look at JSON, against another parser.
#include "fuzz.h"

#include <string>

#include <nlohmann/json.hpp>

#include "json_text.h"

using namespace scylla::cli;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string text(reinterpret_cast<const char *>(data), size);
    const bool good = is_jsonb(text);
    const bool exponent =
        text.find_first_of("eE") != std::string::npos; // it may be too large for the other one's numbers
    // The other one passes over a byte order mark and ends at a zero byte, and jsonb has no zero.
    const bool differs = text.compare(0, 3, "\xef\xbb\xbf") == 0 || text.find('\0') != std::string::npos ||
                         text.find("\\u0000") != std::string::npos;
    if (!exponent && !differs && size < 300) // so that no limit of ours is met
        require(good == nlohmann::json::accept(text), "both find the same good");
    if (good) {
        require(is_jsonb(" " + text + "\n"), "blanks around a value mean nothing");
        require(to_utf8(text) == text, "what is good is UTF-8");
    }
    const std::string clean = to_utf8(text);
    require(to_utf8(clean) == clean, "what has been made UTF-8 stays as it is");
    const std::string quoted = quote(text);
    require(is_jsonb(quoted), "whatever is quoted is JSON");
    const auto parsed = nlohmann::json::parse(quoted, nullptr, false);
    require(parsed.is_string() && parsed.get<std::string>() == clean, "and comes back as it was, made UTF-8");
    return 0;
}
