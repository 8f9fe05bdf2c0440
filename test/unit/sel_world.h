// A world for expressions in tests: a clock that stands still, random numbers that are none, and zones that put
// their clocks forward and back in 2026 as the real ones do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/sel/context.h"
#include "model/sel/sel.h"

class TestWorld : public scylla::model::sel::World {
public:
    std::int64_t now = 1'780'000'000'000; // 2026-05-28T20:26:40Z
    std::int64_t steady = 0;
    std::int64_t steady_step = 0; // by which each look moves it
    std::uint64_t bits = 0x0123456789abcdef;
    int looks_until_stop = -1;
    int pieces = -1; // that may begin before it is late; -1: any number

    std::int64_t now_millis() noexcept override { return now; }
    std::int64_t steady_millis() noexcept override { return steady += steady_step; }
    std::uint64_t random() noexcept override { return bits; }
    bool stop() noexcept override { return looks_until_stop >= 0 && looks_until_stop-- == 0; }
    bool is_late() noexcept override { return pieces == 0; }
    bool may_begin() noexcept override {
        if (pieces == 0)
            return false;
        pieces -= pieces > 0 ? 1 : 0;
        return true;
    }
    const void *find_zone(std::string_view name) noexcept override {
        for (const Zone &zone : k_zones) {
            if (zone.name == name)
                return &zone;
        }
        return nullptr;
    }
    std::int32_t zone_offset(const void *zone, std::int64_t moment) noexcept override {
        const auto *known = static_cast<const Zone *>(zone);
        return moment >= known->begins && moment < known->ends ? known->summer : known->winter;
    }

private:
    struct Zone {
        std::string_view name;
        std::int32_t winter;
        std::int32_t summer;
        std::int64_t begins;
        std::int64_t ends;
    };
    static constexpr Zone k_zones[] = {{"Europe/Berlin", 3'600, 7'200, 1'774'746'000, 1'792'890'000},
                                       {"US/Pacific", -28'800, -25'200, 1'772'964'000, 1'793'523'600},
                                       {"America/Los_Angeles", -28'800, -25'200, 1'772'964'000, 1'793'523'600}};
};

// The value as JSON, or what is wrong as "line:column: message".
inline std::string to_text(scylla::model::sel::Outcome outcome) {
    using scylla::model::sel::OutcomeKind;
    std::string text(outcome.text);
    if (outcome.kind != OutcomeKind::value) {
        const std::string place = std::to_string(outcome.line) + ":" + std::to_string(outcome.column) + ": ";
        text.insert(0, outcome.line == 0 ? "" : place);
    }
    scylla::model::sel::release(outcome);
    return text;
}

inline std::string eval(std::string_view expression, std::string_view params = "{}",
                        const scylla::model::sel::Limits &limits = {}) {
    TestWorld world;
    return to_text(scylla::model::sel::evaluate_json(expression, params, world, limits));
}

inline std::string fill_in(std::string_view text, std::string_view params = "{}",
                           const scylla::model::sel::Limits &limits = {}) {
    TestWorld world;
    return to_text(scylla::model::sel::interpolate_json(text, params, world, limits));
}
