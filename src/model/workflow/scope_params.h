// What an expression of a step can read: parameters of the step, of the loops around it, of
// steps before it, and of the run.
#pragma once

#include <string>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

class ScopeParams final : public sel::Params {
public:
    // step: that evaluates the expression; null: the run. with_own: its parameters are known, and are read first.
    ScopeParams(RunState &state, LiveScope &scope, LiveStep *step, bool with_own) noexcept
        : state_{state}, scope_{scope}, step_{step}, with_own_{with_own} {}

    // Read before all others: the values of a while for its next iteration.
    void put_first(const sel::Map &values) noexcept { first_ = &values; }

    std::optional<sel::Value> find(std::string_view name, sel::Context &context) override;
    // A parameter of the step, or of one before it, that was never evaluated.
    bool knows(std::string_view name) override;
    std::optional<sel::Value> find_from(std::string_view function, sel::Args args, sel::Context &context) override;
    // From the step, the iterations and loops around it, or the run. Null: there is none.
    const sel::Value *find_around(std::string_view name);

private:
    struct Found {
        LiveScope *scope;
        LiveStep *step;
    };
    std::optional<sel::Value> find_joined(std::string_view name, sel::Context &context);
    Found find_step(std::string_view id);
    std::optional<sel::Value> of_step(std::string_view id, std::string_view param, sel::Context &context);
    // What the last iteration of a while has left.
    std::optional<sel::Value> of_while(const LiveStep &step, std::string_view param, sel::Context &context);
    std::optional<sel::Value> own_field(std::string_view field, sel::Context &context) const;
    std::optional<sel::Value> of_others(Need::What what, sel::Args args, sel::Context &context);

    RunState &state_;
    LiveScope &scope_;
    LiveStep *step_;
    bool with_own_;
    const sel::Map *first_ = nullptr;
};

// Parameters of a loop itself, which its iterations cannot read.
bool is_of_the_loop(std::string_view name) noexcept;
// What step__param can read besides the parameters of the step.
bool is_pseudo_param(std::string_view name) noexcept;
// "a___b" with the steps "a" and "a_"
std::string ambiguous_name(std::string_view name, std::string_view one, std::string_view other);

// The numbers of the iterations around a scope, the outermost one first, as "3,1".
std::string path_of(const LiveScope &scope);

} // namespace scylla::model::workflow
