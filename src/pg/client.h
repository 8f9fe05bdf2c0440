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

} // namespace scylla
