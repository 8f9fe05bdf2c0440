// Work that may fail without failing the transaction around it.
#pragma once

#include "pg/prelude.h"

namespace scylla {

enum class Keep : std::uint8_t { yes, no };

// Runs `work` in a subtransaction, and undoes it when it returns Keep::no or raises an error. Returns the error, in the
// caller's memory; null: none. The role comes back, too.
template <typename Work> ErrorData *attempt_any(Work work) {
    MemoryContext context = CurrentMemoryContext;
    ResourceOwner resources = CurrentResourceOwner;
    ErrorData *volatile error = nullptr;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(context);
    PG_TRY();
    {
        if (work() == Keep::yes)
            ReleaseCurrentSubTransaction();
        else
            RollbackAndReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = resources;
    return error;
}

// The same, where Keep::no always undoes it. A request to end the process or the query is no error of the work, and is
// raised again.
template <typename Work> ErrorData *attempt(Work work, Keep keep = Keep::yes) {
    ErrorData *error = attempt_any([&] {
        work();
        return keep;
    });
    if (error != nullptr && error->sqlerrcode == ERRCODE_QUERY_CANCELED)
        ReThrowError(error);
    return error;
}

} // namespace scylla
