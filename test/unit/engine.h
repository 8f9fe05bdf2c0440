// Keeps the runs of workflows in tests, as a server would: it gives turns what they need to know, writes what they say,
// and checks that it is possible.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/workflow/graph.h"
#include "model/workflow/rollup.h"
#include "sel_world.h"

namespace engine_test {

namespace sel = scylla::model::sel;
namespace workflow = scylla::model::workflow;
using workflow::EventKind;
using workflow::RunStatus;
using workflow::StepStatus;

inline std::string show(std::string_view text) { return std::string(text); }

struct KeptStep {
    workflow::Step step{};
    std::string params{};
    std::string edges{};
    std::string loop{};
    std::string error{};
    std::string rollup{};
    std::string signals{};
    std::string times{};
    std::vector<StepStatus> earlier{}; // attempts

    void set(const workflow::Step &from, std::string_view id) {
        params = show(from.params);
        edges = show(from.edges);
        loop = show(from.loop);
        error = show(from.error);
        rollup = show(from.rollup);
        signals = show(from.signals);
        times = show(from.times);
        step = from;
        step.id = id;
    }
    // Views of the texts as they are now.
    workflow::Step view() const {
        workflow::Step made = step;
        made.params = params;
        made.edges = edges;
        made.loop = loop;
        made.error = error;
        made.rollup = rollup;
        made.signals = signals;
        made.times = times;
        return made;
    }
};

struct KeptScope {
    std::int64_t id = 0;
    std::int64_t parent = 0;
    std::string step{};
    std::int64_t number = 0;
    RunStatus status = RunStatus::created;
    bool aside = false;
    std::string params{};
    std::int64_t created = 0;
    std::int64_t ended = 0;
    std::int64_t due = 0;
    RunStatus aggregated = RunStatus::succeeded;
    std::string error{};
    std::map<std::string, KeptStep, std::less<>> steps{};
};

using StepKey = std::pair<std::int64_t, std::string>; // scope and step

struct KeptTask {
    std::string queue{};
    std::string spec{};
    int priority = 0;
    std::int32_t attempt = 0;
    std::string needs{};
};
struct KeptChild {
    std::string workflow{};
    std::string version{};
    std::string params{};
    bool sync = false;
    std::int32_t attempt = 0;
};
struct KeptWait {
    std::int32_t attempt = 0;
    std::string signals{};
};
struct KeptEvent {
    EventKind kind = EventKind::start;
    std::int64_t scope = 1;
    std::string step{};
    std::int32_t attempt = 0;
    std::string data{};
};

class Keeper {
public:
    explicit Keeper(std::string_view definition, std::string_view params = "{}") {
        loaded_ = workflow::load_definition(definition, world, limits);
        EXPECT_EQ(loaded_.kind, sel::OutcomeKind::value) << loaded_.what;
        name_ = {.workflow = "w", .instance = 7, .run = 1, .initiator = {}, .properties = R"({"owner": "ann"})"};
        auto outcome = workflow::evaluate_run_params(*loaded_.definition, name_, params, world, limits);
        EXPECT_EQ(outcome.kind, sel::OutcomeKind::value) << outcome.text;
        KeptScope &run = scopes[1];
        run.id = 1;
        run.params = show(outcome.text);
        run.created = world.now;
        workflow::release(outcome);
    }
    Keeper(const Keeper &) = delete;
    Keeper &operator=(const Keeper &) = delete;
    ~Keeper() { workflow::release(loaded_); }

    TestWorld world{};
    sel::Limits limits{};
    int pieces = -1;                            // evaluations in one turn; -1: any number
    workflow::Rest rest = workflow::Rest::none; // of the last turn
    std::map<std::int64_t, KeptScope> scopes{};
    std::map<StepKey, KeptTask> tasks{};     // open ones
    std::map<StepKey, KeptChild> children{}; // that run
    std::map<StepKey, KeptWait> waits{};     // of steps that wait for signals
    std::vector<std::string> announced{};    // signals of steps
    std::vector<StepKey> cancelled{};
    workflow::Permits permits{};
    std::function<bool()> grants{};   // whether a task that may begin at once gets its permits at once; null: none does
    bool loops_restart = false;       // in a run that goes on, with their iterations
    bool ends_are_late = false;       // a task can have ended before its event is delivered
    std::vector<std::string> asked{}; // needs
    // Job templates, as an array of their definitions; and tags that have pools.
    std::string templates = "[]";
    std::string limited = "[]";
    bool has_no_templates = false;  // of any version
    std::size_t changes = 0;        // steps and scopes that the last turn has changed
    std::size_t new_scopes = 0;     // of the last turn
    std::vector<KeptEvent> again{}; // iterations that are to run again
    std::size_t forgotten = 0;      // iterations
    bool is_sound = true;           // what is stored
    std::vector<workflow::Hold> holds{};
    std::set<StepKey> held{};          // steps whose work somebody else is ending
    std::vector<KeptEvent> put_back{}; // by the last turn; they come again in the next one
    workflow::RunName &name() { return name_; }
    const workflow::Definition &definition() const { return *loaded_.definition; }

