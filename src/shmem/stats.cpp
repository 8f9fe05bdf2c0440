#include "shmem/stats.h"

#include "settings.h"

extern "C" {
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "storage/spin.h"
}

namespace scylla::shmem {

namespace {

constexpr int32 k_none = -1;
constexpr int k_eviction_choice = 16; // so many entries are compared when one has to give way
constexpr int k_search_depth = 64;    // notes that are compared; beyond that a queue may have several
constexpr const char *k_file = PGSTAT_STAT_PERMANENT_DIRECTORY "/scylla.stat";
constexpr uint32 k_file_format = 0x5c111a01;

struct Entry {
    StatKey key; // changes, like the chain, only under the exclusive lock
    int32 next;  // in the chain of its bucket
    slock_t mutex; // guards what follows
    TimestampTz used;
    TimestampTz reset;
    QueueStats stats;
    bool told;   // by NOTIFY, that there are tasks
    bool untold; // the monitor is to do so
    // Of queue 0 only.
    bool counted; // Places of the database's queues are true
    TimestampTz counted_at;
    int64 count_time;
    MonitorStats monitor;
};

// The transaction that a backend is just committing: 0 if none, or if its notes are added.
struct alignas(PG_CACHE_LINE_SIZE) Committing {
    pg_atomic_uint32 xid;
};

int buckets() { return settings::max_queues; }

} // namespace

struct Stats {
    LWLock *lock;
    int size;
    int count;         // of entries that have been in use; the others come after them
    int hand;          // where the next entry that gives way is looked for
    uint64 generation; // counts anchors, and entries that have given way
    pg_atomic_uint64 changes; // of any entry
    pg_atomic_uint32 untold; // an entry may have its mark of that name

