#include "task/submit.h"

#include "model/graph.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "pg/settings.h"
#include "pg/text.h"
#include "pg/text_table.h"
#include "shmem/pending.h"
#include "store/plans.h"
#include "store/queue_changes.h"
#include "store/upsert.h"
#include "task/dropped.h"
#include "task/admission.h"
#include "task/change.h"
#include "task/depth.h"
#include "task/gates.h"
#include "task/history.h"
#include "task/line.h"
#include "task/names.h"
#include "task/rights.h"
#include "task/rules.h"
#include "task/waits.h"

namespace scylla {

using store::SpecRow;
using store::Store;

// The queue, created on first use if that is allowed.
store::QueueRow queue_to_submit(Store &store, text *name) {
    for (;;) {
        if (const auto queue = find_queue(store, name)) {
            rights::require(store, *queue, model::Privilege::submit);
            if (!store::outlives_drop(*queue)) {
                refresh(store);
                continue;
            }
            note_use(store, *queue, store::Use::submitted);
            return *queue;
        }
        if (!settings::auto_create_queues)
            error::no_such_queue(name, rights::similar_queue(store, name));
        const bool is_made = store::insert_queue(args::new_queue_name(name), {});
        refresh(store);
        if (is_made)
            shmem::note_queue(name, find_queue(store, name)->id);
    }
}

namespace {

std::optional<int32> max_attempts_of(const Submission &task, const store::QueueRow &queue) {
    if (task.max_attempts)
        return task.max_attempts;
    if (queue.max_attempts)
        return queue.max_attempts;
    return settings::default_max_attempts > 0 ? std::optional(settings::default_max_attempts) : std::nullopt;
}

// plan: its id; 0: none. pools: how many its needs name.
SpecRow make_spec(const Submission &task, const store::QueueRow &queue, int64 plan, std::size_t pools,
                  TimestampTz now) {
    CHECK_FOR_INTERRUPTS();
    const auto gates = static_cast<int32>(task.waits.size() + pools) + (plan != 0 ? 1 : 0);
    return {.id = store::next_task_id(),
            .created = now,
            .queue = queue.id,
            .priority = task.priority,
            .rn = task.rn != nullptr ? task.rn : make_up_name(now),
            .spec = task.spec,
            .not_before = task.not_before,
            .max_attempts = max_attempts_of(task, queue),
            .gates = gates > 0 ? std::optional(gates) : std::nullopt,
            .plan = plan != 0 ? std::optional(plan) : std::nullopt,
            .retry = task.retry,
            .dedup_key = task.dedup_key,
            .key = task.key,
            .needs = task.needs,
            .runtime = task.runtime,
            .is_check = task.is_check,
            .run_timeout = task.run_timeout,
            .key_until = task.dedup_for ? std::optional(now + *task.dedup_for) : std::nullopt};
}

// 23505 if the name is taken; a generated name cannot be.
void insert_new(Store &store, const SpecRow &spec, bool made_up) {
    if (made_up)
        insert_made_up(store, spec);
    else
        insert(store, spec);
}

// The plan of a task, held so that it cannot end before this transaction. 0: none.
int64 plan_id(const text *name) {
    if (name == nullptr)
        return 0;
    const auto plan = store::hold_plan(name, store::Hold::share);
    if (!plan || !rights::owns(plan->owner))
        error::no_such_plan(name);
    if (plan->maker == store::PlanMaker::workflow)
        error::plan_of_run(name);
    if (plan->finished)
        error::plan_ended(name, plan->cancelled ? "cancelled" : "finished");
    return plan->id;
}

// The gate of the plan of a new task, and its others.
void insert_all_gates(Store &store, store::Dirty *dirty, const SpecRow &spec, const Waits &waits,
                      std::span<const int64> pools, NewConditions *made) {
    if (spec.plan)
        insert(store, store::GateRow{.task = spec.id,
                                     .provider = *spec.plan,
                                     .ord = 0,
                                     .kind = store::GateKind::plan,
                                     .on_failure = store::OnFailure::cascade});
    insert_gates(store, dirty, spec, waits, spec.created, made);
    for (std::size_t i = 0; i < pools.size(); i++)
        insert(store, store::GateRow{.task = spec.id,
                                     .provider = pools[i],
                                     .ord = store::k_first_pool + static_cast<int32>(i),
                                     .kind = store::GateKind::pool,
                                     .on_failure = store::OnFailure::cascade});
}

// Puts a new task into its first state. Its gates are in the table.
Task place(Store &store, store::Dirty *dirty, const SpecRow &spec) {
    shmem::count(stat_id(spec.queue), shmem::Count::submitted);
    if (spec.gates)
        return place_gated(store, dirty, spec, {}, spec.created);
    if (spec.not_before && *spec.not_before > spec.created)
        return make_waiting(store, spec, {}, *spec.not_before, spec.created);
    return make_ready(store, spec, {}, spec.created, true);
}

// The same for a task of which a gate is known to be closed, and no provider has failed.
Task place_closed(Store &store, const SpecRow &spec, std::optional<TimestampTz> times_out) {
    shmem::count(stat_id(spec.queue), shmem::Count::submitted);
    return make_gated(store, spec, {}, times_out, spec.created);
}

// Ends a task at once because no slot is free (task/depth.h). The caller must settle gates, because others may wait for
// it.
Task shed(Store &store, const SpecRow &spec) {
    const shmem::StatId id = stat_id(spec.queue);
    shmem::count(id, shmem::Count::submitted);
    shmem::count(id, shmem::Count::shed);
    store::Carry carry{};
    carry.errors = add_error(nullptr, make_error("queue-full", "the queue has reached its max_depth"));
    return make_final(store, spec, {.status = model::Status::cancelled, .carry = carry}, spec.created);
}

// 23505: another task has the key of this one.
[[noreturn]] void refuse_key(Store &store, const SpecRow &spec, text *queue) {
    refresh(store);
    const auto holder = find_dedup_key(store, spec.queue, spec.dedup_key);
    if (holder && holder->ended)
        error::key_kept(spec.dedup_key, queue, *holder->until);
    error::duplicate_key(spec.dedup_key, queue);
}

bool is_task(const WaitFor &wait, const text *rn) { return wait.what == WaitFor::What::task && equal(wait.name, rn); }

// Inserts the task; nothing if its rn or its deduplication key is taken and `ignore` says that this is no error.
std::optional<Task> try_submit(Store &store, const Submission &task, bool ignore) {
    const auto providers = allocate<Provider>(task.waits.size());
    for (std::size_t i = 0; i < providers.size(); i++) {
        if (task.rn != nullptr && is_task(task.waits[i], task.rn))
            error::dependency_cycle(psprintf("%s -> %s", error::quote(task.rn), error::quote(task.rn)));
        providers[i] = find_provider(store, task.waits[i], GetCurrentTimestamp());
    }
    const auto pools = pools_of(store, task.needs);
    const store::QueueRow queue = queue_to_submit(store, task.queue);
    // Unused slots, because another transaction has taken the name, are released at the end of the transaction.
    const bool has_room = take_room(store, queue, 1) == 1;
    const SpecRow spec = make_spec(task, queue, plan_id(task.plan), pools.size(), GetCurrentTimestamp());
    bool inserted = true;
    if (spec.dedup_key != nullptr) {
        // If both are taken, the error is about the name.
        if (!ignore && task.rn != nullptr && find_spec(store, task.rn, store::With::no_spec))
            error::duplicate_task(task.rn);
        remove_free_dedup_keys(store, {&spec, 1});
        store::insert_dedup_keys({&spec, 1}, {&inserted, 1});
        if (!inserted && !ignore)
            refuse_key(store, spec, task.queue);
        if (!inserted)
            return std::nullopt;
    }
    if (!ignore || task.rn == nullptr)
        insert_new(store, spec, task.rn == nullptr);
    else
        store::insert_specs({&spec, 1}, {&inserted, 1});
    if (!inserted) {
        if (spec.dedup_key != nullptr)
            (void)remove_dedup_key(store, spec, true);
        return std::nullopt;
    }
    store::Dirty *dirty = store::begin_dirty(store);
    NewConditions made{allocate<int64>(task.waits.size()), 0};
    insert_all_gates(store, dirty, spec, {task.waits, providers}, pools, &made);
    look_back(store, made, spec.created);
    const Task placed = has_room ? place(store, dirty, spec) : shed(store, spec);
    end(dirty);
    if (spec.gates) {
        // A failed provider may have ended it at once; and its gates must be visible for its args.
        CommandCounterIncrement();
        settle_gates(store, spec.created);
        refresh(store);
    }
    return placed;
}

// The later submission replaces what it can of the task. Nothing: look again, or submit it.
std::optional<Task> replace_found(Store &store, const SpecRow &existing, const Submission &task) {
    const Task found = require_task(store, existing);
    if (found.status == model::Status::waiting || found.status == model::Status::ready)
        return replace_task(store, existing, {task.spec, task.priority, task.not_before});
    const bool by_name = task.rn != nullptr && equal(task.rn, existing.rn);
    if (by_name || model::is_final(found.status))
        return found;
    const auto holder = find_dedup_key(store, existing.queue, existing.dedup_key);
    if (holder && holder->id == existing.id && holder->until && *holder->until > GetCurrentTimestamp())
        return found;
    (void)remove_dedup_key(store, existing, true); // from now on the new task has it
    CommandCounterIncrement();
    return std::nullopt;
}

// Submits unless the rn or the deduplication key is taken; then the task that has it, if the role may see it.
Task submit_or_find(Store &store, const Submission &task, IfTaken if_taken) {
    const auto use = [&](const SpecRow &existing) {
        return if_taken == IfTaken::replace ? replace_found(store, existing, task)
                                            : std::optional(require_task(store, existing));
    };
    for (;; refresh(store)) {
        const auto queue = find_queue(store, task.queue);
        if (queue)
            rights::require(store, *queue, model::Privilege::submit);
        if (task.rn != nullptr)
            if (const auto existing = find_spec(store, task.rn, store::With::spec)) {
                if (!rights::may(store, existing->queue, model::Privilege::view))
                    error::duplicate_task(task.rn);
                if (const auto used = use(*existing))
                    return *used;
                continue;
            }
        if (queue && task.dedup_key != nullptr)
            if (const auto holder = find_dedup_key(store, queue->id, task.dedup_key))
                if (const auto existing = find_spec(store, holder->id, store::With::spec)) {
                    if (!rights::may(store, queue->id, model::Privilege::view))
                        error::duplicate_key(task.dedup_key, task.queue);
                    if (const auto used = use(*existing))
                        return *used;
                    continue;
                }
        if (const auto submitted = try_submit(store, task, true))
            return *submitted;
    }
}

// Sorts indices by the names of their elements, then by index.
template <typename NameOf> void sort_by_name(std::span<std::size_t> order, NameOf name_of) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        CHECK_FOR_INTERRUPTS();
        const int compared = view(name_of(a)).compare(view(name_of(b)));
        return compared != 0 ? compared < 0 : a < b;
    });
}

