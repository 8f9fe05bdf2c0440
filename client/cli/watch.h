// The common part of the commands that watch (watch.cpp).
#pragma once

#include <chrono>

#include "commands.h"

namespace scylla::cli {

// The contents of each round.
class watched {
public:
    watched() = default;
    virtual ~watched() = default;
    watched(const watched &) = delete;
    watched &operator=(const watched &) = delete;

    virtual rows first() = 0; // if not on a terminal, only this is shown; no cell is null
    virtual rows second() = 0;
    virtual std::string json() = 0;
};

// @param count of rounds; 0: endless
void watch_again(const context &given, session &server, watched &what, std::chrono::milliseconds interval,
                 unsigned count);

} // namespace scylla::cli