    int32 *bucket(uint32 hash) noexcept {
        return reinterpret_cast<int32 *>(this + 1) + hash % static_cast<uint32>(size);
    }
    Entry &entry(int i) noexcept {
        char *start = reinterpret_cast<char *>(this) + MAXALIGN(sizeof(Stats) + sizeof(int32) * static_cast<Size>(size));
        return reinterpret_cast<Entry *>(start)[i];
    }
    Committing &committing(int i) noexcept {
        return reinterpret_cast<Committing *>(
            TYPEALIGN(PG_CACHE_LINE_SIZE, reinterpret_cast<uintptr_t>(&entry(size))))[i];
    }
};

namespace {

constinit Stats *stats = nullptr;

uint32 hash_of(const StatKey &key) noexcept {
    return hash_bytes(reinterpret_cast<const unsigned char *>(&key), sizeof(StatKey));
}

bool is_of(const Entry &entry, Oid database, Oid extension) noexcept {
    return entry.key.database == database && entry.key.extension == extension;
}

// With the lock held.
Entry *find(const StatKey &key) noexcept {
    for (int32 i = *stats->bucket(hash_of(key)); i != k_none; i = stats->entry(i).next)
        if (stats->entry(i).key == key)
            return &stats->entry(i);
    return nullptr;
}

// The functions up to find_or_make() want the lock held exclusively.

void unlink_entry(int32 index) noexcept {
    int32 *link = stats->bucket(hash_of(stats->entry(index).key));
    while (*link != index)
        link = &stats->entry(*link).next;
    *link = stats->entry(index).next;
}

// Makes room: of the entries at the hand the one that has not changed for longest.
int32 evict() noexcept {
    int32 oldest = stats->hand;
    for (int i = 1; i < k_eviction_choice && i < stats->size; i++) {
        const int32 other = (stats->hand + i) % stats->size;
        if (stats->entry(other).used < stats->entry(oldest).used)
            oldest = other;
    }
    stats->hand = (stats->hand + k_eviction_choice) % stats->size;
    stats->generation++;
    unlink_entry(oldest);
    const StatKey &key = stats->entry(oldest).key;
    if (Entry *database = find({key.database, key.extension, 0}))
        database->counted = false;
    return oldest;
}

Entry *find_or_make(const StatKey &key, TimestampTz now) noexcept {
    if (Entry *found = find(key))
        return found;
    const int32 index = stats->count < stats->size ? stats->count++ : evict();
    Entry &entry = stats->entry(index);
    entry = Entry{};
    entry.key = key;
    entry.used = now;
    entry.reset = now;
    SpinLockInit(&entry.mutex);
    int32 *link = stats->bucket(hash_of(key));
    entry.next = *link;
    *link = index;
    return &entry;
}

// Lets `change` act on an entry under its mutex: no more than arithmetic.
template <typename Change> void change_entry(const StatKey &key, TimestampTz now, Change change) noexcept {
    LWLockAcquire(stats->lock, LW_SHARED);
    Entry *entry = find(key);
    if (entry == nullptr) {
        LWLockRelease(stats->lock);
        LWLockAcquire(stats->lock, LW_EXCLUSIVE);
        entry = find_or_make(key, now);
    }
    SpinLockAcquire(&entry->mutex);
    change(*entry);
    entry->used = now;
    SpinLockRelease(&entry->mutex);
    pg_atomic_fetch_add_u64(&stats->changes, 1);
    LWLockRelease(stats->lock);
}

void add(QueueStats &sum, const QueueStats &more) noexcept {
    for (std::size_t i = 0; i < k_places; i++)
        sum.place[i] += more.place[i];
    for (std::size_t i = 0; i < k_counts; i++)
        sum.count[i] += more.count[i];
    for (std::size_t i = 0; i < k_times; i++)
        sum.time[i].add(more.time[i]);
}

// ---- notes -----------------------------------------------------------------------------------------------------------

// What the present transaction has done, by savepoint: a rolled-back one takes its notes along. All of it is in the
// transaction's memory.
struct Note {
    Note *next;
    StatKey key;
    QueueStats done;
    bool notify_ready; // NOTIFY is to tell if this commits
    bool notify_taken; // and if this rolls back
};
struct Level {
    Level *outer;
    int nesting;
    Note *first;
};
constinit Level *level = nullptr;

Note *find_note(const Level &where, const StatKey &key) noexcept {
    int depth = 0;
    for (Note *note = where.first; note != nullptr && depth < k_search_depth; note = note->next, depth++)
        if (note->key == key)
            return note;
    return nullptr;
}

Note &note_of(const StatKey &key) {
    const int nesting = GetCurrentTransactionNestLevel();
    if (level == nullptr || level->nesting < nesting) {
        auto *made = static_cast<Level *>(MemoryContextAlloc(TopTransactionContext, sizeof(Level)));
        *made = {level, nesting, nullptr};
        level = made;
    }
    Note *note = find_note(*level, key);
    if (note == nullptr) {
        note = static_cast<Note *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Note)));
        note->key = key;
        note->next = level->first;
        level->first = note;
    }
    return *note;
}

// There may be something to lease now. Once it can be seen.
void announce(const StatKey &key, TimestampTz now) noexcept {
    bool first = false;
    change_entry(key, now, [&first](Entry &entry) {
        first = !entry.told;
        entry.untold = entry.untold || first;
        entry.told = true;
    });
    if (!first)
        return;
    pg_atomic_write_u32(&stats->untold, 1);
    wake_monitor(key.database);
}

// What was taken by a transaction, or a part of it, that rolls back can be leased again.
void announce_taken(const Level &where) noexcept {
    for (const Note *note = where.first; note != nullptr; note = note->next)
        if (note->notify_taken)
            announce(note->key, GetCurrentTimestamp());
}

void drop_level() {
    announce_taken(*level);
    for (Note *note = level->first; note != nullptr;) {
        Note *next = note->next;
        pfree(note);
        note = next;
    }
    Level *outer = level->outer;
    pfree(level);
    level = outer;
}