// Looks up a value by a name of each element, once per name and in the order of the names, so that two calls cannot
// deadlock. Elements without the name get the value 0.
template <typename Id, typename NameOf, typename Find>
std::span<Id> look_up_each(std::span<const Submission> tasks, NameOf name_of, Find find) {
    const auto ids = allocate<Id>(tasks.size());
    const auto order = allocate<std::size_t>(tasks.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        ids[i] = Id{};
        if (name_of(tasks[i]) != nullptr)
            order[count++] = i;
    }
    sort_by_name(order.first(count), [&](std::size_t i) { return name_of(tasks[i]); });
    for (std::size_t i = 0; i < count; i++) {
        text *name = name_of(tasks[order[i]]);
        ids[order[i]] = i > 0 && equal(name, name_of(tasks[order[i - 1]])) ? ids[order[i - 1]] : find(name);
    }
    return ids;
}

// What each element of submit_many depends on: another element, or a task that exists.
struct Dependencies {
    std::span<std::size_t> first;   // of element i: from first[i] to first[i + 1] - 1
    std::span<std::size_t> element; // k_none: not an element
    std::span<Provider> provider;   // if it is not an element
};
constexpr std::size_t k_none = SIZE_MAX;

[[noreturn]] void report_cycle(std::span<const Submission> tasks, std::span<const std::size_t> cycle) {
    constexpr std::size_t k_shown = 20;
    StringInfoData path;
    initStringInfo(&path);
    for (std::size_t i = 0; i < cycle.size() && i < k_shown; i++)
        appendStringInfo(&path, "%s -> ", error::quote(tasks[cycle[i]].rn));
    appendStringInfo(&path, "%s%s", cycle.size() > k_shown ? "... -> " : "", error::quote(tasks[cycle[0]].rn));
    error::dependency_cycle(path.data);
}

