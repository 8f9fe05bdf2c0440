// Turns that are being written.
#pragma once

#include "workflow/turns.h"

namespace scylla::workflow {

// A turn with the ids of its new iterations.
struct Written {
    const Root *root;
    model::workflow::Turn *turn;
    std::span<int64> ids; // index: -1 - the id that the turn has given

    int64 id_of(int64 scope) const { return scope < 0 ? ids[static_cast<std::size_t>(-1 - scope)] : scope; }
};

// A task of a turn, and the result of its submit.
struct NewlySubmitted {
    const Written *of;
    const model::workflow::NewTask *task;
    int64 id;              // 0: it was refused
    bool reserved = false; // it has the permits that its step needs
};

// Submits the tasks of the turns, ordered by the owners of the workflows. A step whose task is refused gets the error
// in the next turn.
std::span<const NewlySubmitted> submit_tasks(std::span<const Written> all);

} // namespace scylla::workflow