// A savepoint is released: its notes become those of the transaction around it.
void merge_level() {
    Level *outer = level->outer;
    if (outer == nullptr || outer->nesting < level->nesting - 1) {
        level->nesting--;
        return;
    }
    Note *kept = nullptr;
    for (Note *note = level->first; note != nullptr;) {
        Note *next = note->next;
        if (Note *same = find_note(*outer, note->key)) {
            add(same->done, note->done);
            same->notify_ready = same->notify_ready || note->notify_ready;
            same->notify_taken = same->notify_taken || note->notify_taken;
            pfree(note);
        } else {
            note->next = kept;
            kept = note;
        }
        note = next;
    }
    while (kept != nullptr) {
        Note *next = kept->next;
        kept->next = outer->first;
        outer->first = kept;
        kept = next;
    }
    pfree(level);
    level = outer;
}

void show_committing(TransactionId xid) noexcept {
    // A full barrier: before the commit can be seen, and after the notes are added.
    pg_atomic_exchange_u32(&stats->committing(compat::my_proc_number()).xid, xid);
}

// Must not fail: the transaction is committed.
void add_notes() noexcept {
    const TimestampTz now = GetCurrentTransactionStopTimestamp();
    for (const Level *at = level; at != nullptr; at = at->outer)
        for (const Note *note = at->first; note != nullptr; note = note->next) {
            change_entry(note->key, now, [note](Entry &entry) { add(entry.stats, note->done); });
            if (note->notify_ready)
                announce(note->key, now);
        }
}

extern "C" void settle_notes(XactEvent event, void *) {
    if (level == nullptr)
        return;
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
        show_committing(GetTopTransactionIdIfAny());
        break;
    case XACT_EVENT_COMMIT:
        add_notes();
        show_committing(InvalidTransactionId);
        level = nullptr;
        break;
    case XACT_EVENT_ABORT:
        for (const Level *at = level; at != nullptr; at = at->outer)
            announce_taken(*at);
        show_committing(InvalidTransactionId);
        level = nullptr;
        break;
    case XACT_EVENT_PREPARE:
        level = nullptr;
        break;
    case XACT_EVENT_PRE_PREPARE:
    case XACT_EVENT_PARALLEL_PRE_COMMIT:
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_PARALLEL_ABORT:
        break;
    }
}

extern "C" void settle_savepoint(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
    if (level == nullptr || level->nesting < GetCurrentTransactionNestLevel())
        return;
    if (event == SUBXACT_EVENT_COMMIT_SUB)
        merge_level();
    else if (event == SUBXACT_EVENT_ABORT_SUB)
        drop_level();
}

// ---- the file --------------------------------------------------------------------------------------------------------

struct FileHeader {
    uint32 format;
    uint32 entry_size;
    int32 count;
    pg_crc32c checksum; // of the entries
};

pg_crc32c checksum_of(const Entry *entries, int count) {
    pg_crc32c sum;
    INIT_CRC32C(sum);
    COMP_CRC32C(sum, entries, sizeof(Entry) * static_cast<Size>(count));
    FIN_CRC32C(sum);
    return sum;
}

// In the postmaster, when everybody else has gone.
extern "C" void save_stats(int code, Datum) {
    if (code != 0 || stats == nullptr)
        return;
    const FileHeader header{k_file_format, sizeof(Entry), stats->count, checksum_of(&stats->entry(0), stats->count)};
    const auto count = static_cast<Size>(stats->count);
    FILE *file = AllocateFile(psprintf("%s.tmp", k_file), PG_BINARY_W);
    const bool written = file != nullptr && fwrite(&header, sizeof(header), 1, file) == 1 &&
                         (count == 0 || fwrite(&stats->entry(0), sizeof(Entry), count, file) == count);
    if (file != nullptr && FreeFile(file) == 0 && written)
        (void)durable_rename(psprintf("%s.tmp", k_file), k_file, LOG);
    else {
        const int error = errno;
        ereport(LOG, (errcode_for_file_access(), errmsg("could not write file \"%s\": %s", k_file, strerror(error))));
        unlink(psprintf("%s.tmp", k_file));
    }
}