// The elements, each with edges to those that it depends on.
model::Graph graph_of(const Dependencies &all) {
    const std::size_t size = all.first.size() - 1;
    const auto first = allocate<std::size_t>(size + 1);
    const auto target = allocate<std::size_t>(all.element.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; i++) {
        first[i] = count;
        for (std::size_t e = all.first[i]; e < all.first[i + 1]; e++)
            if (all.element[e] != k_none)
                target[count++] = all.element[e];
    }
    first[size] = count;
    return {first, target.first(count)};
}

void refuse_cycle(std::span<const Submission> tasks, const Dependencies &all) {
    const auto cycle =
        model::find_cycle(graph_of(all), allocate<model::CycleWork>(tasks.size()), allocate<std::size_t>(tasks.size()));
    if (!cycle.empty())
        report_cycle(tasks, cycle);
}

// The elements of a call, by their names.
struct Element {
    const text *name;
    std::size_t place; // of several with that name: the first
};

// Null: no element has a name.
HTAB *table_of_names(std::span<const Submission> tasks) {
    HTAB *table = nullptr;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        if (tasks[i].rn == nullptr)
            continue;
        if (table == nullptr)
            table = make_text_table("scylla elements by name", sizeof(Element), CurrentMemoryContext);
        bool found = false;
        auto *element = static_cast<Element *>(hash_search(table, &tasks[i].rn, HASH_ENTER, &found));
        if (!found)
            element->place = i;
    }
    return table;
}

