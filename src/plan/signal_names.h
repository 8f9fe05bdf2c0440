// Names of signals: which roles may send, wait and grant. A name belongs to the role that used it first.
#pragma once

#include "pg/prelude.h"

namespace scylla {

enum class SignalPrivilege : std::uint8_t { send, wait, admin };
inline constexpr std::array<const char *, 3> k_signal_privileges = {"send", "wait", "admin"};

// Gives a name that was never used to the current user. 42501.
void require(const text *signal, SignalPrivilege privilege);

// Whether a role has the privilege; false if the name was never used.
bool may(Oid user, const text *signal, SignalPrivilege privilege);

// 42704 if the name was never used, 42501 if the current user has no privilege admin on it.
void grant_signal(const text *signal, const text *role, SignalPrivilege privilege);
void revoke_signal(const text *signal, const text *role, SignalPrivilege privilege);
// 42501 if the current user is not the owner, or cannot become the new one.
void set_signal_owner(const text *signal, const text *owner);

} // namespace scylla
