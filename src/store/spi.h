// The statements that go through SPI: those that must not fail on an existing row or wait for a locked one, and are not
// hot.
#pragma once

#include "pg/error.h"
#include "pg/identity.h"
#include "store/table.h"

namespace scylla::store {

// Does the work as the role, connected to SPI, and returns its result.
template <typename Work> auto act_with_spi(Oid role, int flags, Work work) {
    return act_as(
        role,
        [&] {
            SPI_connect();
            if constexpr (std::is_void_v<decltype(work())>) {
                work();
                SPI_finish();
            } else {
                const auto result = work();
                SPI_finish();
                return result;
            }
        },
        flags);
}

// Runs saved plans as the owner of the tables.
template <typename Work> auto act_as_owner(Work work) {
    return act_with_spi(tables_owner(), SECURITY_LOCAL_USERID_CHANGE, work);
}

// Calls functions of the extension as a role, which what it stored is to be done for. By SQL, so that EXECUTE on them
// is asked of that role.
template <typename Work> auto call_as(Oid role, Work work) {
    // What is done for a role is stored as the owner of the tables, which is who becomes the role.
    compat::require_can_become(tables_owner(), role);
    // What it calls may leave nothing behind that would run later, as another role.
    return act_with_spi(role, SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION, [&] {
        if (!compat::may_use_schema(get_namespace_oid("scylla", false),
                                    role)) // a saved statement does not ask any more
            error::no_usage(GetUserNameFromId(role, false));
        return work();
    });
}

// Makes the plan of a statement, once.
inline void prepare(SPIPlanPtr *plan, const char *sql, std::span<Oid> types) {
    if (*plan != nullptr)
        return;
    SPIPlanPtr prepared = SPI_prepare(sql, static_cast<int>(types.size()), types.data());
    if (prepared == nullptr)
        elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
    SPI_keepplan(prepared);
    *plan = prepared;
}

// Executes a statement, whose plan is kept. nulls: as for SPI_execute_plan(), null if there are none.
inline void run(SPIPlanPtr *plan, const char *sql, std::span<Oid> types, std::span<Datum> values, const char *nulls,
                int expected) {
    prepare(plan, sql, types);
    const int code = SPI_execute_plan(*plan, values.data(), nulls, false, 0);
    if (code != expected)
        elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
}

} // namespace scylla::store
