// Restarts (docs/workflows.md, Restarts).
#include "model/workflow/restart.h"

#include <algorithm>

#include "model/workflow/advance.h"
#include "model/workflow/dependencies.h"
#include "model/workflow/words.h"

namespace scylla::model::workflow {

// ---- the graph -----------------------------------------------------------------------------------------------------

namespace {

// The steps that a restart begins with, without their successors.
std::vector<std::size_t> starts_of(const std::vector<StepStatus> &statuses, RestartPolicy policy,
                                   std::optional<std::size_t> chosen) {
    std::vector<std::size_t> starts;
    for (std::size_t place = 0; place < statuses.size(); place++) {
        if (policy == RestartPolicy::from_specific
                ? place == chosen
                : policy == RestartPolicy::from_beginning || !is_complete(statuses[place]))
            starts.push_back(place);
    }
    return starts;
}

bool follows_complete_steps(const StepNode &node, const std::vector<StepStatus> &statuses) {
    return std::all_of(node.predecessors.begin(), node.predecessors.end(),
                       [&](std::size_t place) { return is_complete(statuses[place]); });
}

} // namespace

RestartGraph graph_of_restart(const StepList &steps, const std::vector<StepStatus> &statuses, RestartPolicy policy,
                              std::optional<std::size_t> chosen) {
    const std::size_t size = steps.steps.size();
    RestartGraph graph{std::vector<bool>(size), std::vector<bool>(size)};
    std::vector<std::size_t> open = starts_of(statuses, policy, chosen);
    while (!open.empty()) {
        const std::size_t place = open.back();
        open.pop_back();
        if (graph.again[place])
            continue;
        graph.again[place] = true;
        for (const Edge &edge : steps.steps[place].successors)
            open.push_back(edge.to);
    }
    for (std::size_t place = 0; place < size; place++) {
        const auto &before = steps.steps[place].predecessors;
        graph.roots[place] = graph.again[place] && std::none_of(before.begin(), before.end(),
                                                                [&](std::size_t each) { return graph.again[each]; });
    }
    return graph;
}

namespace {

std::vector<StepStatus> statuses_of(const StepList &list, std::span<const Step> steps) {
    std::vector<StepStatus> statuses(list.steps.size(), StepStatus::not_created);
    for (const Step &step : steps) {
        if (const StepNode *node = list.find(step.id))
            statuses[list.place_of(*node)] = step.status;
    }
    return statuses;
}

// The list that the step is in.
const StepList *find_list(const StepList &list, std::string_view step) noexcept {
    if (list.find(step) != nullptr)
        return &list;
    for (const StepNode &node : list.steps) {
        const StepList *found = node.steps == nullptr ? nullptr : find_list(*node.steps, step);
        if (found != nullptr)
            return found;
    }
    return nullptr;
}

const StepList *list_of(const Definition &definition, std::string_view loop) noexcept {
    if (loop.empty())
        return &definition.steps;
    const StepList *around = find_list(definition.steps, loop);
    return around == nullptr ? nullptr : around->find(loop)->steps.get();
}

RestartCheck check(const Definition &definition, std::span<const Step> steps, const Restart &restart) {
    const StepList *found = list_of(definition, restart.within);
    if (found == nullptr)
        return {RestartProblem::unknown_step, restart.within};
    const StepList &list = *found;
    const auto statuses = statuses_of(list, steps);
    const StepNode *chosen = list.find(restart.step);
    if (restart.policy == RestartPolicy::from_specific && chosen == nullptr)
        return {RestartProblem::unknown_step, restart.step};
    const auto graph = graph_of_restart(list, statuses, restart.policy,
                                        chosen == nullptr ? std::nullopt : std::optional(list.place_of(*chosen)));
    if (chosen != nullptr && !follows_complete_steps(*chosen, statuses))
        return {RestartProblem::not_a_start, restart.step};
    if (std::none_of(graph.again.begin(), graph.again.end(), [](bool again) { return again; }))
        return {RestartProblem::nothing_to_do, {}};
    for (const auto &names : {restart.with_params, restart.skipped})
        for (const std::string_view name : names) {
            const StepNode *node = list.find(name);
            if (node == nullptr || !graph.again[list.place_of(*node)])
                return {RestartProblem::outside, name};
        }
    return {RestartProblem::none, {}};
}

} // namespace

RestartCheck check_restart(const Definition &definition, std::span<const Step> steps, const Restart &restart) noexcept {
    try {
        return check(definition, steps, restart);
    } catch (...) { // only bad_alloc is left
        return {RestartProblem::out_of_memory, {}};
    }
}

bool is_held_back(const Definition &definition, std::span<const Step> steps, std::string_view step) noexcept {
    try {
        const StepList *list = find_list(definition.steps, step);
        if (list == nullptr)
            return false;
        const StepNode *node = list->find(step);
        const auto statuses = statuses_of(*list, steps);
        return statuses[list->place_of(*node)] == StepStatus::not_created && follows_complete_steps(*node, statuses);
    } catch (...) { // out of memory
        return false;
    }
}

// ---- the request ---------------------------------------------------------------------------------------------------

const RestartRequest &RunState::restart() {
    if (restart_ != nullptr)
        return *restart_;
    auto request = std::make_unique<RestartRequest>();
    request->parsed = parse(run.name.restart);
    const sel::Map &map = *request->parsed->map;
    const auto text = [&](std::string_view name) {
        const sel::Value *found = map.find(name);
        return found != nullptr && found->type == sel::Type::string ? found->view() : std::string_view{};
    };
    const auto policy = find_word(k_restart_policies, text("policy"));
    request->policy = policy ? static_cast<RestartPolicy>(*policy) : RestartPolicy::from_incomplete;
    request->step = text("step");
    request->below = member_json(*this, map, "below");
    if (const sel::Value *skipped = map.find("skip_steps"); skipped != nullptr && skipped->type == sel::Type::array) {
        for (const sel::Value &each : skipped->array->values()) {
            if (each.type == sel::Type::string)
                request->skipped.push_back(each.view());
        }
    }
    if (const sel::Value *params = map.find("step_params"); params != nullptr && params->type == sel::Type::map)
        request->step_params = params->map;
    restart_ = std::move(request);
    return *restart_;
}

// ---- in a turn -----------------------------------------------------------------------------------------------------

// The caller has prepared the run: its steps are as the run before has left them, and it has not begun.
void Advance::restart_run(LiveScope &scope) {
    if (scope.around != nullptr || scope.now.due != 0 || is_terminal(scope.now.status))
        return;
    if (!begin_clock(scope))
        return;
    try {
        const RestartRequest &request = state_.restart();
        restart_steps(scope, request.policy, request.step, request.below);
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
        return end_scope(scope, RunStatus::failed, state_.keep(error_of(failure)));
    }
    touch(scope);
}

// below: of the chosen step.
void Advance::restart_steps(LiveScope &scope, RestartPolicy policy, std::string_view chosen, RestartPath below) {
    std::vector<StepStatus> statuses;
    for (const LiveStep &step : scope.steps)
        statuses.push_back(step.now.status);
    const StepNode *node = scope.list->find(chosen);
    const auto graph = graph_of_restart(*scope.list, statuses, policy,
                                        node == nullptr ? std::nullopt : std::optional(scope.list->place_of(*node)));
    for (std::size_t place = 0; place < scope.steps.size(); place++) {
        if (graph.again[place])
            reset(scope.steps[place], policy != RestartPolicy::from_beginning,
                  &scope.list->steps[place] == node ? below : RestartPath{});
        if (graph.roots[place])
            ready_.push_back({&scope, &scope.steps[place]});
    }
}

// Restarts an iteration that has ended, in a loop that runs. With the event `restart`, the run was restarted and its
// loop repeats this iteration; with `restart_inside`, a user restarts a step of a live foreach. Each iteration restarts
// once in a turn, because the rows of its last attempts must have been written before.
void Advance::restart_iteration(LiveScope &scope, const Event &event) {
    const bool inside = event.kind == EventKind::restart_inside;
    const bool goes_on = scope.loop->now.status == StepStatus::running && !is_terminal(scope.around->now.status) &&
                         (inside || event.attempt == scope.loop->now.attempt);
    const bool has_ended =
        is_terminal(scope.now.status) && (scope.now.status != RunStatus::succeeded || (!inside && !event.data.empty()));
    const bool is_foreach = scope.loop->node->kind == StepKind::foreach;
    if (scope.has_restarted || !goes_on || !has_ended || (inside && !is_foreach))
        return;
    bool counted = true;
    if (is_foreach && !attempt(*scope.around, *scope.loop, [&] { counted = count_again(scope, inside); }))
        return;
    if (!counted)
        return;
    begin_iteration_again(scope, event.data);
    if (inside)
        loops_.push_back({{scope.around, scope.loop}, nullptr});
}

// Updates the counts of the foreach. False: by its counts, this iteration does not run again.
bool Advance::count_again(LiveScope &scope, bool inside) {
    ForeachState loop = read_foreach(state_, *scope.loop);
    if (inside ? !uncount_end(loop, scope.now) : !take_again(loop, scope.now))
        return false;
    scope.loop->now.loop = state_.keep(write_foreach(loop, scope.loop->node->strict));
    change(*scope.loop);
    return true;
}

void Advance::begin_iteration_again(LiveScope &scope, RestartPath path) {
    scope.now.status = RunStatus::in_progress;
    scope.now.ended = 0;
    scope.is_changed = true;
    scope.is_closed = false;
    scope.has_restarted = true;
    const IterationPath of = path.empty() ? IterationPath{} : read_path(state_, path);
    if (of.step.empty())
        restart_steps(scope, RestartPolicy::from_incomplete, {}, {});
    else
        restart_steps(scope, RestartPolicy::from_specific, of.step, of.below);
    for (LiveStep &step : scope.steps) { // as the step that failed has kept from beginning
        if (step.now.status == StepStatus::not_created && are_complete(scope, step.node->predecessors))
            ready_.push_back({&scope, &step});
    }
    touch(scope);
}

// Restarts a step that has ended in a live run, or that a restart of the run has not chosen. The row of the attempt
// before must have been written. A loop continues, and a subworkflow runs again.
void Advance::restart_step(LiveScope &scope, LiveStep &step, RestartPath below) {
    if (step.is_changed)
        return;
    if (step.now.status == StepStatus::not_created) {
        if (!are_complete(scope, step.node->predecessors))
            return;
        step.now.loop = state_.keep(with_path(state_, step.now.loop, below));
    } else if (is_restartable(step.now.status)) {
        reset(step, true, below);
    } else {
        return;
    }
    ready_.push_back({&scope, &step});
}

// Sets the step back to NOT_CREATED, and keeps the row of its last attempt. If it was not complete it may continue: a
// loop with its iterations, a step with its subworkflow.
void Advance::reset(LiveStep &step, bool goes_on, RestartPath below) {
    if (step.now.status == StepStatus::not_created) {
        if (!goes_on && !step.now.loop.empty())
            begin_anew(step);
        else if (!below.empty())
            step.now.loop = state_.keep(with_path(state_, step.now.loop, below));
        return;
    }
    std::string loop;
    const bool has_more = goes_on && (!is_complete(step.now.status) || !below.empty());
    if (has_more && step.node->is_loop())
        loop = keep_for_restart(state_, step);
    if (has_more && step.node->kind == StepKind::subworkflow && step.node->sync)
        loop = step.now.loop;
    loop = with_path(state_, loop, below);
    step.now = {.id = step.node->id,
                .status = StepStatus::not_created,
                .attempt = step.now.attempt,
                .loop = state_.keep(std::move(loop)),
                .signals = state_.keep(for_next_attempt(state_, step)),
                .created = step.now.created,
                .ended = state_.now};
    step.params.reset();
    step.edges.reset();
    step.new_attempt = true;
    step.forgets = step.node->is_loop() && step.now.loop.empty();
    change(step);
}

// Whatever the step has kept of an earlier run is history.
void Advance::begin_anew(LiveStep &step) {
    step.now.loop = {};
    step.forgets = step.node->is_loop();
    change(step);
}

// The instance of the step's earlier subworkflow; 0: none, or of another workflow.
std::int64_t Advance::instance_to_restart(const LiveStep &step) {
    if (step.now.loop.empty())
        return 0;
    const auto parsed = state_.parse(step.now.loop);
    const sel::Value *workflow = parsed->map->find("workflow");
    const sel::Value *instance = parsed->map->find("instance");
    const bool same = workflow != nullptr && workflow->type == sel::Type::string && workflow->view() == step.target;
    return same && instance != nullptr && instance->type == sel::Type::long_ ? instance->number : 0;
}

void Advance::begin_or_skip(LiveScope &scope, LiveStep &step) {
    bool skipped = false;
    change(step);
    step.now.due = 0;
    if (!attempt(scope, step, [&] { skipped = is_to_be_skipped(scope, step); }))
        return;
    if (skipped)
        skip(scope, step, {}); // it has begun nothing
    else
        begin_attempt(scope, step);
}

bool Advance::is_to_be_skipped(const LiveScope &scope, const LiveStep &step) {
    if (scope.around != nullptr || state_.run.name.restart.empty())
        return false;
    const auto &skipped = state_.restart().skipped;
    return std::find(skipped.begin(), skipped.end(), step.node->id) != skipped.end();
}

} // namespace scylla::model::workflow
