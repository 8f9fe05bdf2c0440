// What the statements about plans are given and return.
#pragma once

#include "store/rows.h"
#include "store/statement.h"

namespace scylla::store::sql {

// Null is a caller of create_plan().
struct plan_maker {
    static constexpr Oid oid = CHAROID;
    using Argument = PlanMaker;
    using Value = PlanMaker;
    static Cell put(PlanMaker value) { return {CharGetDatum(static_cast<char>(value)), value == PlanMaker::caller}; }
    static PlanMaker get(Datum value) { return static_cast<PlanMaker>(DatumGetChar(value)); }
};

} // namespace scylla::store::sql
