// Live checks, by what they ask (task/checks.h). A row is inserted with its task, and removed by the call that ends the
// task, or later if another transaction is joining the check.
#pragma once

#include "store/rows.h"

namespace scylla::store {

struct CheckRow {
    int64 id;
    bytea *digest;
    ItemPointerData tid;
};

CheckRow check_row(const Scan &scan);
int64 check_id(const Scan &scan);
std::optional<CheckRow> find_check(Store &store, int64 id);
Scan scan_checks_after(Store &store, int64 after); // ids larger than `after`, ascending

void insert(Store &store, const CheckRow &row);
// ok also if there is none. busy: another transaction is joining it (only without wait).
enum class Waiting : bool { no, yes };
Taken remove_check(Store &store, int64 id, Waiting waiting);

} // namespace scylla::store