    // ---- turns -----------------------------------------------------------------------------------------------------

    void start() { send({.kind = EventKind::start}); }
    // A new run of the instance, which has ended. how: what RunName::restart is.
    void restart(std::string_view how = R"({"policy": "RESTART_FROM_INCOMPLETE"})", std::string_view params = "{}") {
        ask_for_restart(how, params);
        send({.kind = EventKind::restart});
    }
    // It has not begun.
    void ask_for_restart(std::string_view how, std::string_view params = "{}") {
        KeptScope &run = scopes.at(1);
        EXPECT_TRUE(workflow::is_terminal(run.status));
        restart_ = show(how);
        name_.restart = restart_;
        name_.run++;
        auto outcome = workflow::evaluate_restart_params(*loaded_.definition, name_, run.params, params, world, limits);
        EXPECT_EQ(outcome.kind, sel::OutcomeKind::value) << outcome.text;
        run.params = show(outcome.text);
        workflow::release(outcome);
        run.status = RunStatus::in_progress;
        run.ended = 0;
        run.due = 0;
    }
    // What is wrong with a restart.
    workflow::RestartCheck check_restart(const workflow::Restart &restart) {
        std::vector<workflow::Step> steps;
        for (const auto &[id, step] : scopes.at(1).steps)
            steps.push_back(step.view());
        return workflow::check_restart(*loaded_.definition, steps, restart);
    }
    void send(const KeptEvent &event) { send(std::vector{event}); }
    void send(std::vector<KeptEvent> events) {
        for (const KeptEvent &event : std::exchange(put_back, {}))
            events.push_back(event);
        std::vector<workflow::Supply> supplies;
        kept_supplies_.clear();
        for (int round = 0; round < 100; round++) {
            auto turn = take(events, supplies);
            ASSERT_EQ(turn.kind, sel::OutcomeKind::value);
            const bool done = turn.needs.empty();
            if (done)
                if (grants)
                    grant(turn);
            apply(turn);
            rest = turn.rest;
            for (const workflow::Need &need : turn.needs)
                supplies.push_back(supply(need));
            workflow::release(turn);
            if (done)
                return check();
        }
        FAIL() << "the turn never has what it needs";
    }

    // The iterations that are to run again begin.
    void send_again() {
        while (!again.empty())
            send(std::exchange(again, {}));
    }
    // What would come of it, without it being written.
    void take_and_forget(const std::vector<KeptEvent> &events) {
        auto turn = take(events, {});
        workflow::release(turn);
    }
    sel::OutcomeKind kind_of_turn(const std::vector<KeptEvent> &events) {
        auto turn = take(events, {});
        const auto kind = turn.kind;
        workflow::release(turn);
        return kind;
    }

    // ---- events ----------------------------------------------------------------------------------------------------

    // path: a, or loop/3/a for a step of the third iteration of loop.
    void complete(std::string_view path, std::string_view data = {}) { task(EventKind::task_completed, path, data); }
    void fail(std::string_view path, std::string_view data = R"({"code": "x", "message": "no"})") {
        task(EventKind::task_failed, path, data);
    }
    void task(EventKind kind, std::string_view path, std::string_view data = {}) { send(of_task(kind, path, data)); }
    KeptEvent of_task(EventKind kind, std::string_view path, std::string_view data = {}) {
        const auto [scope, step] = find(path);
        const auto open = tasks.find({scope, step});
        EXPECT_NE(open, tasks.end()) << "there is no task for " << path;
        const std::int32_t attempt = open == tasks.end() ? 0 : open->second.attempt;
        tasks.erase({scope, step});
        return {kind, scope, step, attempt, std::string(data)};
    }
    void permit(std::string_view path) {
        const auto [scope, step] = find(path);
        send({EventKind::permitted, scope, step, tasks.at({scope, step}).attempt, {}});
    }
    // The signal with that number has come.
    void match(std::string_view path, int number, std::int64_t seq, std::string_view params = "{}") {
        send(of_match(path, number, seq, params));
    }
    KeptEvent of_match(std::string_view path, int number, std::int64_t seq, std::string_view params = "{}") {
        const auto [scope, step] = find(path);
        return {EventKind::signal_matched, scope, step, waits.at({scope, step}).attempt,
                R"({"number": )" + std::to_string(number) + R"(, "signal": {"name": "s", "seq": )" +
                    std::to_string(seq) + R"(, "sent": "now", "params": )" + std::string(params) + "}}"};
    }
    void child(EventKind kind, std::string_view path, std::string_view data) {
        const auto [scope, step] = find(path);
        if (kind != EventKind::child_started)
            children.erase({scope, step});
        send({kind, scope, step, 1, std::string(data)});
    }
    void act(EventKind kind, std::string_view path, std::string_view data = {}) {
        if (path.empty())
            return send({.kind = kind});
        const auto [scope, step] = find(path);
        send({kind, scope, step, 0, show(data)});
    }

