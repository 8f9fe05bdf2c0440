#include "queue/handler.h"

#include "pg/error.h"
#include "store/rows.h"
#include "task/rights.h"

extern "C" {
#include "utils/varlena.h"
}

namespace scylla {

namespace {

bool is_handler(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *row = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool is = row->prokind == PROKIND_FUNCTION && !row->proretset && row->prorettype == JSONBOID;
    ReleaseSysCache(tuple);
    return is;
}

} // namespace

bool may_run_workers(Oid role) {
    HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
    if (!HeapTupleIsValid(tuple))
        return false;
    const bool may = !compat::k_workers_need_login || reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcanlogin;
    ReleaseSysCache(tuple);
    return may;
}

text *find_handler(const text *name) {
    if (name == nullptr)
        return nullptr;
    const char *rule = "It must be the name of a function with one argument of type scylla.task that returns jsonb.";
    List *parts = NIL;
    if (!SplitIdentifierString(text_to_cstring(name), '.', &parts) || parts == NIL || list_length(parts) > 3)
        error::bad_argument("handler", error::quote(name), rule);
    const Oid type = store::task_type();
    const Oid function = LookupFuncName(compat::qualified_name(text_to_cstring(name)), 1, &type, true);
    if (!OidIsValid(function) || !is_handler(function))
        error::bad_argument("handler", error::quote(name), rule);
    if (!compat::may_execute(function, GetUserId()))
        aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
    const char *schema = get_namespace_name(get_func_namespace(function));
    return cstring_to_text(quote_qualified_identifier(schema, get_func_name(function)));
}

void require_handler_rights(const text *queue, const char *owner) {
    if (!rights::owns(owner))
        error::not_owner(queue);
    const Oid role = get_role_oid(owner, true);
    if (OidIsValid(role) && !may_run_workers(role))
        error::warn_of_nologin(queue, owner);
}

} // namespace scylla