// k_none: it is for something else.
std::size_t element_of(HTAB *by_name, const WaitFor &wait) {
    if (by_name == nullptr || wait.what != WaitFor::What::task)
        return k_none;
    const auto *element = static_cast<const Element *>(hash_search(by_name, &wait.name, HASH_FIND, nullptr));
    return element != nullptr ? element->place : k_none;
}

// P0002 for a task that does not exist, 22023 for a cycle.
Dependencies resolve(Store &store, std::span<const Submission> tasks, TimestampTz now) {
    std::size_t edges = 0;
    for (const Submission &task : tasks)
        edges += task.waits.size();
    const Dependencies all{allocate<std::size_t>(tasks.size() + 1), allocate<std::size_t>(edges),
                           allocate<Provider>(edges)};
    HTAB *by_name = edges > 0 ? table_of_names(tasks) : nullptr;
    std::size_t edge = 0;
    for (std::size_t i = 0; i < tasks.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        all.first[i] = edge;
        for (const WaitFor &wait : tasks[i].waits) {
            const std::size_t element = element_of(by_name, wait);
            all.element[edge] = element;
            all.provider[edge] =
                element != k_none ? Provider{} : find_provider(store, wait, now, static_cast<int64>(i + 1));
            edge++;
        }
    }
    all.first[tasks.size()] = edge;
    if (by_name != nullptr)
        hash_destroy(by_name);
    if (edge > 0)
        refuse_cycle(tasks, all);
    return all;
}

