// What a misspelt name may have meant.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace scylla::model {

// The one that needs the fewest changes to become the other: letters that are added, left out, replaced, or exchanged
// with the next one: at most three, and not more than half of them. Of names that are equally near, the first.
class Nearest {
public:
    explicit Nearest(std::string_view typed) noexcept
        : typed_{typed}, least_{typed.size() < 2 ? 1 : std::clamp<std::size_t>(typed.size() / 2, 1, 3) + 1} {}

    void offer(std::string_view name) {
        if (typed_.size() > k_longest || name.size() > k_longest)
            return;
        if (const std::size_t changes = distance(name); changes < least_) {
            least_ = changes;
            best_ = name;
        }
    }
    // Empty: none is near. It refers to a name that was offered.
    std::string_view best() const noexcept { return best_; }

private:
    static constexpr std::size_t k_longest = 260; // an id, "__" and another id
    using Row = std::array<std::size_t, k_longest + 1>;

    // Damerau and Levenshtein's, where letters that were exchanged stay as they are.
    std::size_t distance(std::string_view name) const noexcept {
        std::array<Row, 3> rows;
        for (std::size_t i = 0; i <= typed_.size(); i++) {
            Row &row = rows[i % 3];
            const Row &above = rows[(i + 2) % 3];
            row[0] = i;
            for (std::size_t j = 1; j <= name.size(); j++) {
                if (i == 0) {
                    row[j] = j;
                    continue;
                }
                row[j] =
                    std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (typed_[i - 1] == name[j - 1] ? 0 : 1)});
                if (i > 1 && j > 1 && typed_[i - 1] == name[j - 2] && typed_[i - 2] == name[j - 1])
                    row[j] = std::min(row[j], rows[(i + 1) % 3][j - 2] + 1);
            }
        }
        return rows[typed_.size() % 3][name.size()];
    }

    std::string_view typed_;
    std::size_t least_;
    std::string_view best_{};
};

} // namespace scylla::model
