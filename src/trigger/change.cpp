// create_trigger and the other calls that change triggers.
#include "model/join.h"
#include "pg/error.h"
#include "pg/identity.h"
#include "pg/settings.h"
#include "pg/subtransaction.h"
#include "plan/signal_names.h"
#include "schedule/run.h"
#include "shmem/pending.h"
#include "store/trigger/failures.h"
#include "store/trigger/triggers.h"
#include "task/rights.h"
#include "trigger/triggers.h"

namespace scylla::trigger {

namespace {

Jsonb *no_signals() { return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("[]"))); }

void carry_out_without_signals(const text *trigger, Jsonb *action) {
    if (const Maker *maker = find_maker(action))
        (void)maker->make({.trigger = trigger, .action = action, .signals = no_signals(), .seqs = {}});
    else
        carry_out(GetUserId(), {.trigger = trigger, .tasks = action, .seq = 0, .wait_for = nullptr});
}

// Raises the error that the action would raise, unless the queue is full, or a
// lock or a name is taken at the moment.
void rehearse(const text *trigger, Jsonb *action) {
    const int settings_level = schedule::limit_waiting(schedule::Patience::short_);
    ErrorData *error = attempt([&] { carry_out_without_signals(trigger, action); }, Keep::no);
    AtEOXact_GUC(true, settings_level);
    if (error == nullptr || error->sqlerrcode == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED ||
        error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE || schedule::is_dedup_key_taken(error) ||
        schedule::is_name_taken(error))
        return;
    ReThrowError(error);
}

// Locks a trigger of the current user; 42704. The lock blocks the monitor's
// work on the trigger, and nothing else.
store::triggers::Locked lock(const text *name) {
    const auto locked = store::triggers::lock(name);
    if (!locked || !rights::owns(locked->owner))
        error::no_such_trigger(name);
    return *locked;
}

void set_paused(const text *name, bool paused) { store::triggers::set_paused(lock(name).id, paused); }

// The current user becomes the owner. tasks: the action as it is stored.
void insert(const TriggerRequest &request, std::span<const Input> inputs, Jsonb *tasks) {
    const auto id = store::triggers::add({.owner = GetUserNameFromId(GetUserId(), false),
                                          .name = request.name,
                                          .signals = request.signals,
                                          .action = tasks,
                                          .condition = request.condition,
                                          .inputs = static_cast<int32>(inputs.size()),
                                          .grace = request.grace});
    if (!id)
        error::duplicate_trigger(request.name);
    for (std::size_t i = 0; i < inputs.size(); i++)
        store::triggers::add_input({.trigger = *id,
                                    .ord = static_cast<int32>(i) + 1,
                                    .name = inputs[i].signal,
                                    .match = inputs[i].match,
                                    .joined_by = inputs[i].joined_by});
}

} // namespace

void create(const TriggerRequest &request) {
    const auto inputs = read_inputs(request.signals, static_cast<std::size_t>(settings::max_trigger_signals));
    Jsonb *tasks = read_action(request.action);
    for (const Input &input : inputs)
        require(input.signal, SignalPrivilege::wait);
    rehearse(request.name, tasks);
    insert(request, inputs, tasks);
}

void put_made(const TriggerRequest &request, Oid owner) {
    if (store::triggers::is_there(request.name))
        return;
    // What the maker has accepted once stays possible when the setting is lower.
    const auto inputs = read_inputs(request.signals, model::k_max_inputs);
    const Identity before = become(owner);
    for (const Input &input : inputs)
        require(input.signal, SignalPrivilege::wait);
    insert(request, inputs, request.action);
    restore(before);
}

void remove_made(const text *name) {
    if (const auto locked = store::triggers::lock(name))
        store::triggers::remove(locked->id);
}

void drop(const text *name) {
    const auto locked = lock(name);
    if (belongs_to_maker(locked.action))
        error::trigger_of_workflow(name);
    store::triggers::remove(locked.id);
}

void pause(const text *name) { set_paused(name, true); }

void resume(const text *name) {
    set_paused(name, false);
    const TimestampTz now = GetCurrentTimestamp();
    store::failures::retry_all(lock(name).id, now);
    shmem::note_time(shmem::Timer::trigger, now);
}

int64 clear(const text *name, std::optional<int64> seq) { return store::triggers::clear(lock(name).id, seq); }

} // namespace scylla::trigger