    // Moves the clock to the next time that somebody waits for; false: nobody waits.
    bool wait() {
        const auto [due, all] = next_due();
        if (all.empty())
            return false;
        world.now = std::max(world.now, due);
        send(all);
        return true;
    }
    // Events `due` of the earliest time.
    std::pair<std::int64_t, std::vector<KeptEvent>> next_due() const {
        std::int64_t earliest = INT64_MAX;
        for_each_due([&](std::int64_t due, const KeptEvent &) { earliest = std::min(earliest, due); });
        std::vector<KeptEvent> all;
        for_each_due([&](std::int64_t due, const KeptEvent &event) {
            if (due == earliest)
                all.push_back(event);
        });
        return {earliest, all};
    }

    // ---- what is there ---------------------------------------------------------------------------------------------

    // "a SUCCEEDED, b RUNNING"; of the run, or of an iteration: "loop/3".
    std::string steps(std::string_view path = {}) {
        std::string text;
        for (const auto &[id, step] : scope_of(path).steps)
            text += (text.empty() ? "" : ", ") + id + " " + show(workflow::name_of(step.step.status));
        return text;
    }
    std::string status(std::string_view path = {}) { return show(workflow::name_of(scope_of(path).status)); }
    KeptStep &step(std::string_view path) {
        const auto [scope, id] = find(path);
        return scopes.at(scope).steps.at(id);
    }
    bool has(std::string_view path) {
        const auto [scope, id] = find(path);
        return scopes.at(scope).steps.contains(id);
    }
    KeptScope &scope_of(std::string_view path) {
        std::int64_t scope = 1;
        while (!path.empty()) {
            const std::string loop = cut(path);
            scope = iteration(scope, loop, std::stoll(cut(path)));
        }
        return scopes.at(scope);
    }
    // The open tasks, as "a, loop/1/b".
    std::string open() const {
        std::string text;
        for (const auto &[key, task] : tasks)
            text += (text.empty() ? "" : ", ") + path_of(key.first) + key.second;
        return text;
    }
    std::size_t running_iterations(std::string_view loop) const {
        return static_cast<std::size_t>(std::count_if(scopes.begin(), scopes.end(), [&](const auto &member) {
            return member.second.step == loop && !workflow::is_terminal(member.second.status);
        }));
    }
    std::string path_of(std::int64_t scope) const {
        const KeptScope &kept = scopes.at(scope);
        return kept.parent == 0 ? "" : path_of(kept.parent) + kept.step + "/" + std::to_string(kept.number) + "/";
    }

private:
    static std::string cut(std::string_view &path) {
        const std::size_t slash = std::min(path.find('/'), path.size());
        std::string first(path.substr(0, slash));
        path.remove_prefix(std::min(slash + 1, path.size()));
        return first;
    }
    std::int64_t iteration(std::int64_t parent, std::string_view loop, std::int64_t number) const {
        for (const auto &[id, scope] : scopes) {
            if (scope.parent == parent && scope.step == loop && scope.number == number)
                return id;
        }
        ADD_FAILURE() << "there is no iteration " << loop << "/" << number;
        return 1;
    }
    StepKey find(std::string_view path) {
        const std::size_t slash = path.rfind('/');
        if (slash == std::string_view::npos)
            return {1, std::string(path)};
        return {scope_of(path.substr(0, slash)).id, std::string(path.substr(slash + 1))};
    }

    template <typename Use> void for_each_due(Use use) const {
        for (const auto &[id, scope] : scopes) {
            if (scope.due != 0)
                use(scope.due, {EventKind::due, id, {}, 0, {}});
            for (const auto &[name, step] : scope.steps) {
                if (step.step.due != 0)
                    use(step.step.due, {EventKind::due, id, name, step.step.attempt, {}});
            }
        }
    }

    // ---- reading ---------------------------------------------------------------------------------------------------

