#include "model/workflow/loops.h"

#include <algorithm>

#include "model/sel/json.h"
#include "model/workflow/fnv.h"
#include "model/workflow/no_params.h"
#include "model/workflow/param_values.h"
#include "model/workflow/run_facts.h"
#include "model/workflow/steps.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

constexpr std::int64_t k_default_concurrency = 20; // of a foreach
constexpr std::string_view k_params = "loop_params";
constexpr std::string_view k_index = "loop_index";

[[noreturn]] void fail_unreadable() { sel::fail(sel::FaultKind::value, "what the loop has kept cannot be read"); }

std::int64_t count_in(const sel::Map &map, std::string_view name) {
    const Value *found = map.find(name);
    if (found == nullptr || found->type != sel::Type::long_ || found->number < 0 ||
        found->number > k_most_loop_iterations + 1)
        fail_unreadable();
    return found->number;
}

const sel::Map &loop_params_of(RunState &state, LiveStep &step) {
    const Value *params = state.params_of(step).find(k_params);
    if (params == nullptr || params->type != sel::Type::map)
        fail_param(k_params, "is no MAP");
    return *params->map;
}

std::string write(RunState &state, sel::Heap &heap, const Value &value) {
    NoParams none;
    sel::Context context(heap, state.world, none, state.limits);
    return sel::write_json(context, value);
}

} // namespace

// ---- foreach -------------------------------------------------------------------------------------------------------

namespace {

std::vector<std::int64_t> numbers_in(const sel::Map &map, std::string_view name) {
    const Value *found = map.find(name);
    if (found == nullptr || found->type != sel::Type::array)
        fail_unreadable();
    std::vector<std::int64_t> numbers;
    for (const Value &number : found->array->values()) {
        if (number.type != sel::Type::long_)
            fail_unreadable();
        numbers.push_back(number.number);
    }
    return numbers;
}

std::string numbers_json(std::string_view name, const std::vector<std::int64_t> &numbers) {
    std::string json = ",\"" + std::string(name) + "\":[";
    for (const std::int64_t &number : numbers)
        json += (&number == numbers.data() ? "" : ",") + std::to_string(number);
    return json + ']';
}

} // namespace

ForeachState read_foreach(RunState &state, const LiveStep &step) {
    const auto parsed = state.parse(step.now.loop);
    const sel::Map &map = *parsed->map;
    ForeachState loop{.total = count_in(map, "total"),
                      .next = count_in(map, "next"),
                      .succeeded = count_in(map, "succeeded"),
                      .failed = count_in(map, "failed"),
                      .stopped = count_in(map, "stopped"),
                      .timed_out = count_in(map, "timed_out"),
                      .left = map.find("left") == nullptr ? 0 : count_in(map, "left"),
                      .after = map.find("after") == nullptr ? 0 : count_in(map, "after"),
                      .kept = map.find("kept") == nullptr ? 0 : count_in(map, "kept")};
    if (loop.running() < 0 || loop.next < 1 || loop.next > loop.total + 1)
        fail_unreadable();
    if (map.find("again") != nullptr)
        loop.again = numbers_in(map, "again");
    if (!step.node->strict)
        return loop;
    loop.first = count_in(map, "first");
    loop.ahead = numbers_in(map, "ahead");
    if (loop.first < 1 || loop.first > loop.next)
        fail_unreadable();
    return loop;
}

std::string write_foreach(const ForeachState &loop, bool strict) {
    std::string json = "{\"total\":" + std::to_string(loop.total) + ",\"next\":" + std::to_string(loop.next) +
                       ",\"succeeded\":" + std::to_string(loop.succeeded) +
                       ",\"failed\":" + std::to_string(loop.failed) + ",\"stopped\":" + std::to_string(loop.stopped) +
                       ",\"timed_out\":" + std::to_string(loop.timed_out);
    if (strict)
        json += ",\"first\":" + std::to_string(loop.first) + numbers_json("ahead", loop.ahead);
    if (loop.left > 0)
        json += ",\"left\":" + std::to_string(loop.left) + ",\"after\":" + std::to_string(loop.after);
    if (!loop.again.empty())
        json += numbers_json("again", loop.again);
    if (loop.kept > 0)
        json += ",\"kept\":" + std::to_string(loop.kept);
    return json + '}';
}

