// Time zones in text, and the moments at which the clocks of a zone show a local time.
#include "fuzz.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

#include "model/zone.h"

namespace {

using scylla::model::moment_of;
using scylla::model::read_zone;

constexpr std::int64_t k_day = 86'400;

void check_text(const std::string &text) {
    const auto zone = read_zone(text);
    std::string other = text;
    std::transform(other.begin(), other.end(), other.begin(), [](unsigned char c) {
        return static_cast<char>(std::isupper(c) ? std::tolower(c) : std::toupper(c));
    });
    const auto same = read_zone(other);
    require(zone.has_value() == same.has_value() &&
                (!zone || (zone->is_offset == same->is_offset && zone->offset == same->offset)),
            "case does not matter");
    if (!zone)
        return;
    require(zone->name == text, "an error can show what was given");
    if (!zone->is_offset) {
        require(zone->offset == 0 &&
                    text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                           "/_+-") == std::string::npos,
                "a name has letters, digits, and what names of zones have");
        require(std::isalpha(static_cast<unsigned char>(text.front())) != 0, "and begins with a letter");
        return;
    }
    require(zone->offset > -k_day && zone->offset < k_day && zone->offset % 60 == 0,
            "an offset is less than a day, in minutes");
    const auto shown = read_zone(scylla::model::show_offset(zone->offset));
    require(shown && shown->is_offset && shown->offset == zone->offset, "an offset that is shown is read as the same");
}

// Clocks that are changed once.
void check_moment(FuzzedDataProvider &data) {
    constexpr std::int32_t k_most = 15 * 3'600;
    const std::int64_t change = data.ConsumeIntegralInRange<std::int64_t>(-(1LL << 40), 1LL << 40);
    const std::int64_t before = data.ConsumeIntegralInRange(-k_most, k_most);
    const std::int64_t after = data.ConsumeIntegralInRange(-k_most, k_most);
    const std::int64_t local = change + data.ConsumeIntegralInRange<std::int64_t>(-3 * k_day, 3 * k_day);
    const bool keeps = data.ConsumeBool();
    const auto kept = keeps ? std::optional(data.ConsumeBool() ? before : after) : std::nullopt;
    const auto offset_at = [&](std::int64_t moment) { return moment < change ? before : after; };

    const std::int64_t found = moment_of(local, offset_at, kept);
    const bool has_first = local - before < change;  // shown before the change
    const bool has_second = local - after >= change; // shown after it
    if (!has_first && !has_second) {
        require(found == local - before, "a local time that is skipped moves by as much as is skipped");
        return;
    }
    require(found + offset_at(found) == local, "the clocks show the local time at that moment");
    const bool second = kept && *kept == after && before != after && has_second;
    require(found == (has_first && !(second) ? local - before : local - after),
            "of two moments it is the first, unless the offset of the second is kept");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    check_text(std::string(reinterpret_cast<const char *>(data), size));
    FuzzedDataProvider provider(data, size);
    check_moment(provider);
    return 0;
}
