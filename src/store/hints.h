// Where this backend has last seen rows: a worker comes back to the tasks that it has leased, and mostly by the same
// connection. A hint spares the descent of an index, the memory of a scan (28 kB) and, where a snapshot holds back
// vacuum, the walk over all dead versions of a row that heartbeats have left behind.
//
// A hint may be wrong: the row may have moved, gone, or given its place to another. So whoever follows it looks whether
// a row that the snapshot sees is there and is the one in question, and otherwise goes by the index.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

template <std::size_t Size> class Hints {
public:
    // key: the id of the row, or a hash of its name. file: of the table, so that a rewritten table has no old hints.
    void remember(Oid file, uint64 key, const ItemPointerData &tid) noexcept {
        hints_[key % hints_.size()] = {key, file, tid};
    }

    [[nodiscard]] std::optional<ItemPointerData> recall(Oid file, uint64 key) const noexcept {
        const Hint &hint = hints_[key % hints_.size()];
        return hint.file == file && hint.key == key ? std::optional(hint.tid) : std::nullopt;
    }

private:
    struct Hint {
        uint64 key;
        Oid file; // 0: none
        ItemPointerData tid;
    };
    std::array<Hint, Size> hints_{};
};

extern Hints<4096> lease_hints; // by id
extern Hints<4096> spec_hints;  // by the hash of the name

} // namespace scylla::store