// The inserted rows for which slots are free: the first of each queue. A row comes after those that it depends on,
// because it would end with them. Each queue once, in the order of ids, so that two calls cannot deadlock.
std::span<const bool> take_rooms(Store &store, std::span<const store::QueueRow *const> queues,
                                 std::span<const Admission> admissions, const Dependencies &dependencies) {
    const auto inserted = [&](std::size_t i) { return admissions[i].admitted == Admitted::inserted; };
    const auto order = allocate<std::size_t>(queues.size());
    model::put_targets_first(graph_of(dependencies), allocate<model::CycleWork>(queues.size()), order);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return queues[a]->id < queues[b]->id; });
    const auto has_room = allocate<bool>(queues.size());
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
        const store::QueueRow &queue = *queues[order[from]];
        int64 wanted = 0;
        for (to = from; to < order.size() && queues[order[to]]->id == queue.id; to++)
            wanted += inserted(order[to]) ? 1 : 0;
        int64 left = take_room(store, queue, wanted);
        for (std::size_t i = from; i < to; i++)
            has_room[order[i]] = inserted(order[i]) && left-- > 0;
    }
    return has_room;
}

// Replaces providers that are elements by tasks: an element that was not inserted stands for the task that exists
// instead. That may be another element, with the same deduplication key: 22023 if that makes a cycle.
void settle_elements(Store &store, std::span<const Submission> tasks, std::span<const SpecRow> rows,
                     std::span<const Admission> admissions, const Dependencies &all) {
    bool moved = false;
    for (std::size_t i = 0; i < rows.size(); i++)
        for (std::size_t e = all.first[i]; admissions[i].admitted == Admitted::inserted && e < all.first[i + 1]; e++) {
            std::size_t &element = all.element[e];
            if (element == k_none)
                continue;
            if (admissions[element].admitted != Admitted::inserted) {
                all.provider[e].id = provider_id(
                    store, admissions[element].holder != nullptr ? admissions[element].holder : rows[element].rn,
                    static_cast<int64>(i + 1));
                // Their ids rise, and are those of new tasks only.
                const auto *row = std::lower_bound(rows.data(), rows.data() + rows.size(), all.provider[e].id,
                                                   [](const SpecRow &of, int64 id) { return of.id < id; });
                const bool is_element = row != rows.data() + rows.size() && row->id == all.provider[e].id;
                element = is_element ? static_cast<std::size_t>(row - rows.data()) : k_none;
                moved = moved || is_element;
            } else
                all.provider[e].id = rows[element].id;
        }
    if (moved)
        refuse_cycle(tasks, all);
}

// The elements of submit_many, and what is known of each.
struct Batch {
    std::span<const Submission> tasks;
    std::span<const SpecRow> rows;
    std::span<const Admission> admissions;
    std::span<const bool> has_room;
    std::span<const std::span<const int64>> pools;
    const Dependencies &dependencies;

    bool is_inserted(std::size_t i) const { return admissions[i].admitted == Admitted::inserted; }
    template <typename T> std::span<T> edges_of(std::size_t i, std::span<T> all) const {
        return all.subspan(dependencies.first[i], dependencies.first[i + 1] - dependencies.first[i]);
    }
    Waits waits_of(std::size_t i) const { return {tasks[i].waits, edges_of(i, dependencies.provider)}; }
};

void insert_gates_of_rows(Store &store, store::Dirty *dirty, const Batch &batch, TimestampTz now) {
    NewConditions made{allocate<int64>(batch.dependencies.provider.size()), 0};
    begin_bulk(store[store::TableId::gate]);
    const RowMemory memory = begin_row_memory();
    for (std::size_t i = 0; i < batch.rows.size(); i++) {
        if (batch.is_inserted(i))
            insert_all_gates(store, dirty, batch.rows[i], batch.waits_of(i), batch.pools[i], &made);
        reset(memory);
    }
    end(memory);
    end_bulk(store[store::TableId::gate]); // all gates, before any of them is looked at
    look_back(store, made, now);
}

