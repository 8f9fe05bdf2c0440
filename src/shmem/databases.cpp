#include "shmem/databases.h"

#include "pg/settings.h"

namespace scylla::shmem {

namespace {

constinit KnownDatabases *databases = nullptr;

// Of this backend's database, once it has been found.
constinit int own_place = -1;

bool is_at(int place, Oid database) noexcept {
    return place >= 0 && pg_atomic_read_u32(&databases->known[place].id) == database;
}

int find(Oid database) noexcept {
    for (int i = 0; i < k_max_databases; i++)
        if (is_at(i, database))
            return i;
    return -1;
}

int place_of(Oid database) noexcept {
    if (database != MyDatabaseId)
        return find(database);
    if (!is_at(own_place, database))
        own_place = find(database);
    return own_place;
}

} // namespace

Size databases_size() { return sizeof(KnownDatabases); }

void make_databases(KnownDatabases *made, bool found) {
    databases = made;
    if (found)
        return;
    for (KnownDatabase &known : made->known) {
        pg_atomic_init_u32(&known.id, 0);
        pg_atomic_init_u64(&known.due, 0);
        pg_atomic_init_u64(&known.idle_until, 0);
        pg_atomic_init_u32(&known.present, 0);
        pg_atomic_init_u64(&known.waits_since, 0);
        pg_atomic_init_u64(&known.visits, 0);
        pg_atomic_init_u64(&known.time_used, 0);
    }
}

int take_place(Oid database) noexcept {
    const int known = find(database); // by an earlier launcher
    if (known >= 0)
        return known;
    const int place = find(InvalidOid);
    if (place < 0)
        return -1;
    KnownDatabase &taken = databases->known[place];
    for (pg_atomic_uint64 *number :
         {&taken.due, &taken.idle_until, &taken.waits_since, &taken.visits, &taken.time_used})
        pg_atomic_write_u64(number, 0);
    pg_atomic_write_u32(&taken.present, 0);
    pg_write_barrier(); // the times are those of the database when its backends see it
    pg_atomic_write_u32(&databases->known[place].id, database);
    return place;
}

void give_up_place(int place) noexcept {
    if (place >= 0)
        pg_atomic_write_u32(&databases->known[place].id, 0);
}

TimestampTz due_at(int place) noexcept {
    return static_cast<TimestampTz>(pg_atomic_read_u64(&databases->known[place].due));
}

TimestampTz idle_until(int place) noexcept {
    return static_cast<TimestampTz>(pg_atomic_read_u64(&databases->known[place].idle_until));
}

void note_waiting(int place, TimestampTz since) noexcept {
    if (place >= 0)
        pg_atomic_write_u64(&databases->known[place].waits_since, static_cast<uint64>(since));
}

void note_visit(int place) noexcept {
    if (place >= 0)
        pg_atomic_fetch_add_u64(&databases->known[place].visits, 1);
}

void note_left(int place, int64 used) noexcept {
    if (place >= 0)
        pg_atomic_fetch_add_u64(&databases->known[place].time_used, used);
}

void note_absent(int place) noexcept {
    if (place >= 0)
        pg_atomic_write_u32(&databases->known[place].present, 0);
}

std::size_t look_at_databases(std::span<DatabaseState, k_max_databases> states) noexcept {
    std::size_t count = 0;
    for (KnownDatabase &known : databases->known) {
        const Oid id = pg_atomic_read_u32(&known.id);
        if (!OidIsValid(id) || pg_atomic_read_u32(&known.present) == 0)
            continue;
        MonitorSlot *slot = monitor_slot(id);
        const auto due = static_cast<TimestampTz>(pg_atomic_read_u64(slot != nullptr ? &known.idle_until : &known.due));
        states[count++] = {id,
                           slot != nullptr,
                           slot != nullptr ? Min(due, earliest(*slot)) : due,
                           static_cast<TimestampTz>(pg_atomic_read_u64(&known.waits_since)),
                           static_cast<int64>(pg_atomic_read_u64(&known.visits)),
                           static_cast<int64>(pg_atomic_read_u64(&known.time_used))};
    }
    return count;
}

void note_due(Oid database, TimestampTz when) noexcept {
    const int place = place_of(database);
    if (place >= 0 && lower(databases->known[place].due, when) && monitor_slot(database) == nullptr)
        wake_launcher();
}

bool is_served() noexcept {
    if (shared == nullptr || !settings::monitor || pg_atomic_read_u32(&shared->launcher) == 0)
        return false;
    const int place = place_of(MyDatabaseId);
    return place >= 0 && pg_atomic_read_u32(&databases->known[place].present) != 0;
}

TimestampTz next_due() noexcept {
    const int place = place_of(MyDatabaseId);
    return place >= 0 ? due_at(place) : k_never;
}

void note_idle_until(TimestampTz when) noexcept {
    const int place = place_of(MyDatabaseId);
    if (place < 0)
        return;
    pg_atomic_write_u64(&databases->known[place].idle_until, static_cast<uint64>(Max(when, TimestampTz{0})));
    pg_atomic_write_u32(&databases->known[place].present, 1);
}

void clear_due() noexcept {
    if (const int place = place_of(MyDatabaseId); place >= 0)
        pg_atomic_exchange_u64(&databases->known[place].due, static_cast<uint64>(k_never)); // a full barrier
}

} // namespace scylla::shmem
