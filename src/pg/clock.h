// Elapsed time. GetCurrentTimestamp() is the time of day; that clock may be set, so the length of waits must not depend
// on it.
#pragma once

#include "pg/prelude.h"

extern "C" {
#include "portability/instr_time.h"
#include <time.h>
}

namespace scylla {

// Microseconds since some moment: they only ever rise, and as fast as time passes.
inline int64 steady_now() noexcept {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    return static_cast<int64>(INSTR_TIME_GET_MICROSEC(now));
}

// Microseconds of processor time that this process has used. Time that it waits, for a lock or a disk, does not count.
inline int64 processor_time() noexcept {
    timespec used{};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return int64{used.tv_sec} * USECS_PER_SEC + used.tv_nsec / 1000;
}

} // namespace scylla