bool was_shut_down_cleanly() {
    bool crc_ok = false;
    ControlFileData *control = get_controlfile(DataDir, &crc_ok);
    const bool clean = crc_ok && (control->state == DB_SHUTDOWNED || control->state == DB_SHUTDOWNED_IN_RECOVERY);
    pfree(control);
    return clean;
}

// Takes over what the file tells. False: it cannot be used.
bool load(FILE *file) {
    FileHeader header;
    if (fread(&header, sizeof(header), 1, file) != 1 || header.format != k_file_format ||
        header.entry_size != sizeof(Entry) || header.count < 0)
        return false;
    const auto count = static_cast<Size>(header.count);
    auto *entries = static_cast<Entry *>(palloc_extended(count * sizeof(Entry) + 1, MCXT_ALLOC_HUGE));
    const bool good = (count == 0 || fread(entries, sizeof(Entry), count, file) == count) &&
                      header.checksum == checksum_of(entries, header.count);
    for (Size i = 0; good && i < count && i < static_cast<Size>(stats->size); i++) {
        const Entry &saved = entries[i];
        Entry *entry = find_or_make(saved.key, saved.used);
        entry->reset = saved.reset;
        entry->stats = saved.stats;
        entry->stats.place = {};
        entry->monitor = saved.monitor;
    }
    pfree(entries);
    return good;
}

// In the postmaster, before there is anybody else.
void restore() {
    FILE *file = AllocateFile(k_file, PG_BINARY_R);
    if (file == nullptr) {
        const int error = errno;
        if (error != ENOENT)
            ereport(LOG, (errcode_for_file_access(), errmsg("could not read file \"%s\": %s", k_file, strerror(error))));
        return;
    }
    if (!was_shut_down_cleanly())
        ereport(LOG, (errmsg("scylla begins its statistics anew: the server was not shut down cleanly")));
    else if (!load(file))
        ereport(LOG, (errmsg("scylla begins its statistics anew: file \"%s\" is not valid", k_file)));
    FreeFile(file);
    unlink(k_file); // a crash must not find it
}

} // namespace

// ---- noting ----------------------------------------------------------------------------------------------------------

void count(const StatKey &key, Count what) {
    if (stats != nullptr)
        note_of(key).done.count[static_cast<std::size_t>(what)]++;
}

void count_time(const StatKey &key, Time what, int64 micros) {
    if (stats != nullptr)
        note_of(key).done.time[static_cast<std::size_t>(what)].add(micros);
}

void count_arrival(const StatKey &key, Place place) {
    if (stats != nullptr)
        note_of(key).done.place[static_cast<std::size_t>(place)]++;
}

void count_departure(const StatKey &key, Place place) {
    if (stats != nullptr)
        note_of(key).done.place[static_cast<std::size_t>(place)]--;
}

void note_notify_ready(const StatKey &key) {
    if (stats != nullptr)
        note_of(key).notify_ready = true;
}

void note_notify_taken(const StatKey &key) {
    if (stats != nullptr)
        note_of(key).notify_taken = true;
}

