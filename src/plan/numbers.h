// What tasks wait for, in numbers, for monitoring.
#pragma once

#include "store/rows.h"

namespace scylla {

// A queue in the view scylla.stat_waiting: how many of its tasks wait for what.
struct WaitNumbers {
    int32 queue;
    int64 callbacks = 0;
    int64 checks = 0;
    int64 pools = 0;
    int64 signals = 0;
    int64 deferred = 0;
    int64 asked = 0; // checks that the queue is to answer
};
// Of all queues that have any, by number. The caller decides who may see which queue. Reads only conditions that have
// not ended, the gates on them, their tasks, and the lines of pools. But it reads all waiting tasks if that is faster.
std::span<const WaitNumbers> read_wait_numbers(store::Store &store);

} // namespace scylla