namespace {

std::int64_t &count_of(ForeachState &loop, RunStatus status) noexcept {
    return status == RunStatus::succeeded   ? loop.succeeded
           : status == RunStatus::failed    ? loop.failed
           : status == RunStatus::timed_out ? loop.timed_out
                                            : loop.stopped;
}

} // namespace

void count_end(ForeachState &loop, bool strict, const Scope &iteration) {
    count_of(loop, iteration.status)++;
    if (loop.running() < 0)
        fail_unreadable();
    if (!strict || iteration.number < loop.first) // an earlier run began it
        return;
    const auto place = std::lower_bound(loop.ahead.begin(), loop.ahead.end(), iteration.number);
    if (place != loop.ahead.end() && *place == iteration.number) // it has run again
        return;
    loop.ahead.insert(place, iteration.number);
    std::size_t gone = 0;
    while (gone < loop.ahead.size() && loop.ahead[gone] == loop.first) {
        loop.first++;
        gone++;
    }
    loop.ahead.erase(loop.ahead.begin(), loop.ahead.begin() + static_cast<std::ptrdiff_t>(gone));
}

bool take_again(ForeachState &loop, const Scope &iteration) {
    const auto found = std::find(loop.again.begin(), loop.again.end(), iteration.number);
    if (found == loop.again.end())
        return false;
    loop.again.erase(found);
    return true;
}

bool uncount_end(ForeachState &loop, const Scope &iteration) {
    std::int64_t &count = count_of(loop, iteration.status);
    const bool is_left = loop.left > 0 && iteration.number > loop.after;
    const bool runs_again = std::find(loop.again.begin(), loop.again.end(), iteration.number) != loop.again.end();
    if (count == 0 || is_left || runs_again) // the last two run again anyway
        return false;
    count--;
    loop.kept = std::min(loop.kept, loop.failed);
    return true;
}

std::int64_t keep_others(RunState &state, ForeachState &loop, std::string_view counts) {
    const auto parsed = state.parse(counts);
    loop.succeeded = count_in(*parsed->map, "succeeded");
    loop.failed = loop.kept = count_in(*parsed->map, "failed");
    loop.stopped = count_in(*parsed->map, "stopped");
    loop.timed_out = count_in(*parsed->map, "timed_out");
    loop.left = loop.after = 0;
    loop.again.clear();
    const Value *id = parsed->map->find("id");
    if (loop.running() != 1 || id == nullptr || id->type != sel::Type::long_)
        fail_unreadable();
    return id->number;
}

std::int64_t room_of(const ForeachState &loop, bool strict, std::int64_t concurrency) noexcept {
    return concurrency - (strict ? loop.next - loop.first : loop.running());
}

std::int64_t count_iterations(RunState &state, LiveStep &step) {
    const sel::Map &params = loop_params_of(state, step);
    std::int64_t count = params.size == 0 ? 0 : 1;
    for (const sel::Map::Member &member : params.all()) {
        if (member.value.type != sel::Type::array)
            fail_param(std::string(k_params) + "." + std::string(member.key.view()), "is no array");
        if (member.value.array->size == 0)
            return 0;
    }
    for (const sel::Map::Member &member : params.all()) {
        count *= member.value.array->size;
        if (count > state.run.name.limits.iterations)
            fail_param(k_params, "a foreach can have at most " + std::to_string(state.run.name.limits.iterations) +
                                     " iterations");
    }
    return count;
}

// The first parameter varies fastest, in the order of the loop.
std::string values_of_iteration(RunState &state, LiveStep &step, std::int64_t number) {
    const sel::Map &params = loop_params_of(state, step);
    sel::Heap heap(state.limits.memory);
    sel::Map *values = sel::make_map(heap);
    std::int64_t index = number - 1;
    const auto take_from = [&](const Value &name, const Value &given) {
        if (given.type != sel::Type::array || given.array->size == 0)
            fail_unreadable();
        const sel::Array &array = *given.array;
        values->put(heap, name, array.items[index % array.size]);
        index /= array.size;
    };
    for (const std::string &name : step.node->loop_order)
        if (const Value *given = params.find(name); given != nullptr && values->find(name) == nullptr)
            take_from(sel::make_string(heap, name), *given);
    for (const sel::Map::Member &member : params.all())
        if (values->find(member.key.view()) == nullptr)
            take_from(member.key, member.value);
    values->put(heap, sel::make_string(heap, k_index), Value::of(number - 1));
    return write(state, heap, Value::of(values));
}