    // The scopes of the events and those around them.
    workflow::Turn take(const std::vector<KeptEvent> &events, const std::vector<workflow::Supply> &supplies) {
        std::set<std::int64_t> wanted{1};
        for (const KeptEvent &event : events) {
            for (std::int64_t id = event.scope; id != 0 && scopes.contains(id); id = scopes.at(id).parent)
                wanted.insert(id);
        }
        std::vector<std::vector<workflow::Step>> steps;
        std::vector<workflow::Scope> given;
        for (const std::int64_t id : wanted) { // a scope has a higher id than those around it
            const KeptScope &scope = scopes.at(id);
            auto &own = steps.emplace_back();
            for (const auto &[name, step] : scope.steps)
                own.push_back(step.view());
            given.push_back({scope.id, scope.parent, scope.step, scope.number, scope.status, scope.params, own,
                             scope.created, scope.ended, scope.due, scope.aggregated});
        }
        std::vector<workflow::Event> all;
        for (const KeptEvent &event : events)
            all.push_back({event.kind, event.scope, event.step, event.attempt, event.data});
        world.pieces = pieces;
        return workflow::take_turn(*loaded_.definition, {name_, given, all, supplies, permits, holds}, world, limits);
    }

    workflow::Supply supply(const workflow::Need &need) {
        if (need.what == workflow::Need::What::end_work)
            return supply_end_work(need);
        if (need.what == workflow::Need::What::iterations)
            return supply_iterations(need);
        if (need.what == workflow::Need::What::but_one)
            return supply_but_one(need);
        if (need.what == workflow::Need::What::job_template)
            return supply_template(need);
        std::string json = "[";
        asked.push_back(show(need.step) + "." + show(need.inner) + "." + show(need.param));
        std::map<std::int64_t, const KeptScope *> iterations;
        for (const auto &[id, scope] : scopes) {
            if (scope.parent == need.scope && scope.step == need.step)
                iterations.emplace(scope.number, &scope);
        }
        for (const auto &[number, scope] : iterations) {
            const auto inner = scope->steps.find(need.inner);
            const std::string value = inner == scope->steps.end() ? "" : member(inner->second.params, need.param);
            json += (json.size() == 1 ? "" : ",") + (value.empty() ? "null" : value);
        }
        if (need.what == workflow::Need::What::subworkflow)
            json = R"("of )" + show(need.inner) + "\"";
        else
            json += "]";
        auto &kept = kept_supplies_.emplace_back(std::make_unique<std::vector<std::string>>());
        *kept = {show(need.step), show(need.inner), show(need.param), json};
        return {need.scope, (*kept)[0], (*kept)[1], (*kept)[2], (*kept)[3]};
    }
    // Nothing is held by anybody else, but what the test says.
    workflow::Supply supply_end_work(const workflow::Need &need) {
        auto &kept = kept_supplies_.emplace_back(std::make_unique<std::vector<std::string>>());
        const bool is_held = held.contains({need.scope, show(need.step)});
        *kept = {show(need.step), show(need.inner), show(need.param), is_held ? "false" : "true"};
        return {need.scope, (*kept)[0], (*kept)[1], (*kept)[2], (*kept)[3]};
    }
    // Nothing if no template of that name is among them.
    workflow::Supply supply_template(const workflow::Need &need) {
        asked.push_back(show(need.inner) + " " + show(need.param));
        const bool is_there = templates.find("\"job_type\": \"" + show(need.inner) + "\", \"version\": \"" +
                                             show(need.param) + "\"") != std::string::npos;
        auto &kept = kept_supplies_.emplace_back(std::make_unique<std::vector<std::string>>());
        *kept = {"", show(need.inner), show(need.param),
                 is_there || has_no_templates ? R"({"templates": )" + templates + R"(, "limited": )" + limited + "}"
                                              : ""};
        return {need.scope, (*kept)[0], (*kept)[1], (*kept)[2], (*kept)[3]};
    }
    workflow::Supply supply_iterations(const workflow::Need &need) {
        std::map<std::int64_t, std::int64_t> found;
        for (const auto &[id, scope] : scopes) {
            if (scope.parent == need.scope && scope.step == need.step && scope.number > std::stoll(show(need.inner)) &&
                scope.status != RunStatus::succeeded)
                found.emplace(scope.number, id);
        }
        std::string json;
        for (auto each = found.begin();
             each != found.end() && std::distance(found.begin(), each) < std::stoll(show(need.param)); ++each)
            json +=
                (json.empty() ? "[" : ",[") + std::to_string(each->first) + "," + std::to_string(each->second) + "]";
        auto &kept = kept_supplies_.emplace_back(std::make_unique<std::vector<std::string>>());
        *kept = {show(need.step), show(need.inner), show(need.param), "[" + json + "]"};
        return {need.scope, (*kept)[0], (*kept)[1], (*kept)[2], (*kept)[3]};
    }
    workflow::Supply supply_but_one(const workflow::Need &need) {
        std::map<RunStatus, int> counts;
        std::int64_t one = 0;
        for (const auto &[id, scope] : scopes) {
            if (scope.parent != need.scope || scope.step != need.step || scope.number > k_past)
                continue;
            EXPECT_TRUE(workflow::is_terminal(scope.status));
            if (scope.number == std::stoll(show(need.inner)))
                one = id;
            else
                counts[scope.status]++;
        }
        const std::string json = "{\"id\":" + std::to_string(one) +
                                 ",\"succeeded\":" + std::to_string(counts[RunStatus::succeeded]) +
                                 ",\"failed\":" + std::to_string(counts[RunStatus::failed]) +
                                 ",\"stopped\":" + std::to_string(counts[RunStatus::stopped]) +
                                 ",\"timed_out\":" + std::to_string(counts[RunStatus::timed_out]) + "}";
        auto &kept = kept_supplies_.emplace_back(std::make_unique<std::vector<std::string>>());
        *kept = {show(need.step), show(need.inner), show(need.param), one == 0 ? "" : json};
        return {need.scope, (*kept)[0], (*kept)[1], (*kept)[2], (*kept)[3]};
    }
    // Of a JSON object; empty: it has none.
    std::string member(const std::string &json, std::string_view name) {
        // A name with other signs than letters cannot be written by itself.
        auto outcome = sel::evaluate_json("String name = '" + show(name) +
                                              "'; if (!params.containsKey(name)) throw name; params[name]",
                                          json.empty() ? "{}" : json, world, limits);
        const std::string text = outcome.kind == sel::OutcomeKind::value ? show(outcome.text) : "";
        sel::release(outcome);
        return text;
    }

