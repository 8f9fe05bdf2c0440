// Histories that are shortened: what is left out is counted, the first entries and the latest stay.
#include "fuzz.h"

#include <vector>

#include "model/bounded_log.h"

using namespace scylla::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    std::vector<int> log; // entries are numbered; the marker is -1
    int left_out = 0;
    int written = 0;
    while (input.remaining_bytes() > 0) {
        const int added = input.ConsumeIntegralInRange(1, k_log_max - k_log_head - 1);
        const auto entries = static_cast<int>(log.size());
        const LogTrim trim = trim_log(entries, left_out > 0, added);
        if (trim.trim) {
            require(trim.tail_from >= k_log_head && trim.tail_from <= entries, "the tail begins behind the head");
            require(trim.newly_left_out > 0, "something is left out");
            std::vector<int> kept(log.begin(), log.begin() + k_log_head);
            kept.push_back(-1);
            kept.insert(kept.end(), log.begin() + trim.tail_from, log.end());
            log = kept;
            left_out += trim.newly_left_out;
        }
        for (int i = 0; i < added; i++)
            log.push_back(written++);

        const auto length = static_cast<int>(log.size());
        require(length <= k_log_max, "a log has an end");
        require(length + left_out - (left_out > 0 ? 1 : 0) == written, "what is left out is counted");
        for (int i = 0; i < length; i++) {
            const int expected = left_out == 0 || i < k_log_head ? i : i == k_log_head ? -1 : written - length + i;
            require(log[static_cast<std::size_t>(i)] == expected,
                    "the first entries and the latest are there, in order");
        }
    }
    return 0;
}
