// _shape_problem, for check(): it knows what the library takes for granted of the tables.
#include "pg/text.h"
#include "store/catalog.h"

SCYLLA_FUNCTION(scylla_shape_problem) {
    using namespace scylla;
    const auto table = PG_ARGISNULL(0) ? std::nullopt : store::table_of_name(view(PG_GETARG_TEXT_PP(0)));
    const char *problem = table ? store::shape_problem(*table) : nullptr;
    if (problem == nullptr)
        PG_RETURN_NULL();
    PG_RETURN_TEXT_P(cstring_to_text(problem));
}
