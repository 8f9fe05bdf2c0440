// Grants and revokes what a kind of role needs (model/role_kinds.h), as the current user, by GRANT and REVOKE.
#pragma once

#include "model/role_kinds.h"
#include "pg/prelude.h"

namespace scylla::rights {

// 42501 if the current user is neither the owner of the extension nor a superuser. The role may be public.
void grant_kind(model::RoleKind kind, const text *role);
// Also what another kind has, too.
void revoke_kind(model::RoleKind kind, const text *role);

} // namespace scylla::rights
