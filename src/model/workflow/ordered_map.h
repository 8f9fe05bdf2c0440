// A map that keeps the order in which its members were put.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace scylla::model::workflow {

template <typename T> class OrderedMap {
public:
    struct Member {
        std::string name;
        T value;
    };

    const T *find(std::string_view name) const {
        const auto found = places_.find(name);
        return found == places_.end() ? nullptr : &members_[found->second].value;
    }
    T *find(std::string_view name) { return const_cast<T *>(std::as_const(*this).find(name)); }
    // The place of a member; size() if there is none.
    std::size_t place_of(std::string_view name) const {
        const auto found = places_.find(name);
        return found == places_.end() ? size() : found->second;
    }

    // Replaces the value in its place, or appends.
    void put(std::string_view name, T value) {
        const std::size_t place = place_of(name);
        if (place < size()) {
            members_[place].value = std::move(value);
        } else {
            places_.emplace(name, place);
            members_.push_back(Member{std::string(name), std::move(value)});
        }
    }

    template <typename Condition> void remove_if(Condition condition) {
        std::erase_if(members_, [&](const Member &member) { return condition(member.value); });
        places_.clear();
        for (std::size_t place = 0; place < members_.size(); place++)
            places_.emplace(members_[place].name, place);
    }

    const Member &operator[](std::size_t place) const { return members_[place]; }
    std::size_t size() const noexcept { return members_.size(); }
    bool empty() const noexcept { return members_.empty(); }
    auto begin() noexcept { return members_.begin(); }
    auto end() noexcept { return members_.end(); }
    auto begin() const noexcept { return members_.begin(); }
    auto end() const noexcept { return members_.end(); }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
    };

    std::vector<Member> members_{};
    std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_{};
};

} // namespace scylla::model::workflow
