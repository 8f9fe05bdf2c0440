// Job types: what must run, over which ids, before something may run (docs/jobs.md). The idea is Stau's.
//
// A run is resolved once, by the model (model/job_plan.h), and becomes a plan of ordinary tasks with ordinary gates.
// Two more things are stored: which ids each task is for (job_chunk), and what its completion made fresh (job_success).
// The latter row is written with the completion and never changed, so completions never wait for each other.
#pragma once

#include "model/job_fresh.h"
#include "pg/growing.h"
#include "store/job/successes.h"
#include "store/rows.h"

namespace scylla::job {

// ---- definitions ---------------------------------------------------------------------------------------------------

struct Settings {
    int64 chunk_size = 0;              // 0: all ids are one chunk
    const text *select_work = nullptr; // a function, with its schema
    Datum ids = 0;                     // int8multirange: those of a run that names none; 0: none are set
    Jsonb *args = nullptr;             // an object; null: none
    bool allow_multiple = true;
    int32 priority = 0;
    std::optional<int32> max_attempts = {};
    Jsonb *retry = nullptr;
    std::optional<int64> run_timeout = {}; // microseconds
    std::optional<int64> max_wait = {};    // the same; read by the view job_plan
};
struct Need {
    const text *job;
    int64 max_lag; // microseconds
    Jsonb *args;   // an object; null: none
    bool unique;
    bool allow_missing;
};
struct Type {
    int64 id;
    const text *name;
    const char *owner; // a role
    text *queue;
    Settings settings;
    std::span<const Need> needs;
    ArrayType *runners;    // of roles, text[]; null: none
    TimestampTz last_plan; // when the last completed run of it began; model::k_never: none
};

// 22023. Members that are null have their default. select_work is looked up by the search path.
Settings read_settings(Jsonb *settings);
std::span<const Need> read_needs(Jsonb *needs);
// Arguments: an object that leaves "ids" alone; null: none.
Jsonb *read_args(const char *argument, Jsonb *args, int64 element = 0);
const text *find_select_work(const text *name);
// Whether the function returns a set; otherwise an array. 42804: it is gone.
bool returns_set(const text *job, const text *select_work);

struct Definition {
    text *job;
    text *queue;
    Jsonb *settings;
    Jsonb *needs;
};
// 22023, 42501, 42704.
void define(store::Store &store, const Definition &definition);
// 42704, 42501, 2BP01.
void drop(const text *job);
// The id of a job of the current user. 42704, 42501.
int64 require_own(const text *job);

// The privilege to run it. 42704, 42501.
void grant_run(const text *job, const text *role);
void revoke_run(const text *job, const text *role);

// The job, and all that it needs, directly or not: itself first. 42704.
std::span<const Type> read_closure(const text *job, const text *variant);

// ---- what is fresh -------------------------------------------------------------------------------------------------

// Ids that a success brought up to date.
using Stored = store::successes::Success;
// The latest success for each id, sorted.
std::span<const model::FreshRange> fresh_ranges(std::span<const Stored> successes);
// expected: successes that are still to come.
std::span<const model::FreshRange> read_fresh(int64 job, const text *variant, std::span<const Stored> expected = {});

struct Mark {
    const text *job;
    const text *variant;
    Datum ids; // int8multirange
    TimestampTz began;
};
void mark_fresh(const Mark &mark);
// ids: 0: all; variant: null: all. Returns how many successes lose ids.
int64 forget_freshness(const text *job, Datum ids, const text *variant);
// When a plan of a job is removed: removes its chunks, and its successes that newer ones cover.
void forget_plan(int64 plan);

// ---- runs ----------------------------------------------------------------------------------------------------------

struct Request {
    const text *job;
    Datum ids;   // int8multirange; 0: select_work
    Jsonb *args; // an object
    Jsonb *options;
    std::optional<int64> rerun_of = {}; // the plan whose request it is
};
// The plan's name. 42704, 42501, 22023, 55000, 54000, and those of submit.
text *run(store::Store &store, const Request &request);

// A chunk that a run would have, or would leave out.
struct Explained {
    const text *job;
    Datum chunk; // int8multirange
    Jsonb *args;
    ArrayType *depends_on; // text[]
    const char *reason;
    bool runs;
};
struct ExplainedSink {
    void (*put)(void *to, const Explained &row);
    void *to;
};
void explain(store::Store &store, const Request &request, const ExplainedSink &sink);

// Ids as ranges, sorted, without overlaps. 22023: no end.
std::span<const model::JobRange> read_ids(const char *argument, Datum ids);
Datum make_ids(std::span<const model::JobRange> ranges);
ArrayType *make_array(std::span<Datum> values, Oid type);

// When the library is loaded.
void register_completions();
void register_reruns();

} // namespace scylla::job