    // ---- writing ---------------------------------------------------------------------------------------------------

    void grant(workflow::Turn &turn) {
        std::vector<std::size_t> granted;
        for (std::size_t task = 0; task < turn.tasks.size(); task++) {
            EXPECT_FALSE(turn.tasks[task].at_once && turn.tasks[task].needs.empty());
            if (turn.tasks[task].at_once && grants())
                granted.push_back(task);
        }
        EXPECT_TRUE(granted.empty() || workflow::begin_at_once(turn, granted, world.now));
    }
    void apply(const workflow::Turn &turn) {
        std::map<std::int64_t, std::int64_t> ids; // of new scopes
        changes = turn.scopes.size() + turn.steps.size();
        new_scopes = 0;
        for (const workflow::Kept &loop : turn.kept) {
            const StepKey key{real(ids, loop.scope), show(loop.step)};
            if (loop.as == workflow::Kept::As::history)
                forget(key);
            else
                set_aside(key, loop.as == workflow::Kept::As::aside);
        }
        for (const workflow::Again &iteration : turn.again)
            again.push_back({EventKind::restart, iteration.scope, {}, iteration.attempt, show(iteration.below)});
        for (const workflow::PutBack &event : turn.put_back)
            put_back.push_back({event.kind, event.scope, show(event.step), event.attempt, show(event.data)});
        for (const workflow::ScopeChange &change : turn.scopes)
            write(change, turn.steps, ids);
        std::set<StepKey> seen;
        for (const workflow::StepChange &change : turn.steps) {
            const StepKey key{real(ids, change.scope), show(change.step.id)};
            EXPECT_TRUE(seen.insert(key).second) << key.second << " is there twice";
            write(change, key);
        }
        for (const workflow::Cancel &cancel : turn.cancels)
            write(cancel);
        for (const workflow::NewTask &task : turn.tasks)
            submit(task, {real(ids, task.scope), show(task.step)});
        for (const workflow::Announcement &signals : turn.announcements)
            announced.push_back(show(signals.signals));
        for (const workflow::Wait &wait : turn.waits)
            waits.insert_or_assign({real(ids, wait.scope), show(wait.step)},
                                   KeptWait{wait.attempt, show(wait.signals)});
        for (const workflow::Child &child : turn.children) {
            const StepKey key{real(ids, child.scope), show(child.step)};
            EXPECT_TRUE(children
                            .emplace(key, KeptChild{show(child.workflow), show(child.version), show(child.params),
                                                    child.sync, child.attempt})
                            .second);
        }
    }
    void forget(const StepKey &loop) {
        for (auto &[id, scope] : scopes) {
            if (scope.parent != loop.first || scope.step != loop.second)
                continue;
            EXPECT_TRUE(workflow::is_terminal(scope.status));
            scope.number += k_past; // no other iteration has it
            forgotten++;
        }
    }
    // With all iterations inside; with those that come back, not those of loops inside that have not begun again.
    void set_aside(const StepKey &loop, bool aside) {
        for (auto &[id, scope] : scopes) {
            if (scope.parent != loop.first || scope.step != loop.second || scope.number > k_past)
                continue;
            scope.aside = aside;
            for (const auto &[name, kept] : scope.steps)
                if (aside || kept.step.status != StepStatus::not_created)
                    set_aside({id, name}, aside);
        }
    }
    // Whether a loop that it is in has not begun again.
    bool is_aside(const KeptScope &scope) const {
        if (scope.parent == 0)
            return false;
        const KeptScope &around = scopes.at(scope.parent);
        return around.steps.at(scope.step).step.status == StepStatus::not_created || is_aside(around);
    }
    static std::int64_t real(const std::map<std::int64_t, std::int64_t> &ids, std::int64_t id) {
        return id < 0 ? ids.at(id) : id;
    }

