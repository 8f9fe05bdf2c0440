// Duties: work that time or a commit asks for and that needs no caller. The monitor does them in portions, maintain()
// as a whole. A room registers its duties when the library is loaded.
#pragma once

#include "model/pace.h"
#include "pg/memory.h"
#include "shmem/stats.h"
#include "shmem/timers.h"
#include "store/rows.h"
#include "task/portion.h"

namespace scylla {

// One transaction's work for a duty.
struct DutyTurn {
    TimestampTz now;
    Portion portion;
    int64 before = 0;                  // microseconds of earlier turns whose work this one has ended
    TimestampTz next = shmem::k_never; // lowered by the duty to the next time at which there will be work
};

struct Duty {
    const char *activity; // shown in pg_stat_activity
    // Runs as the owner of the tables, in a transaction of its own. Waits for nobody: it leaves what another
    // transaction is changing, and sets `more`.
    void (*work)(store::Store &store, DutyTurn &turn);
    int64 limit = 1000; // of a portion
    // Commits announce work by this timer. Without a timer, the duty runs again when its pause is over.
    std::optional<shmem::Timer> timer = std::nullopt;
    int64 pause = 0;                         // microseconds after a turn that left nothing; 0: scylla.monitor_interval
    int64 share = model::k_background_share; // work that no timer announced takes at most 1/share of the time
    std::optional<shmem::Work> statistics = std::nullopt; // counts its turns in stat_monitor
    bool is_second_way = false; // finds what a hint has lost: runs at once when hints were dropped
    bool is_removal = false; // removes what is past its retention: part of purge(). A turn that finds nothing to remove
                             // takes 1/model::k_vain of its share
    bool (*has_more)() = nullptr; // whether there is work now, left by another duty
    void (*restart)() = nullptr;  // forgets how far its walk is, because settings or the clock have changed
};

// A portion of a duty's walk through a table in the order of ids. *after: how far the walk has come. The scan begins
// behind it, and it becomes 0 at the end. look(scan) looks at a row and returns its id.
template <typename Look> void walk_portion(DutyTurn &turn, int64 *after, store::Scan scan, Look look) {
    const RowMemory memory = begin_row_memory();
    *after = 0;
    for (int64 seen = 0; next(scan); reset(memory)) {
        const int64 id = look(scan);
        if (++seen == turn.portion.limit) {
            *after = id;
            break;
        }
    }
    end(memory);
    end(scan);
    turn.portion.more = *after != 0;
}

inline constexpr std::size_t k_max_duties = 32;
void register_duty(const Duty &duty);
std::span<const Duty> registered_duties();

} // namespace scylla
