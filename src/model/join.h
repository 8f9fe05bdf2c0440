// Which signals make a set: one for each input of a trigger, no signal twice, the oldest first.
//
// A signal may fit several inputs. So this is a matching of inputs with signals, found by augmenting paths (H. W. Kuhn:
// The Hungarian Method for the Assignment Problem, 1955). Each input tries its signals from the oldest on, so where no
// signal fits two inputs each gets its oldest. The oldest `inputs` signals of each input suffice: the others can take
// all of these but one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace scylla::model {

inline constexpr std::size_t k_max_inputs = 16;

struct JoinCandidate {
    std::size_t input; // from 0
    std::int64_t seq;
};

// By input. 0: none.
using JoinedSet = std::array<std::int64_t, k_max_inputs>;

namespace join_detail {

struct Search {
    std::span<const JoinCandidate> candidates;
    JoinedSet taken{};                                             // by input
    std::array<std::int64_t, k_max_inputs * k_max_inputs> tried{}; // signals, on the present path
    std::size_t tried_count = 0;

    std::optional<std::size_t> input_of(std::int64_t seq) const {
        for (std::size_t i = 0; i < taken.size(); i++)
            if (taken[i] == seq)
                return i;
        return std::nullopt;
    }
    bool try_once(std::int64_t seq) {
        for (std::size_t i = 0; i < tried_count; i++)
            if (tried[i] == seq)
                return false;
        if (tried_count == tried.size())
            return false;
        tried[tried_count++] = seq;
        return true;
    }
    // Gives the input a signal; the input that has that signal gets another.
    bool assign(std::size_t input) {
        for (const JoinCandidate &candidate : candidates) {
            if (candidate.input != input || !try_once(candidate.seq))
                continue;
            const auto holder = input_of(candidate.seq);
            if (holder && !assign(*holder))
                continue;
            taken[input] = candidate.seq;
            return true;
        }
        return false;
    }
};

} // namespace join_detail

// The candidates of an input are sorted, and as many as there are inputs, at most. Nothing: there is no set.
inline std::optional<JoinedSet> join(std::span<const JoinCandidate> candidates, std::size_t inputs) {
    join_detail::Search search{.candidates = candidates};
    for (std::size_t input = 0; input < inputs; input++) {
        search.tried_count = 0;
        if (!search.assign(input))
            return std::nullopt;
    }
    return search.taken;
}

} // namespace scylla::model
