// How long an expression takes that has been parsed before, with its parameters from JSON and its value to JSON. Prints
// microseconds: the median of nine rounds.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "model/sel/context.h"
#include "model/sel/sel.h"

namespace sel = scylla::model::sel;

namespace {

class World final : public sel::World {
public:
    std::int64_t now_millis() noexcept override { return 0; }
    std::int64_t steady_millis() noexcept override { return 0; }
    std::uint64_t random() noexcept override { return 0; }
    bool stop() noexcept override { return false; }
    const void *find_zone(std::string_view) noexcept override { return nullptr; }
    std::int32_t zone_offset(const void *, std::int64_t) noexcept override { return 0; }
};

// False: the value is not the expected one.
bool evaluate(World &world) {
    sel::Outcome outcome =
        sel::evaluate_json("a + b > 10 ? 'x' : params['y']", R"({"a": 4, "b": 5, "y": "z"})", world, {});
    const bool is_right = outcome.text == "\"z\"";
    sel::release(outcome);
    return is_right;
}

} // namespace

int main() {
    constexpr int times = 20'000;
    World world;
    std::array<double, 9> rounds{};
    for (double &round : rounds) {
        const auto begun = std::chrono::steady_clock::now();
        for (int i = 0; i < times; i++)
            if (!evaluate(world))
                return 1;
        round = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count() / times;
    }
    std::sort(rounds.begin(), rounds.end());
    std::printf("%.3f\n", rounds[rounds.size() / 2]);
}
