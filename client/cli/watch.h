// What the commands that watch have in common (watch.cpp).
#pragma once

#include <chrono>

#include "commands.h"

namespace scylla::cli {

// What is shown in each round.
class watched {
public:
    watched() = default;
    virtual ~watched() = default;
    watched(const watched &) = delete;
    watched &operator=(const watched &) = delete;

    virtual rows first() = 0; // elsewhere than on a terminal, only this; no cell of it is null
    virtual rows second() = 0;
    virtual std::string json() = 0;
};

// @param count of rounds; 0: no end
void watch_again(const context &given, session &server, watched &what, std::chrono::milliseconds interval,
                 unsigned count);

} // namespace scylla::cli
