#include "shmem/gaps.h"

#include "pg/hash.h"
#include "pg/settings.h"

namespace scylla::shmem {

namespace {

constexpr int k_ways = 8;                // slots a key can have; the least recently used one is evicted
constexpr int k_slots_per_queue = 2;     // of scylla.max_queues
constexpr std::size_t k_key_bytes = 100; // of longer keys nothing is remembered
constexpr std::size_t k_tells = 16;      // that a key remembers
// How long gaps are kept: walking over a dead entry again takes a tenth of a microsecond, and may take a hundredth of
// the time.
constexpr int64 k_shortest_life = 2 * USECS_PER_SEC;
constexpr int64 k_life_of_entry = 10;

struct Tell {
    uint64 clock;
    int64 low;
    int64 high;
    int16 priority;
};

struct KeySlot {
    HeadId queue; // database 0: the slot is free
    uint64 hash;
    int32 length; // of the key
    std::array<char, k_key_bytes> key;
    TimestampTz used;
    TimestampTz since; // the first of the gaps was added
    int64 dead;        // entries in them, as far as scans have walked over them
    uint64 made;       // by the clock
    uint64 tells;      // how many there have been; the last ones are in `told`
    std::array<Tell, k_tells> told;
    KeyGaps gaps;
};

} // namespace

struct GapTable {
    LWLockPadded *locks; // a row of k_ways slots has one of them
    pg_atomic_uint64 clock;
    int rows;