    // Whether a step of the scope begins, or begins again, in the turn.
    static bool has_beginning(std::int64_t scope, std::span<const workflow::StepChange> steps) {
        return std::any_of(steps.begin(), steps.end(), [&](const workflow::StepChange &step) {
            const bool begins = step.before == StepStatus::not_created && step.step.status != StepStatus::not_created;
            return step.scope == scope && (step.new_attempt || begins);
        });
    }
    void write(const workflow::ScopeChange &change, std::span<const workflow::StepChange> steps,
               std::map<std::int64_t, std::int64_t> &ids) {
        std::int64_t id = change.scope.id;
        EXPECT_EQ(change.is_new, id < 0);
        if (change.is_new) {
            id = scopes.rbegin()->first + 1;
            ids.emplace(change.scope.id, id);
            new_scopes++;
            const std::int64_t parent = real(ids, change.scope.parent);
            for (const auto &[other, scope] : scopes)
                EXPECT_FALSE(scope.parent == parent && scope.step == change.scope.step &&
                             scope.number == change.scope.number)
                    << "the iteration is there already";
            scopes[id].id = id;
            scopes[id].parent = parent;
        }
        KeptScope &kept = scopes.at(id);
        const bool can_restart = name_.run > 1 || (loops_restart && change.scope.parent != 0);
        EXPECT_TRUE(!workflow::is_terminal(kept.status) ||
                    (can_restart && (!workflow::is_terminal(change.scope.status) || has_beginning(id, steps))))
            << "the scope had come to its end";
        kept.step = show(change.scope.step);
        kept.number = change.scope.number;
        kept.status = change.scope.status;
        kept.params = show(change.scope.params);
        kept.created = change.scope.created;
        kept.ended = change.scope.ended;
        kept.due = change.scope.due;
        kept.aggregated = change.scope.aggregated;
        kept.error = show(change.scope.error);
    }

    void write(const workflow::StepChange &change, const StepKey &key) {
        auto &steps = scopes.at(key.first).steps;
        EXPECT_EQ(change.is_new, !steps.contains(key.second)) << key.second;
        const auto place = steps.try_emplace(key.second).first;
        KeptStep &kept = place->second;
        const StepStatus before = change.is_new ? StepStatus::not_created : kept.step.status;
        EXPECT_EQ(change.before, before) << key.second;
        const bool had_ended = workflow::is_terminal(before) && !workflow::is_retryable(before);
        const bool is_there = change.step.status != StepStatus::not_created;
        const bool is_skip = change.new_attempt && workflow::is_restartable(before);
        EXPECT_TRUE(!had_ended || is_skip || (change.new_attempt && name_.run > 1)) << key.second << " had ended";
        const bool is_next = is_there && (change.new_attempt || (before == StepStatus::not_created && !change.is_new));
        EXPECT_EQ(change.step.attempt, is_next ? kept.step.attempt + 1 : kept.step.attempt) << key.second;
        EXPECT_FALSE(change.same_params && kept.params != change.step.params) << key.second;
        if (change.new_attempt) {
            EXPECT_TRUE(workflow::is_terminal(before)) << key.second;
            kept.earlier.push_back(before);
        }
        kept.set(change.step, place->first);
    }

    void write(const workflow::Cancel &cancel) {
        const StepKey key{cancel.scope, show(cancel.step)};
        if (cancel.what == workflow::Cancel::What::iterations)
            return stop_inside(key);
        EXPECT_TRUE(ends_are_late || cancel.what != workflow::Cancel::What::task || tasks.contains(key)) << key.second;
        EXPECT_FALSE(held.contains(key)) << key.second << " was ended by somebody else";
        cancelled.push_back(key);
        tasks.erase(key);
        children.erase(key);
    }
    void stop_inside(const StepKey &loop) {
        for (auto &[id, scope] : scopes) {
            if (scope.parent != loop.first || scope.step != loop.second)
                continue;
            if (!workflow::is_terminal(scope.status))
                scope.status = RunStatus::stopped;
            for (auto &[name, kept] : scope.steps) {
                tasks.erase({id, name});
                children.erase({id, name});
                stop_inside({id, name});
                if (workflow::is_terminal(kept.step.status) && !workflow::is_retryable(kept.step.status))
                    continue;
                kept.step.status = StepStatus::stopped;
                kept.step.due = 0;
                if (!kept.rollup.empty())
                    kept.rollup = write(leaves_inside({id, name}));
            }
        }
    }

