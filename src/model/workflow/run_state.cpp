#include "model/workflow/run_state.h"

#include "model/sel/json.h"
#include "model/workflow/no_params.h"

namespace scylla::model::workflow {

namespace {

sel::Limits patient(sel::Limits limits) noexcept {
    limits.patience = sel::Limits{}.patience;
    return limits;
}

} // namespace

RunState::RunState(const Definition &of, const Run &given, sel::World &with_world, const sel::Limits &with_limits,
                   std::deque<std::string> &texts)
    : definition{of}, run{given}, world{with_world}, limits{patient(with_limits)}, now{with_world.now_millis()},
      texts_{texts}, of_evaluations_{with_limits} {
    for (const Scope &scope : run.scopes)
        load(scope);
}

// Scopes and steps that are not in the definition are left out: nothing can follow from them.
void RunState::load(const Scope &scope) {
    LiveScope *around = nullptr;
    LiveStep *loop = nullptr;
    const StepList *list = &definition.steps;
    if (!scopes.empty()) {
        around = find_scope(scope.parent);
        const StepNode *node = around == nullptr ? nullptr : around->list->find(scope.step);
        if (node == nullptr || node->steps == nullptr || find_scope(scope.id) != nullptr)
            return;
        loop = &around->steps[around->list->place_of(*node)];
        list = node->steps.get();
    }
    LiveScope &live = add_scope(*list, around, loop);
    live.now = scope;
    live.now.steps = {};
    by_id_.emplace(scope.id, &live);
    for (const Step &step : scope.steps) {
        const StepNode *node = list->find(step.id);
        if (node == nullptr)
            continue;
        LiveStep &there = live.steps[list->place_of(*node)];
        there.now = step;
        there.now.id = node->id;
        there.before = step.status;
        there.attempt_before = step.attempt;
        there.params_before = step.params;
        there.rollup_before = step.rollup;
        there.times_before = step.times;
        there.is_stored = true;
    }
}

LiveScope &RunState::add_scope(const StepList &list, LiveScope *around, LiveStep *loop) {
    LiveScope &live = scopes.emplace_back();
    live.list = &list;
    live.around = around;
    live.loop = loop;
    live.steps.resize(list.steps.size());
    for (std::size_t place = 0; place < live.steps.size(); place++)
        live.steps[place].node = &list.steps[place];
    return live;
}

LiveScope *RunState::find_scope(std::int64_t id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
}

LiveScope &RunState::add_iteration(LiveScope &around, LiveStep &loop, std::int64_t number, std::string params) {
    iterations_++;
    LiveScope &made = add_scope(*loop.node->steps, &around, &loop);
    made.is_new = true;
    made.now.id = -static_cast<std::int64_t>(iterations_);
    made.now.parent = around.now.id;
    made.now.step = loop.node->id;
    made.now.number = number;
    made.now.params = keep(std::move(params));
    made.now.created = now;
    return made;
}

std::unique_ptr<Parsed> RunState::parse(std::string_view json) {
    auto parsed = std::make_unique<Parsed>(limits.memory);
    NoParams none;
    sel::Context context(parsed->heap, world, none, limits);
    if (json.empty()) {
        parsed->map = sel::make_map(parsed->heap);
        return parsed;
    }
    const sel::Value value = sel::read_json(context, json);
    if (value.type != sel::Type::map)
        sel::fail(sel::FaultKind::value, "what is stored is no object");
    parsed->map = value.map;
    return parsed;
}

const sel::Map &RunState::step_params() {
    if (step_params_ == nullptr)
        step_params_ = parse(run.name.step_params);
    return *step_params_->map;
}

const sel::Map &RunState::params_of(LiveScope &scope) {
    if (scope.params == nullptr)
        scope.params = parse(scope.now.params);
    return *scope.params->map;
}

const sel::Map &RunState::params_of(LiveStep &step) {
    if (step.params == nullptr)
        step.params = parse(step.now.params);
    return *step.params->map;
}

const sel::Map &RunState::edges_of(LiveStep &step) {
    if (step.edges == nullptr)
        step.edges = parse(step.now.edges);
    return *step.edges->map;
}

std::string_view RunState::keep(std::string text) {
    if (text.empty())
        return {};
    bytes_ += text.size();
    return texts_.emplace_back(std::move(text));
}

const sel::Limits &RunState::begin_evaluation() {
    if (!world.may_begin())
        throw NotYet{};
    return of_evaluations_;
}

void RunState::look_whether_to_stop() {
    if (world.stop())
        throw sel::Failure{{sel::FaultKind::stopped, {}, "stopped"}};
}

std::string json_text(std::string_view text) {
    constexpr char k_digits[] = "0123456789abcdef";
    std::string json = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            json += '\\';
            json += c;
        } else if (byte < 0x20) {
            json += "\\u00";
            json += k_digits[byte >> 4U];
            json += k_digits[byte & 15U];
        } else {
            json += c;
        }
    }
    json += '"';
    return json;
}

} // namespace scylla::model::workflow