std::int64_t concurrency_of(RunState &state, const StepNode &step) {
    // How many steps may run at the same time anyway: more iterations would only wait.
    std::optional<std::int64_t> of_steps;
    if (state.definition.instance_step_concurrency > 0) {
        of_steps = state.definition.instance_step_concurrency;
    } else {
        sel::Heap heap(state.limits.memory);
        NoParams none;
        sel::Context context(heap, state.world, none, state.limits);
        of_steps = member_number(state.run.name.properties, "step_concurrency", context);
    }
    const std::int64_t own = step.concurrency > 0 ? step.concurrency : of_steps.value_or(k_default_concurrency);
    return std::clamp<std::int64_t>(std::min(own, of_steps.value_or(own)), 1, state.run.name.limits.concurrency);
}

// ---- restarts of a loop --------------------------------------------------------------------------------------------

namespace {

constexpr std::string_view k_of = "of";

// A hash of the loop parameters, and of their order if the loop has one.
std::string mark_of(RunState &state, LiveStep &step) {
    std::uint64_t mark = 0;
    sel::Heap heap(state.limits.memory);
    for (const sel::Map::Member &member : loop_params_of(state, step).all())
        mark += fnv(write(state, heap, member.value), fnv(":", fnv(member.key.view())));
    for (const std::string &name : step.node->loop_order)
        mark = fnv(name, fnv(",", mark));
    return std::to_string(mark);
}

} // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> read_iterations(RunState &state, std::string_view json) {
    NoParams none;
    sel::Heap heap(state.limits.memory);
    sel::Context context(heap, state.world, none, state.limits);
    const Value read = sel::read_json(context, json);
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const Value &each : read.array->values())
        all.emplace_back(each.array->items[0].number, each.array->items[1].number);
    return all;
}

std::string keep_for_restart(RunState &state, LiveStep &step) {
    if (step.now.loop.empty())
        return {};
    if (step.now.params.empty()) { // it was restarted, but has not reached its loop again
        std::string as_before = with_path(state, step.now.loop, {});
        const auto parsed = state.parse(as_before);
        return parsed->map->find(k_of) == nullptr ? std::string{} : as_before;
    }
    std::string kept;
    if (step.node->kind == StepKind::foreach) {
        ForeachState loop = read_foreach(state, step);
        loop.left = loop.next - 1 - loop.succeeded;
        loop.after = loop.failed = loop.stopped = loop.timed_out = loop.kept = 0;
        loop.again.clear();
        loop.first = loop.next;
        loop.ahead.clear();
        kept = write_foreach(loop, step.node->strict);
    } else {
        kept = write_while(state, read_while(state, step));
    }
    kept.back() = ',';
    return kept + json_text(k_of) + ":" + json_text(mark_of(state, step)) + "}";
}

bool goes_on(RunState &state, LiveStep &step) {
    if (step.now.loop.empty())
        return false;
    const auto parsed = state.parse(step.now.loop);
    const Value *of = parsed->map->find(k_of);
    return of != nullptr && of->type == sel::Type::string && of->view() == mark_of(state, step);
}

// ---- restarts of a part of a loop ----------------------------------------------------------------------------------

namespace {

constexpr std::string_view k_below = "below";

} // namespace

std::string member_json(RunState &state, const sel::Map &map, std::string_view name) {
    const Value *found = map.find(name);
    if (found == nullptr || found->type == sel::Type::null)
        return {};
    sel::Heap heap(state.limits.memory);
    return write(state, heap, *found);
}

