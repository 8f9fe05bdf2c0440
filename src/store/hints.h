// Where this backend has last seen rows. A worker returns to the tasks that it has leased, mostly on the same
// connection. A hint saves the descent of an index, the memory of a scan (28 kB) and, while a snapshot holds back
// vacuum, the walk over all dead versions that heartbeats have left behind.
//
// A hint may be wrong: the row may have moved or be gone, or another row may be in its place. So the caller checks that
// its snapshot sees a row there and that it is the right one, and otherwise uses the index.
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