bool found_empty(const StatKey &key) noexcept {
    if (stats == nullptr)
        return false;
    bool told = false;
    LWLockAcquire(stats->lock, LW_SHARED);
    if (Entry *entry = find(key)) {
        SpinLockAcquire(&entry->mutex);
        told = entry->told;
        entry->told = false;
        entry->untold = false;
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return told;
}

std::size_t take_untold(const StatKey &monitor, bool again, std::span<int32> queues) noexcept {
    if (pg_atomic_exchange_u32(&stats->untold, 0) == 0 && !again)
        return 0;
    std::size_t count = 0;
    bool more = false;
    LWLockAcquire(stats->lock, LW_SHARED);
    for (int i = 0; i < stats->count; i++) {
        Entry &entry = stats->entry(i);
        SpinLockAcquire(&entry.mutex);
        const bool wanted = entry.untold || (again && entry.told);
        const bool ours = is_of(entry, monitor.database, monitor.extension);
        if (wanted && ours && count < queues.size()) {
            queues[count++] = entry.key.queue;
            entry.untold = false;
        } else
            more = more || entry.untold;
        SpinLockRelease(&entry.mutex);
    }
    LWLockRelease(stats->lock);
    if (more)
        pg_atomic_write_u32(&stats->untold, 1);
    return count;
}

bool has_own_stats() noexcept { return level != nullptr; }

// ---- looking ---------------------------------------------------------------------------------------------------------

namespace {

extern "C" int compare_queues(const void *a, const void *b) {
    const int32 left = static_cast<const QueueEntry *>(a)->queue;
    const int32 right = static_cast<const QueueEntry *>(b)->queue;
    return left < right ? -1 : left > right;
}

// With the lock held. *queues has room for every entry.
void fill(StatView *view, QueueEntry *queues) noexcept {
    std::size_t count = 0;
    view->generation = stats->generation;
    for (int i = 0; i < stats->count; i++) {
        Entry &entry = stats->entry(i);
        if (!is_of(entry, view->database, view->extension))
            continue;
        SpinLockAcquire(&entry.mutex);
        if (entry.key.queue == 0) {
            view->counted = entry.counted;
            view->counted_at = entry.counted_at;
            view->count_time = entry.count_time;
        } else
            queues[count++] = {entry.key.queue, entry.stats, entry.reset};
        SpinLockRelease(&entry.mutex);
    }
    view->queues = {queues, count};
}

QueueEntry *allocate_entries() {
    return static_cast<QueueEntry *>(palloc_extended(sizeof(QueueEntry) * static_cast<Size>(stats->size), MCXT_ALLOC_HUGE));
}

StatView begin_view(Oid database, Oid extension) {
    StatView view{};
    view.valid = stats != nullptr;
    view.database = database;
    view.extension = extension;
    return view;
}

void sort(StatView *view) { qsort(view->queues.data(), view->queues.size(), sizeof(QueueEntry), compare_queues); }

// Whether somebody whom the snapshot sees as ended has not added its notes yet.
bool is_behind(Snapshot snapshot) noexcept {
    for (int i = 0; i < MaxBackends; i++) {
        const TransactionId xid = pg_atomic_read_u32(&stats->committing(i).xid);
        if (TransactionIdIsValid(xid) && !XidInMVCCSnapshot(xid, snapshot))
            return true;
    }
    return false;
}

} // namespace

StatView look_at_stats(Oid database, Oid extension) {
    StatView view = begin_view(database, extension);
    if (!view.valid)
        return view;
    QueueEntry *queues = allocate_entries();
    LWLockAcquire(stats->lock, LW_SHARED);
    fill(&view, queues);
    LWLockRelease(stats->lock);
    sort(&view);
    return view;
}

uint64 stat_changes() noexcept {
    if (stats == nullptr)
        return 0;
    const uint64 changes = pg_atomic_read_u64(&stats->changes);
    pg_memory_barrier();
    return changes;
}

std::optional<StatView> look_at_snapshot(Oid database, Oid extension, Snapshot snapshot, uint64 changes) {
    StatView view = begin_view(database, extension);
    QueueEntry *queues = allocate_entries();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE); // nothing is added meanwhile
    const bool good = !is_behind(snapshot) && pg_atomic_read_u64(&stats->changes) == changes;
    if (good)
        fill(&view, queues);
    LWLockRelease(stats->lock);
    if (!good) {
        pfree(queues);
        return std::nullopt;
    }
    sort(&view);
    return view;
}

