#include "model/workflow/turn.h"

#include <algorithm>

#include "model/workflow/scope_params.h"

namespace scylla::model::workflow {

namespace {

class Collector {
public:
    Collector(RunState &state, TurnMemory &memory) noexcept : state_{state}, memory_{memory} {}

    void collect() {
        for (LiveScope &scope : state_.scopes) {
            if (scope.is_new || scope.is_changed)
                memory_.scopes.push_back({scope.is_new, scope.now});
            for (LiveStep &step : scope.steps) {
                if (step.is_changed)
                    collect(scope, step);
            }
        }
        memory_.again = state_.again;
        memory_.put_back = state_.put_back;
        memory_.rest = state_.rest();
    }

private:
    void collect(LiveScope &scope, LiveStep &step) {
        const bool same_params = step.is_stored && step.now.params.data() == step.params_before.data();
        step.now.run = state_.run.name.run;
        step.place = memory_.steps.size();
        memory_.steps.push_back({.scope = scope.now.id,
                                 .is_new = step.is_new,
                                 .new_attempt = step.new_attempt,
                                 .same_params = same_params,
                                 .step = step.now,
                                 .before = step.before});
        if (step.rolls_up)
            memory_.rollups.emplace(step.place, std::move(*step.rollup));
        if (const auto as = kept_as(scope, step))
            memory_.kept.push_back({*as, scope.now.id, step.node->id});
        if (step.drops_work)
            memory_.cancels.push_back({step.node->is_loop()                       ? Cancel::What::iterations
                                       : step.node->kind == StepKind::subworkflow ? Cancel::What::subworkflow
                                                                                  : Cancel::What::task,
                                       scope.now.id, step.node->id});
        if (!step.signals.empty() && step.now.status == StepStatus::finishing)
            memory_.announcements.push_back({scope.now.id, step.node->id, step.now.attempt, step.signals});
        if (!step.waits.empty() && step.now.status == StepStatus::waiting_for_signals)
            memory_.waits.push_back({scope.now.id, step.node->id, step.now.attempt, step.waits});
        if (!step.wants_work)
            return;
        if (step.node->kind == StepKind::subworkflow)
            memory_.children.push_back({.scope = scope.now.id,
                                        .step = step.node->id,
                                        .attempt = step.now.attempt,
                                        .workflow = step.target,
                                        .version = step.version,
                                        .params = step.request,
                                        .sync = step.node->sync,
                                        .instance = step.instance,
                                        .below = step.below});
        else
            collect_task(scope, step);
    }

    // What becomes of the iterations of a loop. Nothing: it has none, or they stay what they are.
    static std::optional<Kept::As> kept_as(const LiveScope &scope, const LiveStep &step) noexcept {
        if (scope.is_new || !step.is_stored || !step.node->is_loop())
            return std::nullopt;
        if (step.forgets)
            return Kept::As::history;
        const bool was_there = step.before != StepStatus::not_created;
        const bool is_there = step.now.status != StepStatus::not_created;
        if (was_there == is_there)
            return std::nullopt;
        return is_there ? Kept::As::present : Kept::As::aside;
    }

    // Not at once with a timeout, which is evaluated when the step begins.
    void collect_task(const LiveScope &scope, const LiveStep &step) {
        const bool at_once = step.now.status == StepStatus::waiting_for_permits && step.node->timeout.empty() &&
                             state_.ends_before_default_timeout(state_.now);
        if (at_once)
            memory_.beginners.push_back({memory_.tasks.size(), step.place, ref_of(scope, step, step.now.attempt),
                                         step.new_attempt ? std::string_view{} : step.times_before});
        for (const LiveScope *in = &scope; at_once && in->loop != nullptr; in = in->around) {
            if (in->loop->rolls_up)
                memory_.beginners.back().loops.push_back(in->loop->place);
        }
        memory_.tasks.push_back({.scope = scope.now.id,
                                 .step = step.node->id,
                                 .queue = step.target,
                                 .spec = state_.keep(spec_of(scope, step)),
                                 .priority = state_.definition.priority,
                                 .needs = step.needs,
                                 .at_once = at_once});
    }

    std::string spec_of(const LiveScope &scope, const LiveStep &step) const {
        const RunName &name = state_.run.name;
        std::string json = "{\"workflow\":" + json_text(name.workflow) +
                           ",\"instance\":" + std::to_string(name.instance) + ",\"run\":" + std::to_string(name.run) +
                           ",\"step\":" + json_text(step.node->id) +
                           ",\"attempt\":" + std::to_string(step.now.attempt) +
                           ",\"type\":" + json_text(step.node->type) + ",\"params\":";
        json += step.now.params.empty() ? std::string_view{"{}"} : step.now.params;
        if (scope.around != nullptr)
            json += ",\"iteration\":[" + path_of(scope) + "]";
        return json + "}";
    }

    RunState &state_;
    TurnMemory &memory_;
};

} // namespace

void collect(RunState &state, TurnMemory &memory) {
    roll_up(state);
    Collector(state, memory).collect();
}

void begin(TurnMemory &memory, const Beginner &beginner, std::int64_t now) {
    Step &step = memory.steps[beginner.step].step;
    const Rollup before = rollup_of(step.status, beginner.ref);
    const Rollup after = rollup_of(StepStatus::running, beginner.ref);
    step.status = StepStatus::running;
    step.started = std::max(now, step.created); // the caller's time may be that of the turn's begin
    step.times = beginner.times;
    for (const std::size_t loop : beginner.loops) {
        Rollup &rollup = memory.rollups.at(loop);
        segregate(rollup, before);
        aggregate(rollup, after);
    }
}

void write_rollups(TurnMemory &memory) {
    for (const auto &[loop, rollup] : memory.rollups)
        memory.steps[loop].step.rollup = memory.texts.emplace_back(write_rollup(rollup));
}

} // namespace scylla::model::workflow
