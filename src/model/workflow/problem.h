// The problems of a document, with their places.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scylla::model::workflow {

// A place in a document, as a chain to its root that lives on the stack: steps[3].foreach.steps[0].id
class Where {
public:
    Where() = default;

    Where member(std::string_view name) const noexcept { return {this, name, 0}; }
    Where element(std::size_t index) const noexcept { return {this, {}, index}; }
    std::string text() const;

private:
    Where(const Where *parent, std::string_view name, std::size_t index) noexcept
        : parent_{parent}, name_{name}, index_{index} {}

    const Where *parent_ = nullptr; // null: the root
    std::string_view name_{};       // of a member; without one it is an element
    std::size_t index_ = 0;
};

struct Problem {
    std::string where;
    std::string what;
};

// The first k_most problems: a document may have one in each of its lines.
class Problems {
public:
    static constexpr std::size_t k_most = 100;

    void add(const Where &where, std::string what) { add(where.text(), std::move(what)); }
    void add(std::string where, std::string what) {
        if (found_.size() < k_most)
            found_.push_back({std::move(where), std::move(what)});
    }
    const std::vector<Problem> &found() const noexcept { return found_; }

private:
    std::vector<Problem> found_{};
};

} // namespace scylla::model::workflow
