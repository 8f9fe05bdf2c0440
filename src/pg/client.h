// The connection to the client. The server's own header for it needs headers of libraries (GSSAPI) that a build of an
// extension may lack, so what we use of it is declared here.
#pragma once

#include "pg/prelude.h"

extern "C" bool pq_check_connection(void);

namespace scylla {

// False: the client has gone. A backend without a client (a background worker) is never without it.
inline bool client_is_there() { return MyProcPort == nullptr || pq_check_connection(); }

} // namespace scylla
