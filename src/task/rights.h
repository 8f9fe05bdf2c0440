// Who may do what with a queue. EXECUTE says which functions a role may call, the rights say on which queues.
//
// The role is the current user (GetUserId): inside an application's SECURITY DEFINER function its owner. Roles count
// through membership, as for any object: the owner's members are owners, superusers may everything. Nothing is cached
// beyond the call: the rights are columns of the queue, which every verb reads anyway, so a revoked grant is gone with
// the commit.
//
//   to                                             one needs
//   submit, and to cancel                          submit
//   have tasks depend on its tasks                 depend
//   lease, heartbeat, finish, yield, wait          work
//   see tasks: get_task, list_tasks, scylla.task   view
//   see statistics                                 view, or to be a member of pg_monitor
//   grant, revoke, change the settings, drop       admin, which comes with all the others
//   give the queue away                            to be its owner
//
// A task that the role may neither act on nor see does not exist for it.
#pragma once

#include "store/rows.h"

namespace scylla::rights {

using model::Privilege;

// What the current user may do with the queue of a task; nothing if there is no such queue: it has been dropped.
model::Privileges of(store::Store &store, int32 queue);

inline bool may(store::Store &store, int32 queue, Privilege privilege) { return of(store, queue).has(privilege); }

// Whether the current user may see numbers about the queue: who may view it, and members of pg_monitor.
bool may_watch(const store::QueueRow &queue);
bool may_watch(const char *owner, ArrayType *viewers, ArrayType *admins); // (text[]; null: none)

// Whether the current user is the owner of a plan, a member of it, or a superuser. For others the plan does not exist.
bool owns(const char *owner);

// Whether a role is the owner, or a member of it, or of one of the grantees (text[]; null: none), or a superuser.
bool has_any(Oid role, const char *owner, ArrayType *grantees);
// For a role that gets a privilege: 42704 if it does not exist. 'public' is everybody.
void require_grantee(const text *role, const char *table);

// For a new owner: 42704 if the role does not exist, 42501 if the current user cannot become it.
void require_new_owner(const text *owner, const char *table);

// 42501 if the current user may not.
void require(store::Store &store, const store::QueueRow &queue, Privilege privilege);

// A queue with a similar name on which the current user has some privilege; null: none.
const char *similar_queue(store::Store &store, const text *name);
// The queue; 42704 if it does not exist, 42501 if the current user may not.
store::QueueRow require_queue(store::Store &store, const text *name, Privilege privilege);

// Whether the current user may act on a task of the queue. Raises 42501 if not, but only to a user who may see the
// task; false means that there is no such task.
bool may_act(store::Store &store, int32 queue, Privilege privilege);

// Changes of rights. 42704 or 42501 as above.
struct Grant {
    const text *queue;
    model::Privilege privilege;
    const text *role; // may be public
};
void grant(store::Store &store, const Grant &what);
void revoke(store::Store &store, const Grant &what);
void set_owner(store::Store &store, const text *name, const text *owner);

// For views: whether the current user may see the tasks of a queue, by its columns. Each may be null.
struct Viewers {
    const char *owner;
    ArrayType *viewers;
    ArrayType *admins;
};
bool may_view(const Viewers &who);

} // namespace scylla::rights