    void submit(const workflow::NewTask &task, const StepKey &key) {
        const KeptStep &kept = scopes.at(key.first).steps.at(key.second);
        EXPECT_TRUE(kept.step.status == StepStatus::running
                        ? kept.step.started != 0 && (task.needs.empty() || (task.at_once && grants))
                        : kept.step.status == StepStatus::waiting_for_permits && !task.needs.empty())
            << key.second;
        EXPECT_TRUE(submitted_.insert({key, kept.step.attempt}).second) << key.second << " had a task";
        tasks.insert_or_assign(key, KeptTask{show(task.queue), show(task.spec), static_cast<int>(task.priority),
                                             kept.step.attempt, show(task.needs)});
    }

    // ---- rollups ---------------------------------------------------------------------------------------------------

    using Leaves = std::map<StepStatus, std::set<std::string>>;
    static constexpr std::int64_t k_past = 1'000'000; // what is added to the number of a forgotten iteration

    // By a look at each of them.
    Leaves leaves_of(const KeptScope &scope) const {
        Leaves leaves;
        for (const workflow::StepNode &node : list_of(scope)->steps) {
            const auto kept = scope.steps.find(node.id);
            Leaves inside;
            if (kept != scope.steps.end() && node.is_loop() && !kept->second.loop.empty())
                inside = leaves_inside({scope.id, node.id});
            for (const auto &[status, all] : inside)
                leaves[status].insert(all.begin(), all.end());
            if (inside.empty())
                leaves[kept == scope.steps.end() ? StepStatus::not_created : kept->second.step.status].insert(
                    node.id + "[" + numbers_of(scope) +
                    "]:" + std::to_string(kept == scope.steps.end() ? 0 : kept->second.step.attempt));
        }
        return leaves;
    }
    Leaves leaves_inside(const StepKey &loop) const {
        Leaves leaves;
        for (const auto &[id, scope] : scopes) {
            if (scope.parent != loop.first || scope.step != loop.second || scope.number > k_past)
                continue;
            for (const auto &[status, all] : leaves_of(scope))
                leaves[status].insert(all.begin(), all.end());
        }
        return leaves;
    }
    const workflow::StepList *list_of(const KeptScope &scope) const {
        return scope.parent == 0 ? &loaded_.definition->steps
                                 : list_of(scopes.at(scope.parent))->find(scope.step)->steps.get();
    }
    std::string numbers_of(const KeptScope &scope) const {
        if (scope.parent == 0)
            return "";
        const std::string around = numbers_of(scopes.at(scope.parent));
        return around + (around.empty() ? "" : ",") + std::to_string(scope.number);
    }
    static std::string write(const Leaves &leaves) {
        workflow::Rollup rollup;
        for (const auto &[status, all] : leaves)
            rollup.of(status).count = static_cast<std::int64_t>(all.size());
        return workflow::write_rollup(rollup);
    }
    // What is kept, without the names of leaves; these must be what they are said to be.
    static std::string without_refs(std::string json, const Leaves &leaves) {
        for (std::size_t at = json.find(",\"ref\":["); at != std::string::npos; at = json.find(",\"ref\":[")) {
            const std::size_t from = json.rfind("\":{\"cnt\"", at);
            const std::size_t name = json.rfind('"', from - 1) + 1;
            const auto status =
                static_cast<StepStatus>(std::find(workflow::k_step_statuses.begin(), workflow::k_step_statuses.end(),
                                                  std::string_view(json).substr(name, from - name)) -
                                        workflow::k_step_statuses.begin());
            const std::size_t end = json.find("]}", at);
            std::size_t count = 0;
            for (std::size_t quote = json.find('"', at + 8); quote < end; count++) {
                const std::size_t close = json.find('"', quote + 1);
                const std::string ref = json.substr(quote + 1, close - quote - 1);
                EXPECT_TRUE(leaves.contains(status) && leaves.at(status).contains(ref)) << ref << " is not in " << json;
                quote = json.find('"', close + 1);
            }
            EXPECT_LE(count, workflow::Rollup::k_most_refs);
            json.erase(at, end + 1 - at);
        }
        return json;
    }
    void check_rollups() const {
        if (!put_back.empty()) // of a loop that is to end only a part may have ended
            return;
        for (const auto &[id, scope] : scopes) {
            if (scope.number > k_past)
                continue;
            for (const auto &[name, kept] : scope.steps) {
                const Leaves leaves = kept.loop.empty() ? Leaves{} : leaves_inside({id, name});
                EXPECT_EQ(without_refs(kept.rollup, leaves), write(leaves)) << path_of(id) << name;
            }
        }
    }