std::string with_path(RunState &state, std::string_view loop, RestartPath below) {
    if (loop.empty())
        return {};
    const auto parsed = state.parse(loop);
    std::string json;
    for (const sel::Map::Member &member : parsed->map->all()) {
        if (member.key.view() == k_below)
            continue;
        sel::Heap heap(state.limits.memory);
        json += (json.empty() ? "{" : ",") + json_text(member.key.view()) + ":" + write(state, heap, member.value);
    }
    if (!below.empty())
        json += (json.empty() ? "{" : ",") + json_text(k_below) + ":" + std::string(below);
    return json.empty() ? "{}" : json + "}";
}

std::string path_in(RunState &state, const LiveStep &step) {
    if (step.now.loop.empty())
        return {};
    const auto parsed = state.parse(step.now.loop);
    return member_json(state, *parsed->map, k_below);
}

IterationPath read_path(RunState &state, RestartPath path) {
    const auto parsed = state.parse(path);
    const Value *number = parsed->map->find("iteration");
    const Value *step = parsed->map->find("step");
    if (number == nullptr || number->type != sel::Type::long_ || step == nullptr || step->type != sel::Type::string)
        return {};
    return {number->number, std::string(step->view()), member_json(state, *parsed->map, k_below)};
}

// ---- while ---------------------------------------------------------------------------------------------------------

WhileState begin_while(RunState &state, LiveStep &step) {
    WhileState loop;
    loop.values = std::make_unique<Parsed>(state.limits.memory);
    sel::Map *values = sel::make_map(loop.values->heap);
    for (const sel::Map::Member &member : loop_params_of(state, step).all())
        values->put(loop.values->heap, member.key, member.value);
    loop.values->map = values;
    return loop;
}

WhileState read_while(RunState &state, const LiveStep &step) {
    WhileState loop;
    loop.values = state.parse(step.now.loop);
    loop.begun = count_in(*loop.values->map, "begun");
    loop.ended = count_in(*loop.values->map, "ended");
    const Value *values = loop.values->map->find("values");
    if (values == nullptr || values->type != sel::Type::map || loop.ended > loop.begun)
        fail_unreadable();
    loop.values->map = values->map;
    return loop;
}

std::string write_while(RunState &state, const WhileState &loop) {
    sel::Heap heap(state.limits.memory);
    sel::Map copy = *loop.values->map;
    return "{\"begun\":" + std::to_string(loop.begun) + ",\"ended\":" + std::to_string(loop.ended) +
           ",\"values\":" + write(state, heap, Value::of(&copy)) + "}";
}

void take_values(RunState &state, WhileState &loop, const LiveStep &step, LiveScope &iteration) {
    std::vector<LiveStep *> steps;
    for (LiveStep &inner : iteration.steps) {
        if (!inner.now.params.empty() && is_complete(inner.now.status))
            steps.push_back(&inner);
    }
    std::sort(steps.begin(), steps.end(), [](const LiveStep *one, const LiveStep *other) {
        return std::pair(one->now.created, one->node->rank) < std::pair(other->now.created, other->node->rank);
    });
    NoParams none;
    sel::Context context(loop.values->heap, state.world, none, state.limits);
    const Param *defined = step.node->params.find(k_params);
    for (sel::Map::Member &member : loop.values->map->all()) {
        for (LiveStep *inner : steps) {
            const Value *value = state.params_of(*inner).find(member.key.view());
            if (value == nullptr)
                continue;
            const Param *param = defined == nullptr ? nullptr : defined->members.find(member.key.view());
            const auto typed = param == nullptr ? std::optional(*value) : to_type(context, *value, param->type);
            if (!typed)
                fail_param(member.key.view(), "the loop has a " + std::string(name_of(param->type)) + " here, and " +
                                                  inner->node->id + " has made a " +
                                                  std::string(sel::type_name(*value)) + " of it");
            member.value = copy_value(context, *typed);
        }
    }
}

std::string values_of_next(RunState &state, const WhileState &loop) {
    sel::Heap heap(state.limits.memory);
    sel::Map *values = sel::make_map(heap);
    for (const sel::Map::Member &member : loop.values->map->all())
        values->put(heap, member.key, member.value);
    values->put(heap, sel::make_string(heap, k_index), Value::of(loop.begun));
    return write(state, heap, Value::of(values));
}

} // namespace scylla::model::workflow
