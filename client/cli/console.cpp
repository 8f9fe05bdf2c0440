// The command console in a program that was built without it.
#include "console.h"

#ifndef SCYLLA_CONSOLE
namespace scylla::cli {

int serve_console(const context &, const console_options &) {
    throw failure{"this program was built without the console", {}, "Build it with -DSCYLLA_CONSOLE=ON."};
}

} // namespace scylla::cli
#endif
