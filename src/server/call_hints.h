// Hints for calls of our functions that the server refuses before we see them: a text where an argument is JSON, a
// duration where it is a time, and a role that may not use them.
#pragma once

namespace scylla {

// When the library is loaded.
void install_call_hints();

} // namespace scylla
