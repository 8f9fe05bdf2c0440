#include "shmem/key_notes.h"

#include "shmem/gaps.h"

namespace scylla::shmem {

namespace {

// Of a key and priority; or, where there is no file, of the leases of a queue.
struct NoteKey {
    uint64 hash;
    Oid file;
    int32 queue;
    int64 priority; // k_taken: of any
};
constexpr int64 k_taken = -1;

struct Note {
    NoteKey key;
    Note *next;
    OwnIds ids;
};

constexpr std::size_t k_few = 16; // so many need no table
constexpr long k_most = 4096;     // keys and priorities; what there is no room for counts for all of them

struct Notes {
    std::size_t few_count;
    std::array<Note, k_few> few;
    HTAB *table;   // of the others; null: there are none
    Note *first;   // in the table
    bool any_made; // notes for which there was no room
    bool any_taken;
};
constinit Notes notes{};

bool same(const NoteKey &a, const NoteKey &b) noexcept {
    return a.hash == b.hash && a.file == b.file && a.queue == b.queue && a.priority == b.priority;
}

Note *find(const NoteKey &key) {
    for (Note &note : std::span(notes.few).first(notes.few_count))
        if (same(note.key, key))
            return &note;
    return notes.table == nullptr ? nullptr : static_cast<Note *>(hash_search(notes.table, &key, HASH_FIND, nullptr));
}

// Null: there is no room.
Note *find_or_make(const NoteKey &key) {
    if (Note *found = find(key))
        return found;
    if (notes.few_count < k_few) {
        notes.few[notes.few_count] = {key, nullptr, {PG_INT64_MAX, 0}};
        return &notes.few[notes.few_count++];
    }
    if (notes.table == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(NoteKey);
        control.entrysize = sizeof(Note);
        control.hcxt = TopTransactionContext;
        notes.table = hash_create("scylla notes of keys", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    if (hash_get_num_entries(notes.table) == k_most)
        return nullptr;
    auto *made = static_cast<Note *>(hash_search(notes.table, &key, HASH_ENTER, nullptr));
    made->ids = {PG_INT64_MAX, 0};
    made->next = notes.first;
    notes.first = made;
    return made;
}

// False: there is no room.
bool add_id(const NoteKey &key, int64 id) {
    Note *note = find_or_make(key);
    if (note == nullptr)
        return false;
    note->ids = {Min(note->ids.low, id), Max(note->ids.high, id)};
    return true;
}

void tell(const Note &note) noexcept {
    if (note.key.priority != k_taken)
        tell_gaps({MyDatabaseId, note.key.file, note.key.queue}, note.key.hash, static_cast<int16>(note.key.priority),
                  note.ids.low, note.ids.high);
}

OwnIds ids_of(const NoteKey &key, bool any) {
    if (any)
        return {0, PG_INT64_MAX};
    const Note *note = find(key);
    return note != nullptr ? note->ids : OwnIds{PG_INT64_MAX, 0};
}

} // namespace

void note_key_ready(Oid file, int32 queue, uint64 hash, int16 priority, int64 id) {
    if (shared != nullptr && !add_id({hash, file, queue, priority}, id))
        notes.any_made = true;
}

void note_key_taken(Oid file, int32 queue, uint64 hash) {
    if (shared != nullptr && !add_id({hash, file, queue, k_taken}, 0))
        notes.any_taken = true;
}

void note_all_keys_ready() { notes.any_made = true; }

void note_lease_ended(int32 queue, int64 id) {
    if (shared != nullptr && !add_id({0, InvalidOid, queue, k_taken}, id))
        notes.any_taken = true;
}

OwnIds own_ready(Oid file, int32 queue, uint64 hash, int16 priority) {
    return ids_of({hash, file, queue, priority}, notes.any_made);
}

bool has_taken(Oid file, int32 queue, uint64 hash) {
    return notes.any_taken || find({hash, file, queue, k_taken}) != nullptr;
}

OwnIds own_ended(int32 queue) { return ids_of({0, InvalidOid, queue, k_taken}, notes.any_taken); }

void tell_key_notes() noexcept {
    if (notes.any_made) {
        forget_gaps({MyDatabaseId, InvalidOid, 0});
        return;
    }
    for (const Note &note : std::span(notes.few).first(notes.few_count))
        tell(note);
    for (const Note *note = notes.first; note != nullptr; note = note->next)
        tell(*note);
}

// Their memory goes with the transaction.
void drop_key_notes() noexcept {
    notes.few_count = 0;
    notes.table = nullptr;
    notes.first = nullptr;
    notes.any_made = false;
    notes.any_taken = false;
}

} // namespace scylla::shmem
