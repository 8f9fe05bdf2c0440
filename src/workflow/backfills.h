// Backfills: a workflow is started once for each of many items, with a maximum of live runs (docs/workflows.md).
//
// The items are rows. The call that makes a backfill starts the first ones. The end of each run puts a row on the
// agenda of that run, and the engine starts the next item as the role that made the backfill.
#pragma once

#include "workflow/runs.h"

namespace scylla::workflow {

// What a backfill does with an item if a run with its parameters exists.
enum class Existing : std::uint8_t { start, skip, skip_all };
inline constexpr std::array<std::string_view, 3> k_existing = {"start", "skip", "skip_all"};

// The parameters of each run, from an argument `items`: 1 to k_max_items objects. 22023.
inline constexpr int32 k_max_items = 25'000;
std::span<Jsonb *const> expand_items(Jsonb *items);

struct Backfill {
    const text *workflow;
    const text *version; // a selector
    std::span<Jsonb *const> items;
    int32 concurrency = 1;
    Existing existing = Existing::start;
    bool yields = false;
};
// Made by the current user. Returns its number. 42704, 42501, 55000, 22023.
int64 begin_backfill(const Backfill &backfill);

struct Previewed {
    bool starts;
    int64 instance;     // of the last run with these parameters; 0: there is none
    const text *status; // of it
};
// In the order of the items. 42704, 42501, 55000.
std::span<const Previewed> preview_backfill(const Backfill &backfill);

// P0002, 42501, 55000.
void pause_backfill(int64 id);
void resume_backfill(int64 id);
int64 cancel_backfill(int64 id, bool stop_runs);

// For the engine, when a run of a backfill has ended. False: another transaction holds a lock, try again later.
bool go_on_with_backfill(const Item &ended);

// When a run is removed.
void forget_backfilled(int64 run);

} // namespace scylla::workflow
