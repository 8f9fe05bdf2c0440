// What the fuzzers share. Each file beside this one is a program of libFuzzer: it makes something of arbitrary bytes,
// lets our code work on it, and holds the result against what must be true of it. The sanitizers see to the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fuzzer/FuzzedDataProvider.h>

// Ends the program, for libFuzzer to keep the input, unless it holds.
inline void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}