void anchor(const StatView &view, std::span<const Counted> counted, int64 time) {
    const TimestampTz now = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    if (stats->generation != view.generation) {
        LWLockRelease(stats->lock);
        return;
    }
    stats->generation++;
    const auto correct = [&](int32 queue, const Places &places, int sign) {
        Entry *entry = find_or_make({view.database, view.extension, queue}, now);
        for (std::size_t i = 0; i < k_places; i++)
            entry->stats.place[i] += sign * places[i];
    };
    Entry *database = find_or_make({view.database, view.extension, 0}, now);
    database->used = now;
    database->counted = true;
    database->counted_at = now;
    database->count_time = time;
    for (const Counted &each : counted)
        correct(each.queue, each.places, 1);
    for (const QueueEntry &each : view.queues)
        correct(each.queue, each.stats.place, -1);
    LWLockRelease(stats->lock);
}

void reset_stats(Oid database, Oid extension, std::optional<int32> queue) {
    if (stats == nullptr)
        return;
    const TimestampTz now = GetCurrentTimestamp();
    LWLockAcquire(stats->lock, LW_EXCLUSIVE);
    for (int i = 0; i < stats->count; i++) {
        Entry &entry = stats->entry(i);
        if (!is_of(entry, database, extension) || (queue && entry.key.queue != *queue))
            continue;
        entry.reset = now;
        entry.stats.count = {};
        entry.stats.time = {};
        entry.monitor = {};
    }
    LWLockRelease(stats->lock);
}

// ---- the monitor -----------------------------------------------------------------------------------------------------

void count_round(const StatKey &key, Work work, int64 tasks, int64 micros) {
    const TimestampTz now = GetCurrentTimestamp();
    change_entry(key, now, [&](Entry &entry) {
        MonitorStats &monitor = entry.monitor;
        monitor.rounds++;
        monitor.total_time += micros;
        monitor.max_time = Max(monitor.max_time, micros);
        monitor.tasks[static_cast<std::size_t>(work)] += tasks;
        monitor.last_round = now;
    });
}

void count_error(const StatKey &key, const char *message) {
    const TimestampTz now = GetCurrentTimestamp();
    std::array<char, k_message> cut{};
    memcpy(cut.data(), message, static_cast<std::size_t>(pg_mbcliplen(message, static_cast<int>(strlen(message)), k_message - 1)));
    change_entry(key, now, [&](Entry &entry) {
        entry.monitor.errors++;
        entry.monitor.last_error_at = now;
        entry.monitor.last_error = cut;
    });
}

std::optional<MonitorStats> monitor_stats(const StatKey &key, TimestampTz *reset) {
    if (stats == nullptr)
        return std::nullopt;
    MonitorStats found{};
    *reset = 0;
    LWLockAcquire(stats->lock, LW_SHARED);
    if (Entry *entry = find(key)) {
        SpinLockAcquire(&entry->mutex);
        found = entry->monitor;
        *reset = entry->reset;
        SpinLockRelease(&entry->mutex);
    }
    LWLockRelease(stats->lock);
    return found;
}

// ---- set-up ----------------------------------------------------------------------------------------------------------

Size stats_size() {
    return MAXALIGN(sizeof(Stats) + sizeof(int32) * static_cast<Size>(buckets())) +
           sizeof(Entry) * static_cast<Size>(settings::max_queues) + PG_CACHE_LINE_SIZE +
           sizeof(Committing) * static_cast<Size>(MaxBackends);
}

void make_stats(Stats *made, LWLock *lock, bool found) {
    stats = made;
    if (found)
        return;
    memset(made, 0, sizeof(Stats));
    made->lock = lock;
    made->size = settings::max_queues;
    pg_atomic_init_u32(&made->untold, 0);
    pg_atomic_init_u64(&made->changes, 0);
    for (int i = 0; i < made->size; i++)
        *made->bucket(static_cast<uint32>(i)) = k_none;
    for (int i = 0; i < MaxBackends; i++)
        pg_atomic_init_u32(&made->committing(i).xid, InvalidTransactionId);
    if (!IsUnderPostmaster)
        on_shmem_exit(save_stats, 0);
    restore();
}

void install_stat_callbacks() {
    RegisterXactCallback(settle_notes, nullptr);
    RegisterSubXactCallback(settle_savepoint, nullptr);
}

} // namespace scylla::shmem
