// The border with the server: the server headers that many files use, in the order that works (postgres.h first, all of
// them as C, the standard headers after them). A file that alone needs another server header includes it after this
// one, as C.
//
// The rules on this side of the border (docs/internals.md says why):
//   * ereport(ERROR) leaves by longjmp and runs no destructors: every local in a frame that can raise is trivially
//     destructible, memory is palloc'ed, and the server's abort processing releases what must be released.
//   * Any function may raise unless it is noexcept.
#pragma once

#ifdef _MSC_VER
#error "frames are left by longjmp without unwinding, which MSVC does not do"
#endif

extern "C" {
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "common/shortest_dec.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/sequence.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_func.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufmgr.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/numeric.h"
#include "utils/rangetypes.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
}

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "pg/compat.h"

namespace scylla {

// What may live in a frame that can raise.
template <typename T>
concept Pod = std::is_trivially_destructible_v<T>;

} // namespace scylla

// Declares the C symbol behind a SQL function: SCYLLA_FUNCTION(scylla_submit) { … uses fcinfo … }
#define SCYLLA_FUNCTION(name)                                                                                          \
    extern "C" {                                                                                                       \
    PGDLLEXPORT Datum name(PG_FUNCTION_ARGS);                                                                          \
    PG_FUNCTION_INFO_V1(name);                                                                                         \
    }                                                                                                                  \
    Datum name([[maybe_unused]] PG_FUNCTION_ARGS)
