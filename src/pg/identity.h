// Acting as another role for a while. On an error, abort processing restores the role of the caller, and its
// search_path.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// The role and the security context of a session.
struct Identity {
    Oid user;
    int context;
    int settings_level = 0; // of the search_path that become() has pinned; 0: none
};

inline Identity current_identity() {
    Identity now{};
    GetUserIdAndSecContext(&now.user, &now.context);
    return now;
}

// Puts nothing of the caller's into the search_path: neither an operator of his that fits better than the server's, nor
// one behind nullif() or `in`, which cannot be qualified, may run as another role. Returns the level of settings that
// ends it; 0: the path is that already. pg_temp is named, or it would be searched first.
inline int pin_search_path() {
    constexpr const char *k_path = "pg_catalog, pg_temp";
    if (strcmp(namespace_search_path, k_path) == 0)
        return 0;
    const int level = NewGUCNestLevel();
    (void)set_config_option("search_path", k_path, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    return level;
}

inline void restore(const Identity &identity) {
    if (identity.settings_level > 0)
        AtEOXact_GUC(true, identity.settings_level);
    SetUserIdAndSecContext(identity.user, identity.context);
}

// Whatever runs until restore() does so with a pinned search_path: names that a caller gives are resolved before.
// Returns the identity to restore. The flags are added to the security context: the role cannot be set again by SQL,
// unless they are 0.
inline Identity become(Oid role, int flags = SECURITY_LOCAL_USERID_CHANGE) {
    Identity before = current_identity();
    before.settings_level = pin_search_path();
    SetUserIdAndSecContext(role, before.context | flags);
    return before;
}

// Does the work as the role, and returns its result.
template <typename Work> auto act_as(Oid role, Work work, int flags = SECURITY_LOCAL_USERID_CHANGE) {
    using Result = decltype(work());
    const Identity before = become(role, flags);
    if constexpr (std::is_void_v<Result>) {
        work();
        restore(before);
    } else {
        static_assert(std::is_trivially_destructible_v<Result>); // an error would not destroy it
        const Result result = work();
        restore(before);
        return result;
    }
}

} // namespace scylla
