#include "pg/text_table.h"

#include "pg/hash.h"

namespace scylla {

namespace {

extern "C" uint32 hash_entry(const void *entry, Size) {
    return static_cast<uint32>(hash_of(*static_cast<const text *const *>(entry)));
}

extern "C" int compare_entries(const void *a, const void *b, Size) {
    return equal(*static_cast<const text *const *>(a), *static_cast<const text *const *>(b)) ? 0 : 1;
}

} // namespace

HTAB *make_text_table(const char *name, std::size_t entry, MemoryContext context) {
    HASHCTL control{};
    control.keysize = sizeof(const text *);
    control.entrysize = entry;
    control.hash = hash_entry;
    control.match = compare_entries;
    control.hcxt = context;
    return hash_create(name, 64, &control, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

} // namespace scylla
