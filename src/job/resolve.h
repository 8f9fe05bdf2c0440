// From a request to the chunks that run, and what they wait for.
#pragma once

#include "job/jobs.h"

namespace scylla::job {

struct Options {
    model::Prune prune = model::Prune::slice;
    bool strict_order = false;
    const text *variant = nullptr;    // not null
    const text *request_id = nullptr; // may be null
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
struct Resolved {
    std::span<const Type> types; // the requested one first
    std::span<const Node> nodes; // likewise
    std::span<const model::JobNeed> needs;
    std::span<const model::JobRange> ids;
    std::span<const int64> before; // how many ids there are before each range
    std::span<const Chunk> chunks; // each behind those that it waits for
    std::span<const std::size_t> on;
    std::span<const LeftOut> left_out;
    TimestampTz now;
};
// 42704, 42501 (submit on the queues), 22023, 54000.
Resolved resolve(store::Store &store, const Request &request, const Options &options);

// The ids of a chunk, as they were asked for.
std::span<const model::JobRange> ids_of(const Resolved &resolved, const model::JobChunk &chunk);

} // namespace scylla::job
