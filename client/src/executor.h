// Runs the statements of a client.
#ifndef SCYLLA_SRC_EXECUTOR_H
#define SCYLLA_SRC_EXECUTOR_H

#include <memory>

#include <scylla/client.h>

#include "compat.h"
#include "statements.h"

namespace scylla::detail {

class executor {
public:
    executor() = default;
    virtual ~executor() = default;
    executor(const executor &) = delete;
    executor &operator=(const executor &) = delete;

    // @throw error nothing else except std::bad_alloc
    virtual pqxx::result run(const statement &call, const params &values) = 0;
};

// Converts the exception of libpqxx in progress to ours. If the texts of errors are not verbose, the rule is the one
// that the statement is known to break.
[[noreturn]] void rethrow(const char *rule_of_55000, bool verbose);

template <class F> auto translated(const statement &call, bool verbose, F function) -> decltype(function()) {
    try {
        return function();
    } catch (...) {
        rethrow(call.rule_of_55000, verbose);
    }
}

} // namespace scylla::detail

#endif
