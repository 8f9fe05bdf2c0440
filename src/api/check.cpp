// What check() asks the library: whether the tables are as the library assumes.
#include "pg/text.h"
#include "store/catalog.h"

namespace scylla {

namespace {

// What `find` reports about the table of that name; null: nothing, or the table is not written directly.
Datum of_table(FunctionCallInfo fcinfo, const char *(*find)(store::TableId)) {
    const auto table = PG_ARGISNULL(0) ? std::nullopt : store::table_of_name(view(PG_GETARG_TEXT_PP(0)));
    const char *found = table ? find(*table) : nullptr;
    if (found == nullptr)
        PG_RETURN_NULL();
    PG_RETURN_TEXT_P(cstring_to_text(found));
}

} // namespace

} // namespace scylla

SCYLLA_FUNCTION(scylla_shape_problem) { return scylla::of_table(fcinfo, scylla::store::shape_problem); }
SCYLLA_FUNCTION(scylla_bypassed) { return scylla::of_table(fcinfo, scylla::store::bypassed); }
