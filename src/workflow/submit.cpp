// The tasks of the turns' steps, submitted as the owners of the workflows.
#include "pg/identity.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/subtransaction.h"
#include "task/open.h"
#include "task/submit.h"
#include "workflow/texts.h"
#include "workflow/written.h"

namespace scylla::workflow {

using model::workflow::NewTask;

namespace {

Submission submission_of(const NewlySubmitted &task) {
    return {.queue = to_text(task.task->queue),
            .spec = to_json(task.task->spec),
            .priority = task.of->root->late ? int16{0} : task.task->priority,
            .rn = nullptr,
            .max_attempts = 1,
            .needs = task.task->needs.empty() ? nullptr : to_json(task.task->needs),
            .run = task.of->root->plan,
            .at_once = task.task->at_once};
}

// Submits as the owner of the workflow. Returns the error; null: all are submitted.
ErrorData *submit_as_owner(std::span<NewlySubmitted> tasks) {
    const char *owner = tasks[0].of->root->owner;
    return attempt([&] {
        const Identity before = become(get_role_oid(owner, false));
        store::Store store = open_for_write("scylla.advance()");
        const auto submissions = allocate<Submission>(tasks.size());
        for (std::size_t i = 0; i < tasks.size(); i++)
            submissions[i] = submission_of(tasks[i]);
        const auto submitted = submit_many(store, submissions, IfTaken::refuse);
        for (std::size_t i = 0; i < tasks.size(); i++) {
            tasks[i].id = submitted[i].id;
            tasks[i].reserved = submitted[i].reserved;
        }
        close(store);
        restore(before);
    });
}

// The step gets the error in the next turn. A temporary error is one of the platform, which is retried.
void refuse(const NewlySubmitted &task, const ErrorData *error) {
    put_on_agenda({.root = task.of->root->id,
                   .kind = is_passing(error) ? "failed" : "refused",
                   .scope = task.of->id_of(task.task->scope),
                   .step = to_text(task.task->step),
                   .data = json_of(error)});
}

// Called if one of them cannot be submitted. Waits only once for a queue that another transaction has locked.
void submit_one_by_one(std::span<NewlySubmitted> tasks) {
    std::string_view held_queue;
    const ErrorData *held = nullptr;
    for (NewlySubmitted &task : tasks) {
        CHECK_FOR_INTERRUPTS();
        task.id = 0;
        task.reserved = false;
        const bool is_held = held != nullptr && task.task->queue == held_queue;
        const ErrorData *error = is_held ? held : submit_as_owner({&task, 1});
        if (error == nullptr)
            continue;
        refuse(task, error);
        if (is_passing(error)) {
            held = error;
            held_queue = task.task->queue;
        }
    }
}

void submit_by_owner(std::span<NewlySubmitted> tasks) {
    std::stable_sort(tasks.begin(), tasks.end(), [](const NewlySubmitted &one, const NewlySubmitted &other) {
        return strcmp(one.of->root->owner, other.of->root->owner) < 0;
    });
    for (std::size_t first = 0, end = 0; first < tasks.size(); first = end) {
        for (end = first + 1; end < tasks.size(); end++)
            if (strcmp(tasks[end].of->root->owner, tasks[first].of->root->owner) != 0)
                break;
        const auto of_owner = tasks.subspan(first, end - first);
        if (submit_as_owner(of_owner) == nullptr)
            continue;
        submit_one_by_one(of_owner);
    }
}

} // namespace

std::span<const NewlySubmitted> submit_tasks(std::span<const Written> all) {
    Growing<NewlySubmitted> tasks;
    for (const Written &each : all)
        for (const NewTask &task : each.turn->tasks)
            tasks.add({&each, &task, 0});
    submit_by_owner(tasks.all());
    return tasks.all();
}

} // namespace scylla::workflow
