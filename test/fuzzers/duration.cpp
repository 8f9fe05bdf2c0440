// Times as somebody types them.
#include "fuzz.h"

#include <string>

#include "duration.h"
#include "session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace std::chrono_literals;
    const std::string text(reinterpret_cast<const char *>(data), size);
    try {
        const auto time = scylla::cli::to_duration("--timeout", text);
        require(time >= 1ms && time <= 20 * 24h, "a time is within its bounds");
        require(!text.empty() && std::string(" \t\n+").find(text.front()) == std::string::npos,
                "and begins with a number");
    } catch (const scylla::cli::usage_failure &problem) {
        require(std::string(problem.what()).find("--timeout") != std::string::npos, "what is refused is named");
    }
    return 0;
}
