// Resolving a request: the chunks that run, and what they wait for.
#pragma once

#include "job/jobs.h"
#include "pg/identity.h"

namespace scylla::job {

struct Options {
    model::Prune prune = model::Prune::slice;
    bool strict_order = false;
    bool wait = true;                 // for older plans that are running something which this one needs
    const text *variant = nullptr;    // not null
    const text *request_id = nullptr; // may be null
    text *plan = nullptr;             // its name; null: one is generated
    std::optional<TimestampTz> not_before = {};
};
// 22023.
Options read_options(Jsonb *options);

// A type with the arguments that its tasks get.
struct Node {
    std::size_t type;
    Jsonb *args;
};
struct Chunk {
    model::JobChunk ids;
    model::JobReason reason;
    std::size_t first_on, on_count; // in Resolved::on
};
struct LeftOut {
    std::size_t of; // the chunk that would need it
    model::JobChunk ids;
    model::JobReason reason;
};
// A task of an older plan that has not ended, of a job that the requested one needs, for some of its ids. It counts as
// a success that begins now, or has begun with its lease.
struct LiveTask {
    std::size_t type;
    text *rn;
    const text *plan;
    Datum id_set; // int8multirange
    std::span<const model::JobRange> ids;
    TimestampTz began;
    TimestampTz oldest = model::k_never; // when the last success began, of the requested ids that are its own
};
struct LiveTasks {
    std::span<LiveTask> tasks; // in the order of their ids
    std::span<bool> needed;    // by type and type: whether the first is the second, or needs it
};
// Those on which the caller may depend.
LiveTasks find_live(store::Store &store, std::span<const Type> types, std::span<const model::JobRange> ids,
                    const Options &options);

// Who the caller is while a run is made: itself, or the owner of the job, whose rights on queues count then.
struct Acting {
    Identity self;
    bool as_owner;
};
void end_acting(store::Store &store, const Acting &acting);

struct Resolved {
    Acting acting;               // to be ended by the caller
    std::span<const Type> types; // the requested one first
    std::span<const Node> nodes; // likewise
    std::span<const model::JobNeed> needs;
    std::span<const model::JobRange> ids;
    std::span<const int64> before; // how many ids there are before each range
    std::span<const Chunk> chunks; // each behind those that it waits for
    std::span<const std::size_t> on;
    std::span<const LeftOut> left_out;
    TimestampTz now;
    LiveTasks live;
};
// 42704, 42501 (submit on the queues), 22023, 54000.
Resolved resolve(store::Store &store, const Request &request, const Options &options);

// Those for which a chunk waits.
std::span<const LiveTask *const> live_for(const Resolved &resolved, const model::JobChunk &chunk);
// Whether the chunk counts on the task: the job that it needs was not planned again because the task is there.
bool counts_on(const Resolved &resolved, const Chunk &chunk, const LiveTask &task);

// The ids of a chunk, as they were asked for.
std::span<const model::JobRange> ids_of(const Resolved &resolved, const model::JobChunk &chunk);

} // namespace scylla::job
