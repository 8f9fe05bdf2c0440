// Runs of workflows: what follows from events, as a pure function.
//
// A run executes one definition. Its steps are in scopes: the run itself is a scope, and so is each iteration of a
// loop, inside of the scope that its loop is in. The caller, which stores the runs, gives a turn the scopes of its
// events with all scopes around them; the turn returns what to write, submit, start and cancel. Nothing else is kept
// between turns. A turn after a crash, with the same scopes and events, has the same result.
//
// For callers that must not see an exception: entry points are noexcept, and nothing here owns memory by a destructor.
// release() frees the results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/sel/sel.h"
#include "model/workflow_limits.h"
#include "model/workflow/statuses.h"

namespace scylla::model::workflow {

// ---- definitions ---------------------------------------------------------------------------------------------------

// A parsed definition, for any number of turns.
class Definition;

struct Loaded {
    sel::OutcomeKind kind;  // value, or the kind of the problem
    Definition *definition; // null: it cannot be read
    std::string_view what;  // the problem
    void *owned;
};
// json: the member "workflow" of a request in which check_definition() has found no problem.
Loaded load_definition(std::string_view json, sel::World &world, const sel::Limits &limits) noexcept;
void release(Loaded &loaded) noexcept;

// ---- what is stored ------------------------------------------------------------------------------------------------

struct Retries {
    std::int32_t error = 0;
    std::int32_t platform = 0;
    std::int32_t timeout = 0;
};

// A step that has been created in this run or in an earlier one. A step of an earlier run that will be created again is
// NOT_CREATED, with its last attempt. Times are milliseconds since 1970; 0: none. Texts are JSON objects; empty: none.
struct Step {
    std::string_view id{};
    StepStatus status = StepStatus::created;
    std::int32_t attempt = 1;
    std::int64_t run = 0; // in which it was last changed
    Retries retries{};
    std::string_view params{};  // their values; known from the end of EVALUATING_PARAMS on, with output since FINISHING
    std::string_view edges{};   // whether each successor follows, by id; known when the step is complete
    std::string_view loop{};    // the state of a foreach, while or subworkflow between turns; of others their output
    std::string_view signals{}; // that it waits for or has waited for: an array (dependencies.h)
    std::string_view error{};   // why it has failed: "message", and the members of its task's error
    std::string_view rollup{};  // of a loop: how many leaves in its iterations have which status (see rollup.h)
    std::string_view times{};   // when it entered statuses in which it has waited (step_times.h)
    std::int64_t created = 0;
    std::int64_t started = 0; // STARTING
    std::int64_t ended = 0;
    // When the step needs an event `due`: the end of a Sleep, a wait before a retry, a timeout; or k_next_turn.
    std::int64_t due = 0;
};

// The run itself, or an iteration of a loop.
struct Scope {
    std::int64_t id = 0;     // negative: a new iteration, which gets an id when it is written
    std::int64_t parent = 0; // the scope of the loop; 0: it is the run itself
    std::string_view step{}; // the loop
    std::int64_t number = 0; // of the iteration, from 1
    RunStatus status = RunStatus::in_progress;
    std::string_view
        params{}; // a JSON object of values: those of the run, or what the iteration adds to those around it
    std::span<const Step> steps{};
    std::int64_t created = 0;
    std::int64_t ended = 0;
    std::int64_t due = 0; // of the run itself: its timeout
    // Of the run itself: the status of the instance over its runs. Until the run has ended: its value before the run.
    RunStatus aggregated = RunStatus::succeeded;
    std::string_view error{}; // of the run itself: why it has ended, if that is not for its steps; "message"
};

// ---- a run begins --------------------------------------------------------------------------------------------------

struct RunName {
    std::string_view workflow;
    std::int64_t instance = 0;
    std::int64_t run = 0;
    std::string_view initiator{};  // JSON: {"type": "MANUAL", "user": …}, {"type": "TIME", "timezone": …}, …
    std::string_view properties{}; // JSON: those of the workflow when the run began
    // Of a run that is not the first of its instance, JSON: {"policy", "step", "below", "step_params": {step: {name:
    // value}}, "params": {name: value}, "skip_steps": [step]}. params: those of an instance that the restart of another
    // one leads to. below: which part of the step runs again, see RestartPath.
    std::string_view restart{};
    std::string_view step_params{}; // JSON, as those of a restart, that the instance was started with
    RunLimits limits{};
};

// The loops that a step is in, the outer one first. Nothing: the definition has no such step.
struct LoopsAround {
    static constexpr std::size_t k_most = 16;
    std::size_t count = 0;
    std::array<std::string_view, k_most> ids{}; // views of the definition
    std::array<bool, k_most> repeats{};         // it is a while
};
std::optional<LoopsAround> loops_around(const Definition &definition, std::string_view step) noexcept;

// The statement of a step of type Sql, at any depth of the definition; empty: there is no such step. A view of the
// definition.
std::string_view find_statement(const Definition &definition, std::string_view step) noexcept;

// The values of the parameters of a new run, or a problem with them. request: a JSON object; a member is a parameter in
// the form of definitions ({"type", "value"}), or just a value, which has the type that the definition gives it.
struct Outcome {
    sel::OutcomeKind kind; // value: text is a JSON object
    std::string_view text;
    void *owned;
};
Outcome evaluate_run_params(const Definition &definition, const RunName &name, std::string_view request,
                            sel::World &world, const sel::Limits &limits) noexcept;
void release(Outcome &outcome) noexcept;

// ---- an instance runs again ----------------------------------------------------------------------------------------

// A run that is not the first of its instance continues with the scopes and steps of the runs before it. The steps that
// it runs again go back to NOT_CREATED, with the number of their last attempt; the others stay as they are. It begins
// by an event `restart`.

enum class RestartPolicy : std::uint8_t { from_incomplete, from_beginning, from_specific };
inline constexpr std::array<std::string_view, 3> k_restart_policies{"RESTART_FROM_INCOMPLETE", "RESTART_FROM_BEGINNING",
                                                                    "RESTART_FROM_SPECIFIC"};

// Which part of a step runs again, if not everything incomplete in it: JSON, one level for each loop and subworkflow.
// Of a loop {"iteration": 3, "step": "copy", "below": {…}}: of this iteration, the step and what follows it. Of a
// subworkflow {"workflow", "instance", "policy", "step", "below", "params", "step_params", "skip_steps"}: the instance
// that it has started, restarted so. Other iterations and steps stay as they are.
using RestartPath = std::string_view; // empty: all that is incomplete

struct Restart {
    RestartPolicy policy = RestartPolicy::from_incomplete;
    std::string_view within{};                       // the loop whose iteration runs again; empty: the run itself does
    std::string_view step{};                         // with from_specific: it and its successors run again
    std::span<const std::string_view> with_params{}; // steps that get parameters
    std::span<const std::string_view> skipped{};     // steps that are skipped
};
enum class RestartProblem : std::uint8_t {
    none,
    unknown_step,  // the workflow has no such step
    not_a_start,   // a step before it has to run again, too
    nothing_to_do, // all steps are complete
    outside,       // a step that is named does not run again
    out_of_memory,
};
struct RestartCheck {
    RestartProblem problem;
    std::string_view step; // the step with the problem, as it was given
};
// Whether the step could have begun and has not, as a step that failed has kept others from beginning, or a restart did
// not choose it: it has not been created, and all steps before it are complete. steps: those of the run, or of the
// iteration that the step is in.
bool is_held_back(const Definition &definition, std::span<const Step> steps, std::string_view step) noexcept;
// steps: those of the run, or of the iteration.
RestartCheck check_restart(const Definition &definition, std::span<const Step> steps, const Restart &restart) noexcept;

// The parameters of the next run: the values of the run before it (JSON), overwritten by those that are given now.
Outcome evaluate_restart_params(const Definition &definition, const RunName &name, std::string_view before,
                                std::string_view given, sel::World &world, const sel::Limits &limits) noexcept;

// ---- a turn --------------------------------------------------------------------------------------------------------

enum class EventKind : std::uint8_t {
    start,   // of the run, or of a step that waits for a retry
    restart, // of the run, if it is not the first of its instance; or of an iteration (see Again; data: its path)
    restart_inside, // of an iteration that has ended in a live foreach; data: its path, with a step
    permitted,      // the task of a step that waits for permits has its permits
    task_completed, // data: the result, which may be an object {"params": {name: value}, "artifacts": {…}}
    task_failed,    // data: the error, an object with "code", "message" and optionally "class": user, platform, timeout
    task_aborted,   // likewise: its worker has given up the task for good
    task_cancelled, // the task was cancelled
    child_started,  // of a subworkflow; data: {"workflow", "instance", "run", "status"}
    child_failed,   // it could not be started; data: an error
    child_ended,    // data: {"status": "SUCCEEDED"}
    due,            // the time `due` of a step, or of the run (step is empty), has passed; ignored before that time
    refused,        // the task could not be submitted, or its parameters not read; data: an error
    signals_sent,   // those of Turn::announcements
    signals_refused, // they could not be sent; data: an error
    stop,            // of a step, or of the run: it ends STOPPED; data: of the run, its error
    kill,            // likewise FATALLY_FAILED, or FAILED; data: likewise
    // Of a step whose task runs: members for the result of the task. data: {"params": {…}, "artifacts": {…}, "at":
    // microseconds}; a later time overwrites an earlier one, in any order of arrival.
    output,
    skip,     // of a step, also of one that has failed: it is complete, and its successors may begin
    resume,   // of a step that is PAUSED: it continues
    unpaused, // of a step that has not begun because its workflow was paused: it checks again
    // A step that has ended without being complete gets another attempt; one that a restart holds back begins. data:
    // its path
    restart_step,
    // A signal that a step waits for (Turn::waits). data: {"number": from 0, "signal": {"name", "seq", "params",
    // "sent"}}
    signal_matched,
    bypass,  // of a step that waits for signals: it continues without those that were not sent
    timeout, // a `due` that was put back: the step, or the run, has reached its timeout
    halt,    // of a scope in which a step has failed that fails all: what still runs is stopped
    give_up, // of a loop: it fails as soon as nothing runs inside of it; data: its error
};

struct Event {
    EventKind kind;
    std::int64_t scope;
    std::string_view step{};  // empty: of the run
    std::int32_t attempt = 0; // of the step at the time of the event; 0: any. Ignored if the step has another one.
    std::string_view data{};  // JSON; empty: none
    std::int64_t action = 0;  // of the caller, kept when the event is put back
    std::int32_t tries = 0;   // how often it has been put back
};

// Values of other scopes, for getFromForeach and getFromSubworkflow (see Need).
struct Supply {
    std::int64_t scope;
    std::string_view step;
    std::string_view inner;
    std::string_view param;
    std::string_view json; // an array of the values in the order of the iterations, or a value; empty: there is none
};

// Pools of which leaf steps need a permit. Steps that need none start at once.
struct Permits {
    std::span<const std::string_view> of_all{}; // pools that each leaf step needs
    std::span<const std::string_view> tags{};   // those of tags_of() that have a pool, see k_tag_pool_prefix
};
inline constexpr std::string_view k_tag_pool_prefix = "tag:"; // followed by the tag: the name of its pool
inline constexpr std::string_view k_permits = "permits";      // the resource
// All tags that leaf steps have: those of the workflow, of loops around the step and of the step itself. Views of the
// definition.
std::span<const std::string_view> tags_of(const Definition &definition) noexcept;
// The value in the definition; 0: not given.
std::int64_t instance_step_concurrency_of(const Definition &definition) noexcept;
// Keeps steps from beginning.
struct Hold {
    std::string_view step{};                    // is PAUSED before it begins; empty: no step of the run begins
    std::span<const std::int64_t> iterations{}; // that the step is in, the outer one first; empty: in all
};

struct Run {
    RunName name;
    std::span<const Scope> scopes; // [0]: the run itself; those around a scope before it
    std::span<const Event> events; // in the order of arrival
    std::span<const Supply> supplies{};
    Permits permits{};
    std::span<const Hold> holds{};
};

// Values of other scopes or runs that the turn reads and was not given: repeat it with them.
struct Need {
    enum class What : std::uint8_t {
        foreach,
        subworkflow,
        // The next iterations of the loop that have not succeeded, as [[number, scope], …], in the order of their
        // numbers; inner: after this number; param: maximum number.
        iterations,
        // Counts of a foreach's iterations by status, without one iteration, as {"id": the scope of that one,
        // "succeeded", "failed", "stopped", "timed_out"}; inner: its number; param: k_but_one. Empty: there is no such
        // iteration.
        but_one,
        // A job template; inner: its job type; param: its version. Scope and step are not set. {"templates": an array
        // of it and of those that it inherits from, "limited": those of their tags that have a pool which the owner of
        // the run may use}
        job_template,
        // Takes away what a step has begun (inner: one of work::; param: k_end_work), unless somebody else is ending it
        // or has ended it, which its event tells later. "true": it is gone, and the turn ends the step. "false": not
        // yet. A task is cancelled, the run of a subworkflow is told to stop; of a loop, whether no iteration lives but
        // those that the turn was given.
        end_work,
    };
    What what;
    std::int64_t scope;
    std::string_view step;
    std::string_view inner;
    std::string_view param;
    std::string_view loop; // of the step
};

inline constexpr std::string_view k_but_one = "but one";
inline constexpr std::string_view k_end_work = "end work"; // Need::param; its inner is one of work::
namespace work {
inline constexpr std::string_view task = "task";
inline constexpr std::string_view subworkflow = "subworkflow";
inline constexpr std::string_view iterations = "iterations";
} // namespace work

struct StepChange {
    std::int64_t scope;
    bool is_new;
    bool new_attempt;  // the old row is kept as that of the earlier attempt
    bool same_params;  // the parameters are unchanged, and need not be written
    Step step;         // as it is now
    StepStatus before; // not_created if it is new
};
struct ScopeChange {
    bool is_new;
    Scope scope; // as it is now, without its steps
};
struct NewTask {
    std::int64_t scope;
    std::string_view step;
    std::string_view queue;
    std::string_view spec; // {"workflow", "instance", "run", "step", "attempt", "type", "params", "iteration": [3, 1]}
    std::int16_t priority;
    std::string_view needs{}; // of pools, for submit(), which the task waits for. Empty: none
    bool at_once = false;     // the step may begin at once if the task gets them (begin_at_once())
};
// Cancels the work that a step has begun.
struct Cancel {
    enum class What : std::uint8_t {
        task,        // it is gone already, see Need::What::end_work
        subworkflow, // likewise
        // Of a loop, everything inside that has not ended: iterations and steps end STOPPED, and their tasks and
        // subworkflows are cancelled, whether the turn was given them or not (if it was, they are among its changes).
        // What somebody else is ending stays as it is, with what is around it: then the loop has not ended either.
        iterations,
    };
    What what;
    std::int64_t scope;
    std::string_view step;
};
// Starts a subworkflow. An event child_started or child_failed must follow.
struct Child {
    std::int64_t scope;
    std::string_view step;
    std::int32_t attempt;
    std::string_view workflow;
    std::string_view version; // a selector
    std::string_view params;  // JSON, as the request of evaluate_run_params()
    bool sync;
    // The instance that an earlier run has started, if it runs again; 0: a new one.
    std::int64_t instance;
    RestartPath below; // of that instance
};

// Sends signals, all of them or none. An event signals_sent or signals_refused must follow.
struct Announcement {
    std::int64_t scope;
    std::string_view step;
    std::int32_t attempt;
    std::string_view signals; // [{"name", "params": {…}, "payload": {…}}]
};
// A step waits for signals, including earlier ones. An event signal_matched follows for each, or signals_refused.
struct Wait {
    std::int64_t scope;
    std::string_view step;
    std::int32_t attempt;
    std::string_view signals; // [{"number" of the signal from 0, "signal", "match": {…}}]
};
// An iteration of an earlier run runs again. An event `restart` of it must follow, with that attempt.
struct Again {
    std::int64_t scope;
    std::int32_t attempt; // of the loop
    RestartPath below;
};
// What becomes of the iterations of a loop that has run before, with all iterations inside of them.
struct Kept {
    enum class As : std::uint8_t {
        history, // it begins with the first one again
        aside,   // it will run again, and may go on with them then. They are not shown until it does
        present, // it has begun again
    };
    As as;
    std::int64_t scope;
    std::string_view step;
};

// An event that cannot have its effect yet, because something that it must take away is being ended by somebody else.
// It must come again, soon, and in each turn of the run: until then nothing that it ends may go on.
using PutBack = Event;
// What a turn has left for the next one, which must follow at once: steps whose `due` is k_next_turn.
enum class Rest : std::uint8_t {
    none,
    some, // the turn had done enough (World::is_late() among it), or it needs what this turn writes
    slow, // an evaluation took longer than Limits::patience
};
inline constexpr std::int64_t k_next_turn = 1; // in Step::due, milliseconds

struct Turn {
    sel::OutcomeKind kind = sel::OutcomeKind::value; // stopped or out_of_memory: no changes
    std::span<const Need> needs{};                   // if not empty, all else is empty
    std::span<const ScopeChange> scopes{};           // outer before inner ones; the run itself may be missing
    std::span<const StepChange> steps{};             // each step once
    std::span<const NewTask> tasks{};
    std::span<const Cancel> cancels{};
    std::span<const Child> children{};
    std::span<const Announcement> announcements{};
    std::span<const Wait> waits{};
    std::span<const Again> again{};
    std::span<const Kept> kept{}; // before iterations and steps are written
    std::span<const PutBack> put_back{};
    Rest rest = Rest::none;
    void *owned = nullptr;
};
Turn take_turn(const Definition &definition, const Run &run, sel::World &world, const sel::Limits &limits) noexcept;
void release(Turn &turn) noexcept;

// The tasks at these indexes, which rise, got their permits when they were submitted, so no event will tell that. All
// must have `at_once`. Their steps run from now on, also in the rollups of the loops around them. False: out of memory.
bool begin_at_once(Turn &turn, std::span<const std::size_t> tasks, std::int64_t now) noexcept;

} // namespace scylla::model::workflow
