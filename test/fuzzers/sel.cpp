// The expression language: any text is parsed and evaluated to an end within the limits, twice alike, and its result is
// JSON.
#include "fuzz.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "model/sel/sel.h"
#include "../unit/sel_world.h"

using namespace scylla::model::sel;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const std::string params = R"({"a": 3, "s": "text", "d": 1.5, "t": true, "n": null, "l": [1, 2], "m": {"k": "v"}})";
    const Limits limits{.steps = 100'000, .memory = 10'000'000, .output = 100'000};
    const auto evaluated = [&](auto evaluate) {
        TestWorld world;
        Outcome outcome = evaluate(text, params, world, limits);
        require(outcome.kind != OutcomeKind::stopped, "nobody stopped it");
        const bool value = outcome.kind == OutcomeKind::value;
        require(value || !outcome.text.empty(), "a fault is described");
        require(outcome.line >= 0 && outcome.column >= 0 && (outcome.line == 0) == (outcome.column == 0),
                "a place is a line and a column");
        require(!value || outcome.text.size() <= 400'000, "the result is within its limit");
        std::string result = std::to_string(static_cast<int>(outcome.kind)) + std::string(outcome.text);
        release(outcome);
        return result;
    };
    const std::string value = evaluated(evaluate_json);
    require(value == evaluated(evaluate_json), "the same expression has the same value");
    bool plain = true; // bytes that are no UTF-8 go through as they are
    for (const char c : text)
        plain = plain && static_cast<unsigned char>(c) < 0x80;
    if (value[0] == '0' && plain)
        require(nlohmann::json::accept(value.substr(1)), "the result is JSON");
    evaluated(interpolate_json);
    return 0;
}
