// The statements that go through SPI: those that must not fail on an existing row or wait for a locked one, and are not
// hot.
#pragma once

#include "pg/identity.h"
#include "store/table.h"

namespace scylla::store {

// Runs saved plans as the owner of the tables. The caller's identity comes back at the end, or by abort processing.
class AsOwner {
public:
    void begin() {
        caller_ = become(tables_owner());
        SPI_connect();
    }
    void end() const {
        SPI_finish();
        restore(caller_);
    }

private:
    Identity caller_;
};

// Calls functions of the extension as a role, which what it stored is to be done for. By SQL, so that EXECUTE on them
// is asked of that role. The identity comes back at the end, or by abort processing.
class AsRole {
public:
    void begin(Oid role) {
        // What is done for a role is stored as the owner of the tables, which is who becomes the role.
        compat::require_can_become(tables_owner(), role);
        // What it calls may leave nothing behind that would run later, as another role.
        caller_ = become(role, SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
        (void)LookupExplicitNamespace("scylla", false); // 42501 without USAGE: a saved statement does not ask any more
        SPI_connect();
    }
    void end() const {
        SPI_finish();
        restore(caller_);
    }

private:
    Identity caller_;
};

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
