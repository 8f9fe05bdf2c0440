// Acting as another role for a while. On an error, abort processing restores the role of the caller.
#pragma once

#include "pg/prelude.h"

namespace scylla {

// The role and the security context of a session.
struct Identity {
    Oid user;
    int context;
};

inline Identity current_identity() {
    Identity now{};
    GetUserIdAndSecContext(&now.user, &now.context);
    return now;
}

inline void restore(const Identity &identity) { SetUserIdAndSecContext(identity.user, identity.context); }

// Returns the identity to restore. The flags are added to the security context: the role cannot be set again by SQL,
// unless they are 0.
inline Identity become(Oid role, int flags = SECURITY_LOCAL_USERID_CHANGE) {
    const Identity before = current_identity();
    SetUserIdAndSecContext(role, before.context | flags);
    return before;
}

// Does the work as the role, and returns its result.
template <typename Work> auto act_as(Oid role, Work work) {
    const Identity before = become(role);
    if constexpr (std::is_void_v<decltype(work())>) {
        work();
        restore(before);
    } else {
        const auto result = work();
        restore(before);
        return result;
    }
}

} // namespace scylla
