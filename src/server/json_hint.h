// A call with a text where an argument is JSON does not find the function, and the server's hint does not say what to
// do.
#pragma once

namespace scylla {

// When the library is loaded.
void install_json_hint();

} // namespace scylla
