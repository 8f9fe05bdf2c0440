// A run during a turn: the present state of its scopes and steps, and their changes.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/sel/context.h"
#include "model/workflow/graph.h"
#include "model/workflow/rollup.h"
#include "model/workflow/templates.h"

namespace scylla::model::workflow {

// Of runs and steps without a timeout of their own.
inline constexpr std::int64_t k_default_timeout = std::int64_t{10} * 86'400'000;

// A parsed JSON object.
struct Parsed {
    explicit Parsed(std::int64_t memory) noexcept : heap{memory} {}
    sel::Heap heap;
    const sel::Map *map = nullptr;
};

struct LiveStep {
    const StepNode *node = nullptr;
    Step now{.status = StepStatus::not_created};
    StepStatus before = StepStatus::not_created; // the turn
    std::int32_t attempt_before = 0;
    std::string_view params_before{};
    std::string_view rollup_before{};
    std::string_view times_before{};
    bool is_stored = false; // it has a row
    bool is_new = false;
    bool is_changed = false;
    bool new_attempt = false;
    bool wants_work = false;    // a task or a subworkflow must be started
    bool drops_work = false;    // work that was started before this turn must be cancelled
    bool forgets = false;       // its iterations so far become history
    std::string_view needs{};   // of pools, for its task
    bool rolls_up = false;      // the rollup has changed
    std::size_t place = 0;      // index among the changes of the turn, while they are collected
    std::string_view target{};  // of the work that it wants: a queue or a workflow
    std::string_view version{}; // of the workflow
    std::string_view request{}; // the parameters for it
    std::string_view signals{}; // that must be sent before it succeeds, as JSON
    std::string_view waits{};   // the signals that it begins to wait for, as JSON

    std::int64_t instance = 0; // of a workflow that runs again
    RestartPath below{};       // of that instance
    std::unique_ptr<Parsed> params{};
    std::unique_ptr<Parsed> edges{};
    std::unique_ptr<Rollup> rollup{}; // the present one; null: as before
};

struct LiveScope {
    Scope now{}; // its steps are below
    const StepList *list = nullptr;
    LiveScope *around = nullptr; // null: the run itself
    LiveStep *loop = nullptr;    // in the scope around
    bool is_new = false;
    bool is_changed = false;
    bool is_touched = false;       // a step has ended, so the scope may have ended
    bool has_restarted = false;    // an iteration, in this turn
    bool is_closed = false;        // no more steps are created
    std::vector<LiveStep> steps{}; // by index in the list
    std::unique_ptr<Parsed> params{};
};

// A job template that the turn has read.
struct LiveTemplate {
    explicit LiveTemplate(std::int64_t memory) noexcept : heap{memory} {}
    sel::Heap heap;
    JobTemplate joined{};
    std::vector<std::string> limited{}; // those of its tags that have a pool
};

// The request of a restart.
struct RestartRequest {
    std::unique_ptr<Parsed> parsed{};
    RestartPolicy policy = RestartPolicy::from_incomplete;
    std::string_view step{};
    std::string below{};
    std::vector<std::string_view> skipped{};
    const sel::Map *step_params = nullptr; // by step; null: none
};

// Thrown inside the room if a value is read that the turn was not given.
struct NeedMore {
    Need need;
};

// Thrown inside the room if a value is read that exists only when this turn has been written, or if the turn has no
// time left.
using sel::NotYet;

class RunState {
public:
    // texts: those that the turn makes; they live as long as its result.
    RunState(const Definition &definition, const Run &run, sel::World &world, const sel::Limits &limits,
             std::deque<std::string> &texts);
    RunState(const RunState &) = delete;
    RunState &operator=(const RunState &) = delete;

    const Definition &definition;
    const Run &run;
    sel::World &world;
    const sel::Limits limits; // of what cannot be left for later: its patience has no end
    const std::int64_t now;   // one time for the whole turn
    std::deque<LiveScope> scopes{};
    std::vector<Again> again{};
    std::vector<PutBack> put_back{};
    std::vector<Need> needs{}; // of NeedMore, apart from its own
    std::map<std::pair<std::string, std::string>, std::unique_ptr<LiveTemplate>> templates{}; // by job type and version

    // For the evaluation of what a step can be left with until the next turn. Throws NotYet.
    const sel::Limits &begin_evaluation();

    // Null: the turn was not given it, or the definition has no such scope.
    LiveScope *find_scope(std::int64_t id);
    LiveScope &add_iteration(LiveScope &around, LiveStep &loop, std::int64_t number, std::string params);

    // These throw sel::Failure if the stored value cannot be read.
    const RestartRequest &restart(); // restart.cpp
    const sel::Map &step_params();   // that the instance was started with, by step
    const sel::Map &params_of(LiveScope &scope);
    const sel::Map &params_of(LiveStep &step);
    const sel::Map &edges_of(LiveStep &step);
    std::unique_ptr<Parsed> parse(std::string_view json);

    // Whether the run ends before a step that started then reaches the default timeout, as is usual.
    bool ends_before_default_timeout(std::int64_t started) const noexcept {
        return scopes.front().now.due <= started + k_default_timeout;
    }

    std::string_view keep(std::string text);
    // Size of the texts that it has made. A turn that has made many leaves the rest to the next one.
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t iterations() const noexcept { return iterations_; }
    void look_whether_to_stop();
    // Another turn must follow at once, see Turn::rest.
    void leave_rest(Rest rest) noexcept { rest_ = std::max(rest_, rest); }
    Rest rest() const noexcept { return rest_; }

private:
    void load(const Scope &scope);
    LiveScope &add_scope(const StepList &list, LiveScope *around, LiveStep *loop);

    std::deque<std::string> &texts_;
    std::unique_ptr<RestartRequest> restart_{};
    std::unique_ptr<Parsed> step_params_{};
    std::size_t bytes_ = 0;
    std::size_t iterations_ = 0;
    Rest rest_ = Rest::none;
    const sel::Limits &of_evaluations_;
    std::unordered_map<std::int64_t, LiveScope *> by_id_{};
};

// A text as JSON, with its quotes.
std::string json_text(std::string_view text);

} // namespace scylla::model::workflow
