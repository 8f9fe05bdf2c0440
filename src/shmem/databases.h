// When each database has something to do next, whether it has a monitor or not: the launcher gives its processes to
// those that need one.
//
// Commits lower the time of their database. A monitor that exits first clears the time, and then lowers it to what it
// knows, so no commit is lost. The time is 0, which means now, after a start of the server and after a failure:
// somebody has to look.
#pragma once

#include "shmem/timers.h"

namespace scylla::shmem {

// More databases than that are only visited now and then.
inline constexpr int k_max_databases = 1024;

struct KnownDatabase {
    pg_atomic_uint32 id;         // 0: free. Written by the launcher
    pg_atomic_uint64 due;        // as commits and monitors that have exited told; k_never: nothing
    pg_atomic_uint64 idle_until; // its monitor sleeps until then, unless a timer of its slot is earlier; 0: it works
    // For scylla.stat_database, by the launcher.
    pg_atomic_uint32 present;     // the extension has been found there
    pg_atomic_uint64 waits_since; // 0: it does not wait for a monitor
    pg_atomic_uint64 visits;      // how many monitors it has had
    pg_atomic_uint64 time_used;   // by those that have exited, in microseconds
};

struct KnownDatabases {
    KnownDatabase known[k_max_databases];
};

Size databases_size();
void make_databases(KnownDatabases *made, bool found);

// For the launcher. A place stays that of its database until it is given up. -1: there is no room.
int take_place(Oid database) noexcept;
void give_up_place(int place) noexcept;
TimestampTz due_at(int place) noexcept;
TimestampTz idle_until(int place) noexcept;

// What it counts for statistics. since: 0: it does not wait any more.
void note_waiting(int place, TimestampTz since) noexcept;
void note_visit(int place) noexcept;
void note_left(int place, int64 used) noexcept;
void note_absent(int place) noexcept;

// For statistics: the databases in which the extension has been found. Returns how many.
struct DatabaseState {
    Oid id;
    bool has_monitor;
    TimestampTz due; // k_never: nothing is known
    TimestampTz waits_since;
    int64 visits;
    int64 time_used;
};
std::size_t look_at_databases(std::span<DatabaseState, k_max_databases> states) noexcept;

// For commit callbacks and others: something is to be done in the database then. Wakes the launcher if it has no
// monitor.
void note_due(Oid database, TimestampTz when) noexcept;

// Whether the launcher sends a monitor to this database when something is due there, and when that is.
bool is_served() noexcept;
TimestampTz next_due() noexcept;

// For the monitor of this database: it sleeps until then, or (0) works.
void note_idle_until(TimestampTz when) noexcept;
// It exits. left: when there will be work, asked after the time was cleared.
void clear_due() noexcept;
template <typename Left> void leave_database(Left left) {
    clear_due();
    note_due(MyDatabaseId, left());
}

} // namespace scylla::shmem
