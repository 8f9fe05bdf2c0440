// Durations in text: the grammar of the server, and what the command line makes of it.
#include "fuzz.h"

#include <string>

#include "duration.h"
#include "model/duration.h"
#include "session.h"

namespace {

using scylla::model::Duration;
using scylla::model::read_duration;

void check_sums(const std::string &text, const Duration &read) {
    require(read.months >= 0 && read.days >= 0 && read.micros >= 0, "a duration is not negative");
    require(read_duration(" " + text + "\t") == read, "blanks around it change nothing");
    require(!read_duration("-" + text) && !read_duration(text + " x"), "a sign, or another word behind it, is refused");
    const auto fixed = scylla::model::read_fixed_duration(text);
    require(fixed.has_value() == (read.months == 0), "its length is fixed if it has no months");
    require(!fixed || *fixed >= read.micros, "and includes the days");
    constexpr std::int64_t k_most = 1'000'000'000'000'000'000; // a number in text is less
    require(read.months >= k_most || read.days >= k_most ||
                read_duration(scylla::cli::to_interval("--delay", text)) == read,
            "what is sent to the server is the same duration");
}

template <typename Function> bool is_refused(Function function) {
    try {
        function();
        return false;
    } catch (const scylla::cli::usage_failure &problem) {
        require(std::string(problem.what()).find("--delay") != std::string::npos, "what is refused is named");
        return true;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace std::chrono_literals;
    const std::string text(reinterpret_cast<const char *>(data), size);
    const auto read = read_duration(text);
    if (read)
        check_sums(text, *read);
    require(is_refused([&] { (void)scylla::cli::to_interval("--delay", text); }) == !read,
            "the command line refuses what the server does");
    const auto fixed = scylla::model::read_fixed_duration(text);
    const bool fits = fixed && *fixed >= 1'000 && *fixed <= std::int64_t{20} * 86'400'000'000;
    require(is_refused([&] {
                require(scylla::cli::to_duration("--delay", text) == *fixed / 1'000 * 1ms, "and reads the same");
            }) == !fits,
            "and what is beyond its bounds");
    return 0;
}
