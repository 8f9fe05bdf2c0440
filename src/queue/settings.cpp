#include "queue/settings.h"

#include "pg/error.h"
#include "pg/json.h"
#include "pg/text.h"
#include "queue/handler.h"
#include "queue/leasable.h"
#include "queue/pending.h"
#include "queue/rate.h"
#include "shmem/pending.h"
#include "store/queue/dropped.h"
#include "store/queue_changes.h"
#include "task/events.h"
#include "task/retry.h"
#include "task/rights.h"
#include "task/rules.h"
#include "task/run_limit.h"

namespace scylla {

using store::k_queue_settings;
using store::QueueRow;
using store::QueueSettings;
using store::Setting;
using store::SettingRule;
using store::SettingSet;
using store::Store;
using store::TableId;

namespace {

// ---- values --------------------------------------------------------------------------------------------------------

void check(const Setting &setting, NullableDatum value) {
    if (value.isnull)
        return;
    if (type_of(setting) == JSONBOID)
        args::document(setting.name, DatumGetJsonbP(value.value));
    switch (setting.rule) {
    case SettingRule::none:
        break;
    case SettingRule::timeout:
        (void)args::timeout(setting.name, DatumGetIntervalP(value.value));
        break;
    case SettingRule::retention:
        (void)args::retention(setting.name, DatumGetIntervalP(value.value));
        break;
    case SettingRule::aging:
        (void)args::aging(DatumGetFloat8(value.value));
        break;
    case SettingRule::attempts:
        (void)args::max_attempts(DatumGetInt32(value.value));
        break;
    case SettingRule::retry:
        (void)read_retry_policy(DatumGetJsonbP(value.value));
        break;
    case SettingRule::bound:
        (void)args::bound(setting.name, DatumGetInt32(value.value));
        break;
    case SettingRule::key_weights:
        check_key_weights(DatumGetJsonbP(value.value));
        break;
    case SettingRule::handler: // put() has looked it up
        break;
    case SettingRule::rate:
        (void)read_rate(setting.name, DatumGetJsonbP(value.value));
        break;
    }
}

// Checks a setting, wherever it comes from.
void check(const QueueSettings &settings) {
    for (const Setting &setting : k_queue_settings)
        check(setting, get(settings, setting));
}

NullableDatum from_json(const Setting &setting, JsonbValue *value) {
    if (value->type == jbvNull)
        return {0, true};
    switch (type_of(setting)) {
    case INTERVALOID:
        return {PointerGetDatum(json::to_interval(setting.name, value)), false};
    case FLOAT8OID:
        return {Float8GetDatum(json::to_float(setting.name, value)), false};
    case INT4OID:
        return {Int32GetDatum(json::to_int(setting.name, value)), false};
    case BOOLOID:
        return {BoolGetDatum(json::to_bool(setting.name, value)), false};
    case TEXTOID:
        return {PointerGetDatum(json::to_text(setting.name, value)), false};
    default:
        return {PointerGetDatum(json::to_jsonb(value)), false};
    }
}

// ---- what is pending -----------------------------------------------------------------------------------------------

// Settings become pending if the queue had none of the kind and its rows have to be prepared. Pending ones that are
// still set stay pending.
SettingSet pending_after(const QueueRow &queue, const QueueSettings &before, const QueueSettings &after) {
    SettingSet pending{};
    for (std::size_t place = 0; place < k_queue_settings.size(); place++) {
        const Setting &setting = k_queue_settings[place];
        if (setting.effect != store::Effect::prepared || get(after, setting).isnull)
            continue;
        if (queue.pending.has(place) || get(before, setting).isnull)
            pending.add(place);
    }
    return pending;
}

QueueRow require_queue(Store &store, const text *name) {
    return rights::require_queue(store, name, model::Privilege::admin);
}

// The maximum may have been lowered since, which concerns no change of other settings.
void require_short_calls(const QueueSettings &before, const QueueSettings &after) {
    const auto timeout = args::timeout("run_timeout", after.run_timeout);
    if (after.handler == nullptr || !timeout || *timeout <= longest_call() ||
        (before.handler != nullptr && timeout == args::timeout("run_timeout", before.run_timeout)))
        return;
    error::bad_argument("run_timeout", error::print(IntervalPGetDatum(after.run_timeout), INTERVALOID),
                        psprintf("In a queue with a handler it must not be more than scylla.max_handler_timeout (%s).",
                                 GetConfigOptionByName("scylla.max_handler_timeout", nullptr, false)));
}

// Other processes learn of a change a moment after its commit.
constexpr int64 k_heard_of = 10'000; // microseconds

// Calls `change` with the settings of a queue. Waits only for a transaction that is changing them.
template <typename Change> void change_settings(Store &store, const text *name, Change change) {
    for (;; refresh(store)) {
        const QueueRow queue = require_queue(store, name);
        const QueueSettings before = *find_settings(store, queue.id);
        QueueSettings after = before;
        change(after);
        if (after.handler != nullptr && (before.handler == nullptr || !equal(after.handler, before.handler)))
            require_handler_rights(queue.name, queue.owner);
        require_short_calls(before, after);
        const SettingSet pending = pending_after(queue, before, after);
        if (update_settings(store, queue, after, pending) != store::Taken::ok)
            continue; // another transaction has changed it
        if (after.rate != nullptr || before.rate != nullptr || after.rate_per_key != nullptr ||
            before.rate_per_key != nullptr)
            begin_rates(queue.id, after.rate, after.rate_per_key);
        if (!pending.empty() && store::is_own_queue(queue.id))
            settle_own_queue(store, queue.id);
        else if (!pending.empty())
            shmem::note_time(shmem::Timer::settings, GetCurrentTimestamp());
        if (after.run_timeout != nullptr) // runs may have to end
            shmem::note_time(shmem::Timer::deadline, GetCurrentTimestamp() + k_heard_of);
        shmem::note_room(queue.id, PG_INT64_MAX); // tasks may have become leasable
        if (before.paused && !after.paused)
            shmem::note_pool(0); // tasks of a paused queue are not placed
        notify_ready(store, queue.id);
        return;
    }
}

} // namespace

void put(QueueSettings &settings, const Setting &setting, NullableDatum value) {
    if (setting.rule == SettingRule::handler && !value.isnull)
        value.value = PointerGetDatum(find_handler(DatumGetTextPP(value.value)));
    set(settings, setting, value);
}

void apply(Jsonb *changes, QueueSettings &settings) {
    if (!json::is_object(changes))
        error::bad_argument("settings", error::show(changes), "It must be an object.");
    json::for_each_member(&changes->root, [&](const char *name, JsonbValue *value) {
        const auto *setting = std::find_if(k_queue_settings.begin(), k_queue_settings.end(),
                                           [name](const Setting &each) { return std::string_view(each.name) == name; });
        if (setting == k_queue_settings.end())
            error::bad_argument("settings", error::quote(cstring_to_text(name)),
                                "There is no such setting of a queue.");
        put(settings, *setting, from_json(*setting, value));
    });
    check(settings);
}

void warn_of_short_retentions(const QueueSettings &settings) {
    for (const Setting &setting : k_queue_settings) {
        const NullableDatum value = get(settings, setting);
        if (setting.rule != SettingRule::retention || value.isnull)
            continue;
        const Interval *length = DatumGetIntervalP(value.value);
        const auto micros = args::retention(setting.name, length);
        if (micros && *micros > 0 && *micros < model::k_minute)
            error::tell_short_retention(setting.name, length);
    }
}

void create_queue(Store &store, const text *name, const QueueSettings &settings) {
    check(settings);
    if (settings.handler != nullptr)
        require_handler_rights(name, GetUserNameFromId(GetUserId(), false));
    require_short_calls({}, settings);
    // Transactions that create a queue of that name wait for this one if it has created one, so it must not wait for
    // them.
    const auto known = find_queue(store, name);
    if ((known && store::is_own_queue(known->id)) || !store::insert_queue(name, settings))
        error::duplicate_queue(name);
    refresh(store);
    const int32 queue = find_queue(store, name)->id;
    if (settings.rate != nullptr || settings.rate_per_key != nullptr)
        begin_rates(queue, settings.rate, settings.rate_per_key);
    shmem::note_queue(name, queue);
}

void alter_queue(Store &store, const text *name, Jsonb *changes) {
    change_settings(store, name, [&](QueueSettings &settings) { apply(changes, settings); });
}

void set_paused(Store &store, const text *name, bool paused) {
    change_settings(store, name, [&](QueueSettings &settings) { settings.paused = paused; });
}

// A submit that has read the queue before it is removed here may write its task afterwards. Neither waits for the
// other: this call removes the row, sends the message, and then looks for tasks. The submit looks for the queue when
// its task is written (queue/pending.h).
void drop_queue(Store &store, const text *name, bool force) {
    for (;; refresh(store)) {
        const QueueRow queue = require_queue(store, name);
        if (remove_queue(store, queue) != store::Taken::ok)
            continue; // its settings have just been changed
        store::tell_at_once(TableId::queue);
        if (has_tasks(store, queue.id)) {
            if (!force)
                error::queue_not_empty(name);
            store::dropped::add(queue.id, queue.name);
            shmem::note_time(shmem::Timer::dropped, GetCurrentTimestamp());
        }
        begin_rates(queue.id, nullptr, nullptr);
        shmem::note_room(queue.id, PG_INT64_MAX); // its waiters wait for a queue that does not exist yet
        return;
    }
}

} // namespace scylla
