// Which versions of the extension's objects a library supports: those whose first two numbers equal its own. The third
// may differ: such versions change neither tables nor what the library finds in them.
#pragma once

#include <compare>
#include <string_view>

namespace scylla::model {

struct Release {
    int major;
    int minor;
    // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler makes of it compares with 0
    friend constexpr auto operator<=>(const Release &, const Release &) = default;
};

// The first two numbers of "1.2", "1.2.3" or "1.2-rc1". What is missing, or no number, counts as 0.
constexpr Release release_of(std::string_view version) noexcept {
    constexpr int k_most = 1'000'000;
    const auto take_number = [&version] {
        int number = 0;
        while (!version.empty() && version.front() >= '0' && version.front() <= '9') {
            number = number < k_most ? number * 10 + (version.front() - '0') : k_most;
            version.remove_prefix(1);
        }
        return number;
    };
    const int major = take_number();
    if (!version.empty() && version.front() == '.')
        version.remove_prefix(1);
    else
        version = {};
    return {major, take_number()};
}

} // namespace scylla::model
