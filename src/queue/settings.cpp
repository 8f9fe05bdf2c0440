// create_queue, alter_queue, pause_queue, resume_queue, drop_queue, register_worker.
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "shmem/gaps.h"
#include "shmem/key_notes.h"
#include "shmem/pending.h"
#include "store/upsert.h"
#include "api/call.h"
#include "task/rules.h"
#include "task/depth.h"
#include "task/events.h"
#include "task/gates.h"
#include "task/line.h"
#include "pg/json.h"
#include "queue/handler.h"
#include "queue/leasable.h"
#include "task/moves.h"
#include "queue/rate.h"
#include "task/retry.h"
#include "task/rights.h"

namespace scylla {

using store::QueueSettings;
using store::Store;
using store::TableId;

namespace {

// Every setting, wherever it comes from, goes through here.
void check(const QueueSettings &settings) {
    args::timeout("default_timeout", settings.default_timeout);
    args::retention("retention", settings.retention);
    args::aging(settings.aging);
    args::max_attempts(settings.max_attempts);
    if (settings.retry != nullptr)
        read_retry_policy(settings.retry);
    args::retention("retention_completed", settings.retention_completed);
    args::retention("retention_aborted", settings.retention_aborted);
    args::retention("retention_cancelled", settings.retention_cancelled);
    args::bound("max_running", settings.max_running);
    args::bound("max_running_per_key", settings.max_running_per_key);
    args::bound("max_depth", settings.max_depth);
    args::document("retry", settings.retry);
    args::document("key_weights", settings.key_weights);
    args::document("rate", settings.rate);
    args::document("rate_per_key", settings.rate_per_key);
    if (settings.key_weights != nullptr)
        check_key_weights(settings.key_weights);
    if (settings.rate != nullptr)
        read_rate("rate", settings.rate);
    if (settings.rate_per_key != nullptr)
        read_rate("rate_per_key", settings.rate_per_key);
}

// '30' was meant to be days, more likely than seconds. 0 is meant.
void warn_of_short_retentions(const QueueSettings &settings) {
    const auto look = [](const char *setting, const Interval *value) {
        const auto length = args::retention(setting, value);
        if (length && *length > 0 && *length < model::k_minute)
            error::tell_short_retention(setting, value);
    };
    look("retention", settings.retention);
    look("retention_completed", settings.retention_completed);
    look("retention_aborted", settings.retention_aborted);
    look("retention_cancelled", settings.retention_cancelled);
}

// Changes those settings that are members of the object; null is the default.
void apply(Jsonb *changes, QueueSettings *settings) {
    if (!json::is_object(changes))
        error::bad_argument("settings", error::show(changes), "It must be an object.");
    json::for_each_member(&changes->root, [&](const char *name, JsonbValue *value) {
        const std::string_view setting(name);
        const bool reset = value->type == jbvNull;
        const auto set_interval = [&](Interval **target) {
            *target = reset ? nullptr : json::to_interval(name, value);
        };
        if (setting == "default_timeout")
            set_interval(&settings->default_timeout);
        else if (setting == "retention")
            set_interval(&settings->retention);
        else if (setting == "aging")
            settings->aging = reset ? 0 : json::to_float(name, value);
        else if (setting == "max_attempts")
            settings->max_attempts = reset ? std::nullopt : std::optional(json::to_int(name, value));
        else if (setting == "retry")
            settings->retry = reset ? nullptr : json::to_jsonb(value);
        else if (setting == "retention_completed")
            set_interval(&settings->retention_completed);
        else if (setting == "retention_aborted")
            set_interval(&settings->retention_aborted);
        else if (setting == "retention_cancelled")
            set_interval(&settings->retention_cancelled);
        else if (setting == "paused")
            settings->paused = !reset && json::to_bool(name, value);
        else if (setting == "max_running")
            settings->max_running = reset ? std::nullopt : std::optional(json::to_int(name, value));
        else if (setting == "events")
            settings->events = !reset && json::to_bool(name, value);
        else if (setting == "notify")
            settings->notify = !reset && json::to_bool(name, value);
        else if (setting == "max_running_per_key")
            settings->max_running_per_key = reset ? std::nullopt : std::optional(json::to_int(name, value));
        else if (setting == "max_depth")
            settings->max_depth = reset ? std::nullopt : std::optional(json::to_int(name, value));
        else if (setting == "on_full")
            settings->on_full = reset ? store::OnFull::error : args::on_full(json::to_text(name, value));
        else if (setting == "key_weights")
            settings->key_weights = reset ? nullptr : json::to_jsonb(value);
        else if (setting == "rate")
            settings->rate = reset ? nullptr : json::to_jsonb(value);
        else if (setting == "rate_per_key")
            settings->rate_per_key = reset ? nullptr : json::to_jsonb(value);
        else if (setting == "handler")
            settings->handler = reset ? nullptr : find_handler(json::to_text(name, value));
        else
            error::bad_argument("settings", error::quote(cstring_to_text(name)),
                                "There is no such setting of a queue.");
    });
    check(*settings);
}

store::QueueRow require_queue(Store &store, const text *name) {
    return rights::require_queue(store, name, model::Privilege::admin);
}

// Lets `change` act on the settings of a queue. Nobody leases by the old limits after that.
template <typename Change> void change_settings(Store &store, const text *name, Change change) {
    bool tasks_locked = false;
    int32 limits_locked = 0;
    for (;; refresh(store)) {
        const store::QueueRow queue = require_queue(store, name);
        QueueSettings settings = *find_settings(store, queue.id);
        const text *handler = settings.handler;
        change(settings);
        if (settings.handler != nullptr && (handler == nullptr || !equal(settings.handler, handler)))
            require_handler_rights(queue.name, queue.owner);
        store::QueueRow changed = queue;
        changed.max_running = settings.max_running;
        changed.max_running_per_key = settings.max_running_per_key;
        changed.is_shared = settings.key_weights != nullptr;
        changed.rate_per_key = settings.rate_per_key;
        const bool first_limit = has_limits(changed) && !has_limits(queue);
        const bool begins_with_keys = goes_by_keys(changed) && !goes_by_keys(queue);
        const bool first_depth = settings.max_depth && !queue.max_depth; // who is just submitting has taken no room,
        const bool first_running = changed.max_running && !queue.max_running; // nor has who is just leasing
        if ((first_limit || begins_with_keys || first_depth || first_running) && !tasks_locked) {
            store::lock_table(TableId::spec, ShareRowExclusiveLock); // before it is opened, and before the limits
            tasks_locked = true;
            continue;
        }
        if (limits_locked != queue.id) {
            lock_limits_of_all(store, queue.id); // to the end of the transaction
            limits_locked = queue.id;
            continue;
        }
        if (update_settings(store, queue, settings) != store::Taken::ok)
            continue; // somebody else has just changed it
        if (first_limit) {
            give_permits(store, queue.id);
            // It may have had limits before, and what was known of its permits then is not true any more.
            shmem::forget_gaps({MyDatabaseId, compat::file_number(store[TableId::lease].rel), queue.id});
        }
        if (begins_with_keys)
            give_keys(store, queue.id, [](Store &of, const store::ReadyRow &row) {
                // To the heads it is as if it had come back: some scan may have seen the old version go.
                shmem::note_ready(compat::file_number(of[TableId::ready].rel), row.queue, row.priority, row.id, false);
            });
        if (first_depth)
            begin_depth(queue.id, shmem::Bounded::unleased);
        if (first_running)
            begin_depth(queue.id, shmem::Bounded::running);
        if (settings.rate != nullptr || queue.rate != nullptr || settings.rate_per_key != nullptr ||
            queue.rate_per_key != nullptr)
            begin_rates(queue.id, settings.rate, settings.rate_per_key);
        shmem::note_room(queue.id, PG_INT64_MAX); // there may be something to lease now
        if (queue.paused && !settings.paused)
            shmem::note_pool(0); // tasks of a paused queue are not placed
        if (begins_with_keys)
            shmem::note_all_keys_ready();
        notify_ready(store, queue.id);
        return;
    }
}

void set_paused(FunctionCallInfo fcinfo, const char *call, bool value) {
    text *name = args::name("queue", args::get_text(fcinfo, 0));
    Store store = open_for_settings(call);
    change_settings(store, name, [&](QueueSettings &settings) { settings.paused = value; });
    close(store);
}

// What hangs on a task whose queue is dropped.
void give_up(Store &store, const store::SpecRow &task) {
    if (has_live_dependants(store, task.id, task.queue))
        error::queue_needed(queue_of(store, task.queue).row->name, task.rn);
    leave_pools(store, task);
    remove_gates(store, task);
    if (task.dedup_key != nullptr && find_dedup_key(store, task.queue, task.dedup_key) == task.id)
        remove_dedup_key(store, task);
    leave_plan(store, task);
}

// Whether a row of the table belongs to a task of the queue; all that do are removed if `remove_them` says so.
bool has_rows(Store &store, TableId table, int32 queue, bool remove_them) {
    bool found = false;
    store::Scan scan = scan_all(store, table);
    const RowMemory memory = begin_row_memory();
    while ((!found || remove_them) && next(scan)) {
        if (queue_of(scan, table) != queue)
            continue;
        found = true;
        if (!remove_them)
            break;
        store::SpecRow task{};
        task.queue = queue;
        if (table == TableId::spec) {
            task = spec_row(scan, store::With::no_spec);
            give_up(store, task);
        }
        if (table == TableId::ready) {
            const store::ReadyRow row = ready_row(scan);
            task.id = row.id;
            task.priority = row.priority;
        }
        if (take(store, table, task, scan.slot->tts_tid, Wait::yes) != store::Taken::ok)
            elog(ERROR, "a task of queue %d was changed while it was dropped", queue);
        reset(memory);
    }
    end(memory);
    end(scan);
    return found;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_create_queue) {
    using namespace scylla;
    text *name = args::new_queue_name(args::get_text(fcinfo, 0));
    const QueueSettings settings{args::get_interval(fcinfo, 1),
                                 args::get_interval(fcinfo, 2),
                                 args::aging(args::get_float(fcinfo, 3)),
                                 args::get_int(fcinfo, 4),
                                 args::get_jsonb(fcinfo, 5),
                                 args::get_interval(fcinfo, 6),
                                 args::get_interval(fcinfo, 7),
                                 args::get_interval(fcinfo, 8),
                                 args::get_bool(fcinfo, 9).value_or(false),
                                 args::get_int(fcinfo, 10),
                                 args::get_bool(fcinfo, 11).value_or(false),
                                 args::get_bool(fcinfo, 12).value_or(false),
                                 args::get_int(fcinfo, 13),
                                 args::get_int(fcinfo, 14),
                                 args::on_full(args::get_text(fcinfo, 15)),
                                 args::get_jsonb(fcinfo, 16),
                                 args::get_jsonb(fcinfo, 17),
                                 args::get_jsonb(fcinfo, 18),
                                 find_handler(args::get_text(fcinfo, 19))};
    check(settings);
    if (settings.handler != nullptr)
        require_handler_rights(name, GetUserNameFromId(GetUserId(), false));
    warn_of_short_retentions(settings);
    Store store = open_for_settings("scylla.create_queue()");
    if (!store::insert_queue(name, settings))
        error::duplicate_queue(name);
    if (settings.rate != nullptr || settings.rate_per_key != nullptr) {
        refresh(store);
        begin_rates(find_queue(store, name)->id, settings.rate, settings.rate_per_key);
    }
    shmem::note_queue();
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_alter_queue) {
    using namespace scylla;
    text *name = args::name("queue", args::get_text(fcinfo, 0));
    Jsonb *changes = args::get_jsonb(fcinfo, 1);
    QueueSettings alone{};
    apply(changes, &alone); // what is wrong is said before the queue is looked for
    warn_of_short_retentions(alone);
    Store store = open_for_settings("scylla.alter_queue()");
    change_settings(store, name, [&](QueueSettings &settings) { apply(changes, &settings); });
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_pause_queue) {
    scylla::set_paused(fcinfo, "scylla.pause_queue()", true);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_resume_queue) {
    scylla::set_paused(fcinfo, "scylla.resume_queue()", false);
    PG_RETURN_VOID();
}

// Nobody may submit to the queue meanwhile, nor change its tasks. Whoever does either locks task_spec; whoever submits
// looks for the queue after that (open_for_write).
SCYLLA_FUNCTION(scylla_drop_queue) {
    using namespace scylla;
    text *name = args::name("queue", args::get_text(fcinfo, 0));
    const bool force = args::get_bool(fcinfo, 1).value_or(false);
    Store store = open_for_settings("scylla.drop_queue()");
    require_queue(store, name);
    store::lock_table(TableId::spec, ShareRowExclusiveLock);
    for (;;) {
        refresh(store);
        const store::QueueRow queue = require_queue(store, name);
        for (const TableId table : {TableId::ready, TableId::lease, TableId::waiting, TableId::outcome, TableId::spec})
            if (has_rows(store, table, queue.id, force) && !force)
                error::queue_not_empty(name);
        if (remove_queue(store, queue) != store::Taken::ok)
            continue; // its settings have just been changed
        settle_gates(store, GetCurrentTimestamp());
        begin_rates(queue.id, nullptr, nullptr);
        shmem::note_room(queue.id, PG_INT64_MAX); // whoever waits for it waits for a queue that does not exist yet
        break;
    }
    close(store);
    PG_RETURN_VOID();
}

SCYLLA_FUNCTION(scylla_register_worker) {
    using namespace scylla;
    (void)fcinfo;
    PreventCommandIfReadOnly("scylla.register_worker()");
    PreventCommandDuringRecovery("scylla.register_worker()");
    PG_RETURN_TEXT_P(cstring_to_text(psprintf("worker-" INT64_FORMAT, store::next_worker())));
}
