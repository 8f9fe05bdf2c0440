#include "server/run_timer.h"

extern "C" {
#include "utils/timeout.h"
#include <signal.h>
}

namespace scylla::handlers {

namespace {

constinit TimeoutId timer = MAX_TIMEOUTS; // not registered yet
volatile sig_atomic_t is_over = 0;

extern "C" void on_end_of_run() {
    is_over = 1;
    InterruptPending = 1;
    QueryCancelPending = 1;
    SetLatch(MyLatch);
}

} // namespace

void start_run_timer(TimestampTz end) {
    is_over = 0;
    if (end == DT_NOEND)
        return;
    if (timer == MAX_TIMEOUTS)
        timer = RegisterTimeout(USER_TIMEOUT, on_end_of_run);
    enable_timeout_at(timer, end);
}

bool stop_run_timer() {
    if (timer != MAX_TIMEOUTS)
        disable_timeout(timer, false);
    if (is_over != 0)
        QueryCancelPending = 0; // perhaps nothing has reacted to it
    return is_over != 0;
}

} // namespace scylla::handlers