    // 0: it is not kept.
    static std::int64_t time_of(const KeptStep &kept, StepStatus status) {
        if (status == StepStatus::running)
            return kept.step.started;
        const std::string member = "\"" + show(workflow::name_of(status)) + "\":";
        const std::size_t found = kept.times.find(member);
        return found == std::string::npos ? 0 : std::stoll(kept.times.substr(found + member.size()));
    }
    // A step that waits has the time of its status, and times follow each other in the order of statuses.
    static void check_times(const KeptStep &kept, const std::string &name) {
        std::int64_t last = kept.step.created;
        for (auto status = StepStatus::initialized; status <= StepStatus::finishing;
             status = static_cast<StepStatus>(static_cast<int>(status) + 1)) {
            const std::int64_t at = time_of(kept, status);
            EXPECT_TRUE(kept.step.status != status || at != 0) << name << " has no time for its status " << kept.times;
            EXPECT_TRUE(at == 0 || at >= last) << name << " " << kept.times;
            last = std::max(last, at);
        }
        EXPECT_TRUE(kept.step.ended == 0 || kept.step.ended >= last) << name << " " << kept.times;
        const bool has_ended = workflow::is_terminal(kept.step.status) || kept.step.status == StepStatus::not_created;
        EXPECT_TRUE(has_ended || kept.step.ended == 0) << name << " has ended and goes on";
    }

    // What must hold between turns.
    void check() const {
        if (is_sound)
            check_rollups();
        for (const auto &[id, scope] : scopes) {
            EXPECT_TRUE(scope.number > k_past || scope.aside == is_aside(scope))
                << path_of(id) << " is shown while its loop is to run again";
            bool live = false;
            for (const auto &[name, kept] : scope.steps) {
                const bool tries_again = workflow::is_retryable(kept.step.status);
                live = live || tries_again ||
                       (!workflow::is_terminal(kept.step.status) && kept.step.status != StepStatus::not_created);
                EXPECT_TRUE(!tries_again || kept.step.due != 0) << name << " waits for nothing";
                if (kept.step.status == StepStatus::waiting_for_signals &&
                    kept.signals.find("PENDING") != std::string::npos && is_sound) {
                    const auto wait = waits.find({id, name});
                    EXPECT_TRUE(wait != waits.end() && wait->second.attempt == kept.step.attempt)
                        << name << " waits for signals that nobody looks for";
                }
                EXPECT_EQ(workflow::is_complete(kept.step.status) && kept.edges.empty() && kept.step.ended == 0, false);
                if (is_sound)
                    check_times(kept, name);
            }
            EXPECT_TRUE(workflow::is_terminal(scope.status) ? !live : live || scope.steps.empty())
                << path_of(id) << " " << workflow::name_of(scope.status);
        }
        for (const auto &[key, task] : tasks) {
            const StepStatus status = scopes.at(key.first).steps.at(key.second).step.status;
            EXPECT_TRUE(status == StepStatus::running ||
                        (status == StepStatus::waiting_for_permits && !task.needs.empty()))
                << key.second;
        }
    }

    workflow::Loaded loaded_{};
    workflow::RunName name_{};
    std::string restart_{};
    std::vector<std::unique_ptr<std::vector<std::string>>> kept_supplies_{};
    std::set<std::pair<StepKey, std::int32_t>> submitted_{};
};

// A workflow with these steps.
inline std::string with_steps(std::string_view steps, std::string_view more = "") {
    return R"({"id": "w")" + std::string(more) + R"(, "steps": [)" + std::string(steps) + "]}";
}
// A typed step: next is the object of its successors.
inline std::string job(std::string_view id, std::string_view next = "{}", std::string_view more = "",
                       std::string_view type = "Job") {
    return R"({"step": {"id": ")" + std::string(id) + R"(", "type": ")" + std::string(type) +
           R"(", "transition": {"successors": )" + std::string(next) + "}" + std::string(more) + "}}";
}
// With parameters: the members of the object.
inline std::string with_params(std::string_view params) { return R"(, "params": {)" + std::string(params) + "}"; }

// A foreach over members of its loop parameters.
inline std::string loop_over(std::string_view id, std::string_view loop, std::string_view steps,
                             std::string_view more = "", std::string_view next = "{}", std::string_view params = "") {
    return R"({"foreach": {"id": ")" + std::string(id) + R"(", "params": {"loop_params": {"type": "MAP", "value": {)" +
           std::string(loop) + "}}" + std::string(params) + R"(}, "transition": {"successors": )" + std::string(next) +
           R"(}, "steps": [)" + std::string(steps) + "]" + std::string(more) + "}}";
}
// A parameter with the numbers from 1 on.
inline std::string up_to(std::string_view name, int count) {
    return "\"" + std::string(name) + R"(": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(1, )" +
           std::to_string(count + 1) + R"x(, 1)"})x";
}

} // namespace engine_test
