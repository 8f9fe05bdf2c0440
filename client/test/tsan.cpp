// Suppressions of the thread sanitizer. libpqxx and the standard library are not built with it, so it does not see the
// atomic counters by which they know that a string is not shared any more, and takes its memory for shared.
extern "C" const char *__tsan_default_suppressions();

extern "C" const char *__tsan_default_suppressions() { return "called_from_lib:libpqxx\n"; }
