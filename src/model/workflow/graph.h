// A definition that has been parsed: its steps in the order of the document with their edges, conditions as programs,
// and the parameters of each step with the defaults of its kind.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/sel/context.h"
#include "model/sel/program.h"
#include "model/workflow/engine.h"
#include "model/workflow/param.h"
#include "model/workflow/param_defaults.h"
#include "model/workflow/reader.h"

namespace scylla::model::workflow {

enum class FailureMode : std::uint8_t { fail_after_running, fail_immediately, ignore_failure };

// Numbers and durations are texts until they are used, because they may contain references. Empty: not given.
struct RetryRule {
    std::string limit{};
    std::string wait{};
    std::string exponent{};
    std::string longest{};
};
enum class FailureClass : std::uint8_t { user, platform, timeout };
struct RetryPolicy {
    bool fixed = false;
    std::array<RetryRule, 3> of{}; // by class
};

struct Edge {
    std::size_t to;
    std::unique_ptr<sel::Program> condition; // null: always
};

// A signal that a step sends when it has succeeded.
struct SignalOutput {
    std::string name{};
    ParamMap params{};
    ParamMap payload{};
};

// A signal that a step waits for.
struct SignalDependency {
    std::string name{};
    ParamMap match{};                      // evaluated as one
    std::vector<std::string_view> signs{}; // the operator for each of these, by index
};

struct StepList;

struct StepNode {
    std::string id{};
    StepKind kind = StepKind::typed;
    std::string type{};
    std::string sub_type{};         // the job type of its template; empty: it has none
    std::string sub_type_version{}; // of the template; empty: not given
    std::string sql{};              // of a step of type Sql
    FailureMode failure_mode = FailureMode::fail_after_running;
    std::string timeout{};
    std::vector<std::string> tags{};    // with those of the workflow and of the loops around it
    ParamMap params{};                  // of all layers except the template's
    ParamMap own{};                     // of a step with a template: those of the definition
    std::vector<std::string> written{}; // those of the definition
    RetryPolicy retries{};
    std::vector<SignalDependency> dependencies{};
    std::vector<SignalOutput> outputs{};
    std::vector<Edge> successors{};
    std::vector<std::size_t> predecessors{};
    std::vector<bool> after{};                 // by index: which steps come before it
    std::size_t rank = 0;                      // each has a higher one than those before it
    std::int64_t concurrency = 0;              // of a foreach; 0: not given
    bool strict = false;                       // ordering of a foreach
    std::vector<std::string> loop_order{};     // of the parameters of a foreach; those that it has not come behind them
    bool sync = true;                          // of a subworkflow
    bool explicit_params = false;              // of a subworkflow
    std::unique_ptr<sel::Program> condition{}; // of a while
    std::unique_ptr<StepList> steps{};         // of a loop
    bool is_loop() const noexcept { return kind == StepKind::foreach || kind == StepKind::while_; }
};

struct StepList {
    std::vector<StepNode> steps{};
    std::unordered_map<std::string_view, std::size_t> places{};

    const StepNode *find(std::string_view id) const {
        const auto found = places.find(id);
        return found == places.end() ? nullptr : &steps[found->second];
    }
    std::size_t place_of(const StepNode &step) const noexcept { return static_cast<std::size_t>(&step - steps.data()); }
};

class Definition {
public:
    explicit Definition(std::int64_t memory) noexcept : heap{memory} {}

    sel::Heap heap; // of literals
    std::string id{};
    std::string timeout{};
    std::string zone{};                         // of the first time trigger
    std::int16_t priority = 0;                  // of tasks
    std::int64_t instance_step_concurrency = 0; // 0: not given
    ParamMap params{};
    StepList steps{};
    std::vector<std::string_view> tags{}; // of all leaf steps
};

// workflow: a sound definition. What it keeps of literals is in the heap of the reader's context.
std::unique_ptr<Definition> read_workflow(const Reader &reader, const Object &workflow);
// Throws ParamFailure and sel::Failure.
std::unique_ptr<Definition> read_definition(std::string_view json, sel::World &world, const sel::Limits &limits);

} // namespace scylla::model::workflow