    KeySlot *row(int i) noexcept {
        return reinterpret_cast<KeySlot *>(this + 1) + static_cast<std::ptrdiff_t>(i) * k_ways;
    }
};

namespace {

constinit GapTable *table = nullptr;

int rows() { return (settings::max_queues * k_slots_per_queue + k_ways - 1) / k_ways; }

int row_of(const HeadId &queue, uint64 hash) noexcept {
    const uint64 mixed = hash_combine64(hash, hash_of(bytes_of(queue)));
    return static_cast<int>(mixed % static_cast<uint64>(table->rows));
}

LWLock *lock_of(int row) noexcept { return &table->locks[row % k_gap_locks].lock; }

bool is_of(const KeySlot &slot, const GapKey &key, uint64 hash) noexcept {
    return slot.hash == hash && slot.queue == key.queue &&
           std::string_view(slot.key.data(), static_cast<std::size_t>(slot.length)) == key.key;
}

void forget(KeySlot *slot) noexcept {
    slot->gaps.count = 0;
    slot->dead = 0;
}

// True: they were, and gaps that a scan has derived from them must not be added.
bool forget_if_old(KeySlot *slot, TimestampTz now) noexcept {
    const int64 life = Max(k_shortest_life, slot->dead * k_life_of_entry);
    const bool old = slot->gaps.count > 0 && (now < slot->since || now - slot->since > life);
    if (old)
        forget(slot);
    return old;
}

// Lets `use` act on the slot of a key with the lock held exclusively; on null if it has none. Not if there is no
// table, or no slot for such a key.
template <typename Use> void with_slot(const GapKey &key, Use use) noexcept {
    if (table == nullptr || key.key.size() > k_key_bytes)
        return;
    const uint64 hash = gap_hash(key.key);
    const int row = row_of(key.queue, hash);
    KeySlot *slots = table->row(row);
    LWLockAcquire(lock_of(row), LW_EXCLUSIVE);
    KeySlot *found = std::find_if(slots, slots + k_ways, [&](const KeySlot &slot) { return is_of(slot, key, hash); });
    use(found != slots + k_ways ? found : nullptr, slots);
    LWLockRelease(lock_of(row));
}

KeySlot *make_slot(KeySlot *slots, const GapKey &key, TimestampTz now) noexcept {
    KeySlot *oldest =
        std::min_element(slots, slots + k_ways, [](const KeySlot &a, const KeySlot &b) { return a.used < b.used; });
    *oldest = KeySlot{};
    oldest->queue = key.queue;
    oldest->hash = gap_hash(key.key);
    oldest->length = static_cast<int32>(key.key.size());
    std::copy(key.key.begin(), key.key.end(), oldest->key.begin());
    oldest->used = now;
    oldest->made = pg_atomic_add_fetch_u64(&table->clock, 1);
    return oldest;
}

// Whether the slot knows all that its key was told since then.
bool knows_all_since(const KeySlot &slot, uint64 clock) noexcept {
    return slot.made <= clock && (slot.tells < k_tells || slot.told[slot.tells % k_tells].clock <= clock);
}

} // namespace

uint64 gap_hash(std::string_view key) noexcept { return hash_of(key); }

uint64 gap_clock() noexcept {
    if (table == nullptr)
        return 0;
    const uint64 clock = pg_atomic_read_u64(&table->clock);
    pg_memory_barrier();
    return clock;
}

std::optional<model::Gap> find_gap(const GapKey &key, int16 priority, int64 id, TimestampTz now) noexcept {
    std::optional<model::Gap> gap;
    with_slot(key, [&](KeySlot *slot, KeySlot *) {
        if (slot == nullptr)
            return;
        slot->used = now;
        forget_if_old(slot, now);
        gap = model::find(slot->gaps, priority, id);
    });
    return gap;
}

void add_gap(const GapKey &key, const model::Gap &gap, int64 dead, uint64 clock, TimestampTz now) noexcept {
    // What is replayed on a standby tells nothing, so nothing may be concluded there.
    if (RecoveryInProgress())
        return;
    with_slot(key, [&](KeySlot *slot, KeySlot *slots) {
        if (slot == nullptr) {
            make_slot(slots, key, now); // for the next one who looks
            return;
        }
        slot->used = now;
        if (!knows_all_since(*slot, clock) || forget_if_old(slot, now))
            return;
        if (slot->gaps.count == 0)
            slot->since = now;
        slot->dead += dead;
        add(slot->gaps, gap);
        for (const Tell &tell : std::span(slot->told).first(static_cast<std::size_t>(Min(slot->tells, k_tells))))
            if (tell.clock > clock)
                take_out(slot->gaps, tell.priority, tell.low, tell.high);
    });
}

void tell_gaps(const HeadId &queue, uint64 hash, int16 priority, int64 low, int64 high) noexcept {
    if (table == nullptr)
        return;
    // First: a scan that reads the clock from now on takes a snapshot that shows what is told here.
    const uint64 clock = pg_atomic_add_fetch_u64(&table->clock, 1);
    const int row = row_of(queue, hash);
    LWLockAcquire(lock_of(row), LW_EXCLUSIVE);
    for (KeySlot &slot : std::span(table->row(row), k_ways)) {
        if (slot.hash != hash || !(slot.queue == queue))
            continue; // keys with the same hash are told together
        slot.told[slot.tells++ % k_tells] = {clock, low, high, priority};
        take_out(slot.gaps, priority, low, high);
    }
    LWLockRelease(lock_of(row));
}

void forget_gaps(const HeadId &queue) noexcept {
    if (table == nullptr)
        return;
    const uint64 clock = pg_atomic_add_fetch_u64(&table->clock, 1);
    for (int row = 0; row < table->rows; row++) {
        LWLockAcquire(lock_of(row), LW_EXCLUSIVE);
        for (KeySlot &slot : std::span(table->row(row), k_ways))
            if (slot.queue.database == queue.database && (queue.queue == 0 || slot.queue == queue)) {
                forget(&slot);
                slot.made = Max(slot.made, clock);
            }
        LWLockRelease(lock_of(row));
    }
}

KeyGaps gaps_of(const GapKey &key, TimestampTz now) noexcept {
    KeyGaps gaps{};
    with_slot(key, [&](KeySlot *slot, KeySlot *) {
        if (slot == nullptr)
            return;
        slot->used = now;
        forget_if_old(slot, now);
        gaps = slot->gaps;
    });
    return gaps;
}

void replace_gaps(const GapKey &key, const KeyGaps &gaps, int64 dead, TimestampTz now) noexcept {
    if (RecoveryInProgress())
        return;
    with_slot(key, [&](KeySlot *slot, KeySlot *slots) {
        if (slot == nullptr)
            slot = make_slot(slots, key, now);
        if (forget_if_old(slot, now))
            return;
        if (slot->gaps.count == 0)
            slot->since = now;
        slot->dead += dead;
        slot->gaps = gaps;
    });
}

Size gaps_size() { return sizeof(GapTable) + static_cast<Size>(rows()) * k_ways * sizeof(KeySlot); }

void make_gaps(GapTable *made, LWLockPadded *locks, bool found) {
    table = made;
    if (found)
        return;
    memset(static_cast<void *>(made), 0, gaps_size());
    made->locks = locks;
    made->rows = rows();
    pg_atomic_init_u64(&made->clock, 0);
}

} // namespace scylla::shmem
