// Hints for calls of our functions that the server refuses before we see them: a text where an argument is JSON, and a
// duration where it is a time.
#pragma once

namespace scylla {

// When the library is loaded.
void install_call_hints();

} // namespace scylla