// Inserts the gates of the inserted rows, and puts the rows into their first states. A row mostly depends on other rows
// of the call, which nobody else can end: so these gates need not be looked up.
void place_rows(Store &store, const Batch &batch, TimestampTz now) {
    const std::size_t count = batch.rows.size();
    const auto ended = allocate<bool>(count);
    std::fill(ended.begin(), ended.end(), false);
    const auto waits_for_rows = [&](std::size_t i) {
        const auto elements = batch.edges_of(i, batch.dependencies.element);
        return !elements.empty() && std::all_of(elements.begin(), elements.end(), [&](std::size_t element) {
            return element != k_none && !ended[element];
        });
    };
    store::Dirty *dirty = store::begin_dirty(store);
    begin_bulk(store[store::TableId::ready]);
    begin_bulk(store[store::TableId::waiting]);
    insert_gates_of_rows(store, dirty, batch, now);
    const RowMemory memory = begin_row_memory();
    for (std::size_t i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        const SpecRow &row = batch.rows[i];
        if (batch.has_room[i] && waits_for_rows(i))
            place_closed(store, row, first_timeout(batch.waits_of(i), row.created));
        else if (batch.has_room[i])
            ended[i] = model::is_final(place(store, dirty, row).status);
        else if (batch.is_inserted(i))
            ended[i] = model::is_final(shed(store, row).status);
        reset(memory);
    }
    end(memory);
    end(dirty);
    end_bulk(store[store::TableId::ready]);
    end_bulk(store[store::TableId::waiting]);
    CommandCounterIncrement();
    settle_gates(store, now); // for tasks that a failed provider has ended at once
}

} // namespace

Task submit(Store &store, const Submission &task, IfTaken if_taken) {
    free_dropped_name(store, task.rn);
    return if_taken != IfTaken::refuse && (task.rn != nullptr || task.dedup_key != nullptr)
               ? submit_or_find(store, task, if_taken)
               : *try_submit(store, task, false);
}

