#include "model/workflow/engine.h"

#include <algorithm>
#include <memory>

#include "model/workflow/advance.h"
#include "model/workflow/run_params.h"
#include "model/workflow/turn.h"

namespace scylla::model::workflow {

namespace {

using sel::OutcomeKind;

// The memory of a definition, until the caller releases it.
struct LoadedMemory {
    std::unique_ptr<Definition> definition{};
    std::string what{};
};

OutcomeKind kind_of(sel::FaultKind kind) noexcept {
    switch (kind) {
    case sel::FaultKind::syntax:
        return OutcomeKind::syntax;
    case sel::FaultKind::unknown:
        return OutcomeKind::unknown;
    case sel::FaultKind::thrown:
        return OutcomeKind::thrown;
    case sel::FaultKind::limit:
        return OutcomeKind::limit;
    case sel::FaultKind::stopped:
        return OutcomeKind::stopped;
    case sel::FaultKind::value:
        break;
    }
    return OutcomeKind::fault;
}

// Does the work. A failure is described in `what`.
template <typename Work> OutcomeKind guarded(std::string &what, Work work) {
    try {
        work();
        return OutcomeKind::value;
    } catch (const ParamFailure &failure) {
        what = failure.name + ": " + show_fault(failure.fault);
        return kind_of(failure.fault.kind);
    } catch (const sel::Failure &failure) {
        what = show_fault(failure.fault);
        return kind_of(failure.fault.kind);
    }
}

template <typename Work> Outcome outcome_of(Work work) noexcept {
    try {
        auto text = std::make_unique<std::string>();
        std::string &made = *text;
        const auto kind = guarded(made, [&] { made = work(); });
        std::string *owned = text.release();
        return {kind, *owned, owned};
    } catch (const sel::NotYet &) {
        return {OutcomeKind::not_yet, {}, nullptr};
    } catch (...) { // there is nothing else that is thrown
        return {OutcomeKind::out_of_memory, "out of memory", nullptr};
    }
}

Turn show(TurnMemory *memory) noexcept {
    return {.kind = OutcomeKind::value,
            .needs = memory->needs,
            .scopes = memory->scopes,
            .steps = memory->steps,
            .tasks = memory->tasks,
            .cancels = memory->cancels,
            .children = memory->children,
            .announcements = memory->announcements,
            .waits = memory->waits,
            .again = memory->again,
            .kept = memory->kept,
            .put_back = memory->put_back,
            .rest = memory->rest,
            .owned = memory};
}

void advance(const Definition &definition, const Run &run, sel::World &world, const sel::Limits &limits,
             TurnMemory &memory) {
    RunState state(definition, run, world, limits, memory.texts);
    try {
        Advance(state).run();
    } catch (const NeedMore &more) {
        memory.needs = state.needs;
        memory.needs.push_back(more.need);
        return;
    }
    collect(state, memory);
}

} // namespace

Loaded load_definition(std::string_view json, sel::World &world, const sel::Limits &limits) noexcept {
    try {
        auto memory = std::make_unique<LoadedMemory>();
        const auto kind = guarded(memory->what, [&] { memory->definition = read_definition(json, world, limits); });
        LoadedMemory *owned = memory.release();
        return {kind, owned->definition.get(), owned->what, owned};
    } catch (...) { // there is nothing else that is thrown
        return {OutcomeKind::out_of_memory, nullptr, "out of memory", nullptr};
    }
}

void release(Loaded &loaded) noexcept {
    delete static_cast<LoadedMemory *>(loaded.owned);
    loaded.owned = nullptr;
    loaded.definition = nullptr;
    loaded.what = {};
}

Outcome evaluate_run_params(const Definition &definition, const RunName &name, std::string_view request,
                            sel::World &world, const sel::Limits &limits) noexcept {
    return outcome_of([&] { return values_of_run(definition, name, request, world, limits); });
}

Outcome evaluate_restart_params(const Definition &definition, const RunName &name, std::string_view before,
                                std::string_view given, sel::World &world, const sel::Limits &limits) noexcept {
    return outcome_of([&] { return values_of_restart(definition, name, before, given, world, limits); });
}

void release(Outcome &outcome) noexcept {
    delete static_cast<std::string *>(outcome.owned);
    outcome.owned = nullptr;
    outcome.text = {};
}

Turn take_turn(const Definition &definition, const Run &run, sel::World &world, const sel::Limits &limits) noexcept {
    try {
        auto memory = std::make_unique<TurnMemory>();
        std::string what;
        const auto kind = guarded(what, [&] { advance(definition, run, world, limits, *memory); });
        if (kind != OutcomeKind::value)
            return {.kind = kind};
        return show(memory.release());
    } catch (...) { // there is nothing else that is thrown
        return {.kind = OutcomeKind::out_of_memory};
    }
}

bool begin_at_once(Turn &turn, std::span<const std::size_t> tasks, std::int64_t now) noexcept {
    auto &memory = *static_cast<TurnMemory *>(turn.owned);
    try {
        auto beginner = memory.beginners.begin();
        for (const std::size_t task : tasks) {
            beginner =
                std::find_if(beginner, memory.beginners.end(), [&](const Beginner &each) { return each.task == task; });
            begin(memory, *beginner, now);
        }
        write_rollups(memory);
        return true;
    } catch (...) { // there is nothing else that is thrown
        return false;
    }
}

void release(Turn &turn) noexcept {
    delete static_cast<TurnMemory *>(turn.owned);
    turn = {.kind = turn.kind};
}

} // namespace scylla::model::workflow
