// What is computed from numbers that callers give: lengths of intervals, delays, pauses, histograms, names.
#include "fuzz.h"

#include <limits>
#include <string_view>

#include "model/backoff.h"
#include "model/histogram.h"
#include "model/bounds.h"
#include "model/pace.h"
#include "model/uuid.h"

using namespace scylla::model;

namespace {

void interval_lengths(FuzzedDataProvider &input) {
    const auto months = input.ConsumeIntegral<std::int32_t>();
    const auto days = input.ConsumeIntegral<std::int32_t>();
    const auto micros = input.ConsumeIntegral<std::int64_t>();
    const auto length = interval_length(months, days, micros, 0, k_max_retention);
    if (!length)
        return;
    require(*length >= 0 && *length <= k_max_retention, "a length is within its bounds");
    // Days are few enough here for 64 bits, or the rest would have to make up for more than 64 bits hold.
    const std::int64_t all_days = std::int64_t{months} * 30 + days;
    require((*length - micros) / k_day == all_days && (*length - micros) % k_day == 0,
            "a length is the sum of its parts");
}

void delays(FuzzedDataProvider &input) {
    const Backoff backoff{input.ConsumeIntegralInRange<std::int64_t>(0, k_max_timeout),
                          input.ConsumeFloatingPointInRange<double>(1, k_max_factor),
                          input.ConsumeIntegralInRange<std::int64_t>(0, k_max_timeout)};
    const auto count = input.ConsumeIntegral<int>();
    const std::int64_t full = delay(backoff, count);
    require(full >= 0 && full <= backoff.max, "a delay is at most the longest");
    if (count < std::numeric_limits<int>::max())
        require(delay(backoff, count + 1) >= full, "delays do not become shorter");
    const RetryPolicy policy{backoff, input.ConsumeFloatingPointInRange<double>(0, 1)};
    const std::int64_t jittered = delay(policy, count, input.ConsumeFloatingPointInRange<double>(0, 0.9999));
    require(jittered >= 0 && jittered <= full, "jitter only shortens");
    require(static_cast<double>(jittered) >= static_cast<double>(full) * (1 - policy.jitter) - 1,
            "and by its share at most");
}

void pauses(FuzzedDataProvider &input) {
    const auto took = input.ConsumeIntegralInRange<std::int64_t>(0, k_day);
    const std::int64_t pause =
        pause_after(took, input.ConsumeIntegralInRange<std::int64_t>(0, 100'000), input.ConsumeIntegral<std::int64_t>(),
                    input.ConsumeIntegralInRange<std::int64_t>(0, 365 * k_day));
    require(pause >= 0 && pause <= 9 * took, "work in the background takes at least a tenth of the time");
}

void histograms(FuzzedDataProvider &input) {
    Histogram histogram{};
    std::int64_t total = 0;
    while (input.remaining_bytes() > 16) {
        const auto micros =
            input.ConsumeIntegralInRange<std::int64_t>(std::numeric_limits<std::int64_t>::min(), 1'000 * 365 * k_day);
        const std::size_t bucket = bucket_of(micros);
        require(bucket == k_buckets - 1 || micros <= bucket_bound(bucket), "a time is in a bucket that holds it");
        require(bucket == 0 || micros > bucket_bound(bucket - 1), "and in the first of these");
        histogram.add(micros);
        total++;
    }
    const double fraction = input.ConsumeFloatingPointInRange<double>(0, 1);
    const auto low = quantile(histogram.count, fraction / 2);
    const auto high = quantile(histogram.count, fraction);
    require(low.has_value() == (total > 0) && high.has_value() == (total > 0),
            "there are quantiles where there are times");
    if (low)
        require(0 <= *low && *low <= *high && *high <= static_cast<double>(bucket_bound(k_buckets - 1)),
                "quantiles rise");
}

void names(FuzzedDataProvider &input) {
    const auto first = input.ConsumeIntegralInRange<std::uint64_t>(0, (std::uint64_t{1} << 48) * 1000 - 2);
    std::array<std::uint8_t, 8> random{};
    for (auto &byte : random)
        byte = input.ConsumeIntegral<std::uint8_t>();
    const auto made = uuid_v7(first, random);
    const auto later = uuid_v7(first + 1, {});
    require(std::string_view(made.data(), 18) <= std::string_view(later.data(), 18), "names sort by their time");
    require(made[14] == '7' && std::string_view("89ab").find(made[19]) != std::string_view::npos,
            "a name says that it is a UUIDv7");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0:
        interval_lengths(input);
        break;
    case 1:
        delays(input);
        break;
    case 2:
        pauses(input);
        break;
    case 3:
        histograms(input);
        break;
    default:
        names(input);
    }
    return 0;
}