namespace {

bool same_needs(const Submission &a, const Submission &b) {
    return a.needs != nullptr && b.needs != nullptr && VARSIZE(a.needs) == VARSIZE(b.needs) &&
           memcmp(a.needs, b.needs, VARSIZE(a.needs)) == 0;
}

// The tasks of a batch often need the same.
std::span<const std::span<const int64>> pools_of_each(Store &store, std::span<const Submission> tasks) {
    const auto pools = allocate<std::span<const int64>>(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        pools[i] = i > 0 && same_needs(tasks[i - 1], tasks[i])
                       ? pools[i - 1]
                       : pools_of(store, tasks[i].needs,
                                  tasks[i].run != 0 ? NeedsFrom{.is_granted = true}
                                                    : NeedsFrom{.element = static_cast<int64>(i + 1)});
    return pools;
}

// Reserves the permits that are free now, for tasks that ask for that.
void reserve_for(Store &store, const Batch &batch, std::span<const store::QueueRow *const> queues,
                 std::span<Submitted> answers) {
    Growing<Newcomer> newcomers;
    Growing<std::size_t> of;
    for (std::size_t i = 0; i < batch.tasks.size(); i++)
        if (batch.tasks[i].at_once && batch.tasks[i].needs != nullptr && batch.has_room[i] && !queues[i]->paused) {
            newcomers.add({.spec = &batch.rows[i], .pools = batch.pools[i]});
            of.add(i);
        }
    reserve_needs(store, newcomers.all());
    for (std::size_t n = 0; n < of.count; n++)
        answers[of[n]].reserved = newcomers[n].reserved;
}

// New queues are created in the order of their names, also those of checks, so that two calls cannot deadlock.
void make_queues(Store &store, std::span<const Submission> tasks) {
    std::size_t checks = 0;
    for (const Submission &task : tasks)
        for (const WaitFor &wait : task.waits)
            checks += wait.what == WaitFor::What::check ? 1 : 0;
    if (checks == 0)
        return;
    const auto names = allocate<text *>(tasks.size() + checks);
    std::size_t count = 0;
    for (const Submission &task : tasks) {
        names[count++] = task.queue;
        for (const WaitFor &wait : task.waits)
            if (wait.what == WaitFor::What::check)
                names[count++] = wait.name;
    }
    std::sort(names.begin(), names.end(), [](const text *a, const text *b) { return view(a) < view(b); });
    for (std::size_t i = 0; i < names.size(); i++)
        if (i == 0 || !equal(names[i], names[i - 1]))
            (void)queue_to_submit(store, names[i]);
}

} // namespace

std::span<const Submitted> submit_many(Store &store, std::span<const Submission> tasks, IfTaken if_taken) {
    const bool ignore = if_taken == IfTaken::find;
    const TimestampTz now = GetCurrentTimestamp();
    for (const Submission &task : tasks)
        free_dropped_name(store, task.rn);
    make_queues(store, tasks);
    // Everything is checked before anything is made.
    const Dependencies dependencies = resolve(store, tasks, now);
    const auto queues = look_up_each<const store::QueueRow *>(
        tasks, [](const Submission &task) { return task.queue; },
        [&](text *name) {
            auto *row = static_cast<store::QueueRow *>(palloc(sizeof(store::QueueRow)));
            *row = queue_to_submit(store, name);
            return row;
        });
    const auto plans = look_up_each<int64>(
        tasks, [](const Submission &task) { return task.plan; }, plan_id);
    const auto pools = pools_of_each(store, tasks);
    const auto rows = allocate<SpecRow>(tasks.size());
    for (std::size_t i = 0; i < rows.size(); i++)
        rows[i] = make_spec(tasks[i], *queues[i], tasks[i].run != 0 ? tasks[i].run : plans[i], pools[i].size(), now);
    const auto admissions = allocate<Admission>(rows.size());
    insert_rows(store, rows, admissions);
    const auto answers = allocate<Submitted>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++) {
        const auto &[admitted, holder] = admissions[i];
        if (!ignore && admitted == Admitted::key_taken)
            refuse_key(store, rows[i], tasks[i].queue);
        if (!ignore && admitted == Admitted::name_taken)
            error::duplicate_task(rows[i].rn);
        answers[i] = {holder != nullptr ? 0 : rows[i].id, holder != nullptr ? holder : rows[i].rn,
                      admitted == Admitted::inserted};
    }
    settle_elements(store, tasks, rows, admissions, dependencies);
    const auto has_room = take_rooms(store, queues, admissions, dependencies);
    const Batch batch{tasks, rows, admissions, has_room, pools, dependencies};
    reserve_for(store, batch, queues, answers);
    place_rows(store, batch, now);
    return answers;
}

void submit_bulk(Store &store, std::span<const Submission> tasks) {
    const bool named = tasks[0].rn != nullptr;
    for (const Submission &task : tasks)
        free_dropped_name(store, task.rn);
    const store::QueueRow row = queue_to_submit(store, tasks[0].queue);
    const auto has_room =
        static_cast<std::size_t>(take_room(store, row, static_cast<int64>(tasks.size()))); // the first ones
    const auto rows = allocate<SpecRow>(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        rows[i] = make_spec(tasks[i], row, 0, 0, GetCurrentTimestamp());
    // By name, so that two calls with the same names cannot deadlock. Generated names are unique.
    const auto order = allocate<std::size_t>(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (named)
        sort_by_name(order, [&](std::size_t i) { return rows[i].rn; });
    begin_bulk(store[store::TableId::spec]);
    begin_bulk(store[store::TableId::ready]);
    const RowMemory memory = begin_row_memory();
    for (const std::size_t i : order) {
        CHECK_FOR_INTERRUPTS();
        insert_new(store, rows[i], !named);
        if (i < has_room)
            place(store, nullptr, rows[i]); // without gates
        else
            shed(store, rows[i]); // no task can wait for it yet
        reset(memory);
    }
    end(memory);
    end_bulk(store[store::TableId::spec]);
    end_bulk(store[store::TableId::ready]);
}

} // namespace scylla
