// What a pass works on: the lines of some pools, of each class of tasks the first one. They can be read in portions, in
// several transactions.
#pragma once

#include "pool/room.h"

namespace scylla {

struct KnownClass {
    store::LineRow line; // of its first task, as it was read
    float8 aging;
    model::Waiting first; // that no pass has taken out of the line
    bool taken = false;   // the last task that the model was given has left the line
    bool stayed = false;  // the first one has been left in the line
    bool ended = false;   // all have left it
};

// How far the line of a pool has been read.
struct LineCursor {
    std::size_t pool;
    int64 after_class = PG_INT64_MIN;
    bool done = false;
};

// Finds the index of an element by a key.
struct Index {
    HTAB *table;
};

struct Pass : Room {
    store::Store *store;    // of the present transaction
    std::size_t seeds;      // it began with the lines of the pools 1 to this one
    Growing<bool> has_line; // of a pool: it is in `lines`
    Growing<LineCursor> lines;
    Growing<KnownShape> known_shapes;
    Growing<model::Shape> shapes;
    Index shape_index;
    Growing<KnownClass> known_classes;
    Growing<model::TaskClass> classes;
    Index class_index;
    std::size_t followed;         // so many classes have added the pools that they need
    Growing<std::size_t> started; // of each role
    Index role_index;
    std::size_t widest; // the largest number of cells in a way
    bool renewed;       // tasks may have left the line since it was read
};

// A pass over the lines of these pools. Others are added when tasks in line need them.
Pass begin_pass(store::Store &store, std::span<const int64> pools);
// Reads at most so many classes more. From each line a share of them, so that short lines are read to their end first.
// False: there are more.
bool read_lines(Pass &pass, store::Store &store, std::size_t most);
// Nothing starts in pools whose line has not been read to its end.
void let_unread_rest(Pass &pass);
// The pools, their heads, and the order of the classes as they are now, for a pass that did not hold the lock of the
// passes since it began.
void renew(Pass &pass, store::Store &store);
// What is free in the pools that tasks in line need. Under the lock of the passes.
void count_all_reservations(Pass &pass);

model::Waiting waiting_of(const Pass &pass, const store::LineRow &row, float8 aging);

} // namespace scylla
