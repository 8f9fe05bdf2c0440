// The connection to the client.
#pragma once

#include "pg/prelude.h"

// The server's header declares its struct Port with types of GSSAPI and OpenSSL if the server was built with them, and
// the headers of these libraries may be missing where an extension is built. Nothing here looks into a Port, so it is
// declared without them.
#pragma push_macro("ENABLE_GSS")
#pragma push_macro("USE_OPENSSL")
#pragma push_macro("USE_SSL")
#undef ENABLE_GSS
#undef USE_OPENSSL
#undef USE_SSL
extern "C" {
#include "libpq/libpq.h"
}
#pragma pop_macro("USE_SSL")
#pragma pop_macro("USE_OPENSSL")
#pragma pop_macro("ENABLE_GSS")

namespace scylla {

// False: the client has gone. A process that never had a client (a background worker) counts as connected.
inline bool client_is_there() { return MyProcPort == nullptr || pq_check_connection(); }

// Sleeps until the latch is set, the time is over, or the client has gone, where the system tells of that. The caller
// resets the latch. True: the client has gone.
inline bool sleep_beside_client(long milliseconds) {
    if (MyProcPort == nullptr || !WaitEventSetCanReportClosed()) {
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
        return false;
    }
    // The set with which the server waits for its client; whoever waits for that says each time what for.
    ModifyWaitEvent(FeBeWaitSet, FeBeWaitSetSocketPos, WL_SOCKET_CLOSED, nullptr);
    WaitEvent event{};
    const int count = WaitEventSetWait(FeBeWaitSet, milliseconds, &event, 1, PG_WAIT_EXTENSION);
    if (count > 0 && (event.events & WL_POSTMASTER_DEATH) != 0)
        proc_exit(1);
    return count > 0 && (event.events & WL_SOCKET_CLOSED) != 0;
}

} // namespace scylla
