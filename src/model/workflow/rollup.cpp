#include "model/workflow/rollup.h"

#include <algorithm>

#include "model/workflow/run_state.h"
#include "model/workflow/scope_params.h"

namespace scylla::model::workflow {

// ---- counting ------------------------------------------------------------------------------------------------------

std::int64_t Rollup::total() const noexcept {
    std::int64_t total = 0;
    for (const Leaves &leaves : by_status)
        total += leaves.count;
    return total;
}

Rollup rollup_of(StepStatus status, std::string ref) {
    Rollup rollup;
    rollup.of(status).count = 1;
    if (keeps_refs(status))
        rollup.of(status).refs.push_back(std::move(ref));
    return rollup;
}

void aggregate(Rollup &rollup, const Rollup &more) {
    for (std::size_t status = 0; status < rollup.by_status.size(); status++) {
        Rollup::Leaves &into = rollup.by_status[status];
        const Rollup::Leaves &from = more.by_status[status];
        into.count += from.count;
        if (from.refs.empty())
            continue;
        std::vector<std::string> refs = from.refs;
        for (std::string &ref : into.refs) {
            if (std::find(from.refs.begin(), from.refs.end(), ref) == from.refs.end())
                refs.push_back(std::move(ref));
        }
        refs.resize(std::min(refs.size(), Rollup::k_most_refs));
        into.refs = std::move(refs);
    }
}

void segregate(Rollup &rollup, const Rollup &less) {
    for (std::size_t status = 0; status < rollup.by_status.size(); status++) {
        Rollup::Leaves &from = rollup.by_status[status];
        const Rollup::Leaves &gone = less.by_status[status];
        from.count = std::max<std::int64_t>(0, from.count - gone.count);
        std::erase_if(from.refs, [&](const std::string &ref) {
            return std::find(gone.refs.begin(), gone.refs.end(), ref) != gone.refs.end();
        });
    }
}

void settle(Rollup &rollup, StepStatus status) {
    Rollup::Leaves &ended =
        rollup.of(status == StepStatus::internally_failed ? StepStatus::internally_failed : StepStatus::stopped);
    for (std::size_t place = 0; place < rollup.by_status.size(); place++) {
        const auto of = static_cast<StepStatus>(place);
        if (of == StepStatus::not_created || (is_terminal(of) && !is_retryable(of)))
            continue;
        ended.count += rollup.by_status[place].count;
        rollup.by_status[place] = {};
    }
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

namespace {

void read_leaves(Rollup::Leaves &leaves, const sel::Map &map) {
    const sel::Value *count = map.find("cnt");
    if (count != nullptr && count->type == sel::Type::long_)
        leaves.count = std::max<std::int64_t>(0, count->number);
    const sel::Value *refs = map.find("ref");
    if (refs == nullptr || refs->type != sel::Type::array)
        return;
    for (const sel::Value &ref : refs->array->values()) {
        if (ref.type == sel::Type::string && leaves.refs.size() < Rollup::k_most_refs)
            leaves.refs.emplace_back(ref.view());
    }
}

} // namespace

Rollup read_rollup(RunState &state, std::string_view json) {
    Rollup rollup;
    if (json.empty())
        return rollup;
    try {
        const auto parsed = state.parse(json);
        for (std::size_t status = 0; status < rollup.by_status.size(); status++) {
            const sel::Value *leaves = parsed->map->find(k_step_statuses[status]);
            if (leaves != nullptr && leaves->type == sel::Type::map)
                read_leaves(rollup.by_status[status], *leaves->map);
        }
    } catch (const sel::Failure &failure) {
        if (failure.fault.kind == sel::FaultKind::stopped)
            throw;
    }
    return rollup;
}

std::string write_rollup(const Rollup &rollup) {
    std::string json;
    for (std::size_t status = 0; status < rollup.by_status.size(); status++) {
        const Rollup::Leaves &leaves = rollup.by_status[status];
        if (leaves.count == 0)
            continue;
        json += (json.empty() ? "{\"" : ",\"") + std::string(k_step_statuses[status]) +
                "\":{\"cnt\":" + std::to_string(leaves.count);
        for (const std::string &ref : leaves.refs)
            json += (&ref == leaves.refs.data() ? ",\"ref\":[" : ",") + json_text(ref);
        json += leaves.refs.empty() ? "}" : "]}";
    }
    return json.empty() ? json : json + "}";
}

std::string ref_of(const LiveScope &scope, const LiveStep &step, std::int32_t attempt) {
    return step.node->id + "[" + path_of(scope) + "]:" + std::to_string(attempt);
}

// ---- in a turn -----------------------------------------------------------------------------------------------------

namespace {

class Roller {
public:
    explicit Roller(RunState &state) noexcept : state_{state} {}

    // From the inside out: a scope is before those inside of it.
    void roll() {
        for (auto scope = state_.scopes.rbegin(); scope != state_.scopes.rend(); ++scope) {
            for (LiveStep &step : scope->steps) {
                if (step.node->is_loop())
                    finish(step);
            }
            if (scope->around != nullptr && !is_past(*scope))
                add_changes(*scope);
        }
    }

private:
    // The loop begins, or will begin, with its first iteration again.
    static bool is_past(const LiveScope &scope) noexcept {
        return !scope.is_new && (scope.loop->forgets || scope.loop->now.loop.empty());
    }

    Rollup &kept_by(LiveStep &loop) {
        if (loop.rollup == nullptr)
            loop.rollup = std::make_unique<Rollup>(
                loop.forgets || loop.now.loop.empty() ? Rollup{} : read_rollup(state_, loop.rollup_before));
        return *loop.rollup;
    }

    void finish(LiveStep &loop) {
        const bool unchanged = loop.rollup == nullptr && !loop.is_changed;
        loop.now.rollup = loop.rollup_before;
        if (unchanged)
            return;
        Rollup &kept = kept_by(loop);
        if (is_terminal(loop.now.status) || (loop.drops_work && loop.now.status != StepStatus::running))
            settle(kept, loop.now.status);
        loop.rolls_up = kept != read_rollup(state_, loop.rollup_before);
        if (!loop.rolls_up)
            return;
        loop.now.rollup = state_.keep(write_rollup(kept));
        loop.is_changed = true;
    }

    void add_changes(const LiveScope &scope) {
        for (const LiveStep &step : scope.steps) {
            if (!scope.is_new && !step.is_changed)
                continue;
            Rollup &kept = kept_by(*scope.loop);
            if (!scope.is_new)
                segregate(kept, before(scope, step));
            aggregate(kept, after(scope, step));
        }
    }

    // A loop counts as one leaf while it has no leaves inside.
    Rollup before(const LiveScope &scope, const LiveStep &step) {
        const Rollup inside = step.node->is_loop() ? read_rollup(state_, step.rollup_before) : Rollup{};
        return inside.total() > 0 ? inside : rollup_of(step.before, ref_of(scope, step, step.attempt_before));
    }
    Rollup after(const LiveScope &scope, const LiveStep &step) {
        if (step.node->is_loop()) {
            const Rollup inside = step.rolls_up ? *step.rollup : read_rollup(state_, step.now.rollup);
            if (inside.total() > 0)
                return inside;
        }
        return rollup_of(step.now.status, ref_of(scope, step, step.now.attempt));
    }
    RunState &state_;
};

} // namespace

std::int64_t leaves_before(RunState &state) {
    std::int64_t leaves = 0;
    for (const LiveStep &step : state.scopes.front().steps)
        leaves += read_rollup(state, step.rollup_before).total();
    return leaves;
}

void roll_up(RunState &state) { Roller(state).roll(); }

} // namespace scylla::model::workflow
