// submit, submit_many, submit_bulk.
#include "task/submit.h"

#include "api/arguments.h"
#include "api/rows.h"
#include "api/wait_for.h"
#include "pg/error.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "task/retry.h"
#include "task/rules.h"

namespace scylla {

namespace {

[[noreturn]] void refuse_interval(const char *argument, Interval *value, const char *rule) {
    error::bad_argument(argument, error::print(IntervalPGetDatum(value), INTERVALOID), rule);
}

// How long a completed task keeps its key.
std::optional<int64> get_dedup_for(const text *dedup_key, Interval *value, int64 element = 0) {
    const auto time = args::timeout("dedup_for", value, element);
    if (time && dedup_key == nullptr)
        error::bad_argument("dedup_for", error::print(IntervalPGetDatum(value), INTERVALOID), "It needs a dedup_key.",
                            element);
    return time;
}

// How long no task may be submitted with the key before the task starts.
std::optional<int64> get_debounce(const args::Submit &given, const Submission &task) {
    Interval *value = given.debounce();
    const auto time = args::timeout(given.debounce());
    if (!time)
        return time;
    if (task.dedup_key == nullptr)
        refuse_interval("debounce", value, "It needs a dedup_key.");
    if (task.not_before || task.dedup_for)
        refuse_interval("debounce", value, "It cannot be used together with not_before or dedup_for.");
    if (!task.waits.empty() || task.plan != nullptr || task.needs != nullptr)
        refuse_interval("debounce", value, "A task with dependencies, a plan or needs cannot replace another.");
    if (args::on_duplicate(given.on_duplicate(), args::OnDuplicate::error, true) == args::OnDuplicate::ignore)
        refuse_interval("debounce", value, "It replaces what waits; on_duplicate cannot be \"ignore\".");
    return time;
}

IfTaken get_if_taken(const text *value, const Submission &task) {
    switch (args::on_duplicate(value, args::OnDuplicate::error, true)) {
    case args::OnDuplicate::error:
        return IfTaken::refuse;
    case args::OnDuplicate::ignore:
        return IfTaken::find;
    case args::OnDuplicate::replace:
        break;
    }
    if (!task.waits.empty() || task.plan != nullptr || task.needs != nullptr)
        error::bad_argument("on_duplicate", error::quote(value),
                            "A task with dependencies, a plan or needs cannot replace another.");
    return IfTaken::replace;
}

IfTaken get_if_taken_of_many(const text *value) {
    return args::on_duplicate(value, args::OnDuplicate::ignore, false) == args::OnDuplicate::error ? IfTaken::refuse
                                                                                                   : IfTaken::find;
}

// A retry policy that may be null.
Jsonb *optional_policy(Jsonb *policy, int64 element = 0) {
    if (policy != nullptr)
        read_retry_policy(policy, element);
    return args::document("retry", policy, element);
}

// The names in an array argument; empty if it is null.
std::span<text *> to_names(const args::Named<std::optional<args::Array>> &given) {
    const auto &array = given.value;
    const auto names = allocate<text *>(array ? static_cast<std::size_t>(array->size) : 0);
    for (std::size_t i = 0; i < names.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        names[i] = args::name(given.name, array->null[i] ? nullptr : DatumGetTextPP(array->value[i]),
                              static_cast<int64>(i + 1));
    }
    return names;
}

// ---- submit_many: reading the elements -----------------------------------------------------------------------------

using json::show;
using json::to_int;
using json::to_jsonb;
using json::to_text;
using json::to_time;

std::span<text *> to_names(const char *argument, JsonbValue *value, int64 element) {
    if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
        error::bad_argument(argument, show(value), "It must be an array of texts.", element);
    const auto names = allocate<text *>(JsonContainerSize(value->val.binary.data));
    JsonbIterator *iterator = JsonbIteratorInit(value->val.binary.data);
    JsonbValue each;
    std::size_t n = 0;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &each, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &each, true))
        if (token == WJB_ELEM) {
            CHECK_FOR_INTERRUPTS();
            names[n++] = args::name(argument, to_text(argument, &each, element), element);
        }
    return names;
}

// An element before its checks, which follow the order of submit's arguments, not that of the members.
struct Draft {
    text *queue = nullptr;
    Jsonb *spec = nullptr;
    int32 priority = 0;
    text *rn = nullptr;
    std::optional<TimestampTz> not_before;
    std::span<text *> depends_on;
    store::OnFailure on_failure = store::OnFailure::cascade;
    text *plan = nullptr;
    std::optional<int32> max_attempts;
    Jsonb *retry = nullptr;
    text *dedup_key = nullptr;
    text *key = nullptr;
    Jsonb *wait_for = nullptr;
    Jsonb *needs = nullptr;
    std::optional<int64> runtime;
    Interval *dedup_for = nullptr;
    std::optional<int64> run_timeout;
};

struct Given {
    const char *argument;
    JsonbValue *value;
    int64 element;
};

text *text_of(const Given &given) { return to_text(given.argument, given.value, given.element); }
int32 int_of(const Given &given) { return to_int(given.argument, given.value, given.element); }
Interval *interval_of(const Given &given) { return json::to_interval(given.argument, given.value, given.element); }

struct Member {
    std::string_view name;
    void (*read)(Draft &draft, const Given &given);
};

// The members of an element. A null one counts as missing.
constexpr Member k_members[] = {
    {"queue", [](Draft &draft, const Given &given) { draft.queue = text_of(given); }},
    {"spec", [](Draft &draft, const Given &given) { draft.spec = to_jsonb(given.value); }},
    {"priority", [](Draft &draft, const Given &given) { draft.priority = int_of(given); }},
    {"rn", [](Draft &draft, const Given &given) { draft.rn = text_of(given); }},
    {"not_before",
     [](Draft &draft, const Given &given) { draft.not_before = to_time(given.argument, given.value, given.element); }},
    {"depends_on",
     [](Draft &draft, const Given &given) { draft.depends_on = to_names(given.argument, given.value, given.element); }},
    {"on_dependency_failure",
     [](Draft &draft, const Given &given) {
         draft.on_failure = args::on_failure(given.argument, text_of(given), given.element);
     }},
    {"plan", [](Draft &draft, const Given &given) { draft.plan = text_of(given); }},
    {"max_attempts", [](Draft &draft, const Given &given) { draft.max_attempts = int_of(given); }},
    {"retry", [](Draft &draft, const Given &given) { draft.retry = to_jsonb(given.value); }},
    {"dedup_key", [](Draft &draft, const Given &given) { draft.dedup_key = text_of(given); }},
    {"key", [](Draft &draft, const Given &given) { draft.key = text_of(given); }},
    {"wait_for", [](Draft &draft, const Given &given) { draft.wait_for = to_jsonb(given.value); }},
    {"needs", [](Draft &draft, const Given &given) { draft.needs = to_jsonb(given.value); }},
    {"expected_runtime",
     [](Draft &draft, const Given &given) {
         draft.runtime = args::timeout(given.argument, interval_of(given), given.element);
     }},
    {"dedup_for", [](Draft &draft, const Given &given) { draft.dedup_for = interval_of(given); }},
    {"run_timeout",
     [](Draft &draft, const Given &given) {
         draft.run_timeout = args::timeout(given.argument, interval_of(given), given.element);
     }},
};

void read_member(Draft &draft, const Given &given) {
    const auto *member = std::find_if(std::begin(k_members), std::end(k_members),
                                      [&](const Member &of) { return of.name == given.argument; });
    if (member == std::end(k_members))
        error::bad_argument("tasks", error::quote(cstring_to_text(given.argument)),
                            std::string_view(given.argument) == "debounce"
                                ? "It replaces what waits, which only submit() does."
                                : "There is no such argument of submit.",
                            given.element);
    if (given.value->type != jbvNull)
        member->read(draft, given);
}

Submission checked(const Draft &draft, int64 element) {
    return {.queue = args::name("queue", draft.queue, element),
            .spec = args::spec(draft.spec, element),
            .priority = args::priority(draft.priority, element),
            .rn = args::optional_name("rn", draft.rn, element),
            .not_before = args::not_before(draft.not_before, element),
            .max_attempts = args::max_attempts(draft.max_attempts, element),
            .waits = read_waits(draft.depends_on, draft.on_failure, draft.wait_for, element),
            .plan = args::optional_name("plan", draft.plan, element),
            .retry = optional_policy(draft.retry, element),
            .dedup_key = args::optional_name("dedup_key", draft.dedup_key, element),
            .key = args::optional_name("key", draft.key, element),
            .needs = args::document("needs", draft.needs, element),
            .runtime = draft.runtime,
            .dedup_for = get_dedup_for(draft.dedup_key, draft.dedup_for, element),
            .run_timeout = draft.run_timeout};
}

Submission to_submission(JsonbValue *object, int64 element) {
    if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
        error::bad_argument("tasks", show(object), "Each element must be an object.", element);
    Draft draft;
    json::for_each_member(object->val.binary.data, [&](const char *argument, JsonbValue *value) {
        read_member(draft, {argument, value, element});
    });
    return checked(draft, element);
}

std::span<Submission> read_tasks(Jsonb *tasks) {
    const auto submissions = allocate<Submission>(static_cast<std::size_t>(JB_ROOT_COUNT(tasks)));
    JsonbIterator *iterator = JsonbIteratorInit(&tasks->root);
    JsonbValue value;
    std::size_t n = 0;
    std::size_t gates = 0;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true))
        if (token == WJB_ELEM) {
            CHECK_FOR_INTERRUPTS();
            submissions[n] = to_submission(&value, static_cast<int64>(n + 1));
            gates += submissions[n].waits.size();
            n++;
            if (gates > k_max_gates_of_call)
                error::bad_argument("tasks", psprintf("%zu gates in the first %zu elements", gates, n),
                                    psprintf("The tasks of one call may have at most %d, by depends_on and wait_for.",
                                             k_max_gates_of_call));
        }
    return submissions;
}

} // namespace
} // namespace scylla

SCYLLA_FUNCTION(scylla_submit) {
    using namespace scylla;
    const args::Submit given{fcinfo};
    text *dedup_key = args::optional_name(given.dedup_key());
    Submission task{.queue = args::name(given.queue()),
                    .spec = args::spec(given.spec()),
                    .priority = args::priority(given.priority()),
                    .rn = args::optional_name(given.rn()),
                    .not_before = args::not_before(given.not_before()),
                    .max_attempts = args::max_attempts(given.max_attempts()),
                    .waits = read_waits(to_names(given.depends_on()),
                                        args::on_failure("on_dependency_failure", given.on_dependency_failure()),
                                        given.wait_for()),
                    .plan = args::optional_name(given.plan()),
                    .retry = optional_policy(given.retry()),
                    .dedup_key = dedup_key,
                    .key = args::optional_name(given.key()),
                    .needs = args::document(given.needs()),
                    .runtime = args::timeout(given.expected_runtime()),
                    .dedup_for = get_dedup_for(dedup_key, given.dedup_for()),
                    .run_timeout = args::timeout(given.run_timeout())};
    const auto debounce = get_debounce(given, task);
    const IfTaken if_taken = debounce ? IfTaken::replace : get_if_taken(given.on_duplicate(), task);
    if (debounce)
        task.not_before = GetCurrentTimestamp() + *debounce;
    store::Store store = open_for_write("scylla.submit()");
    return return_task(fcinfo, store, submit(store, task, if_taken), Show::all);
}

SCYLLA_FUNCTION(scylla_submit_many) {
    using namespace scylla;
    const args::SubmitMany given{fcinfo};
    Jsonb *tasks = given.tasks();
    if (tasks == nullptr || !JB_ROOT_IS_ARRAY(tasks) || JB_ROOT_IS_SCALAR(tasks))
        error::bad_argument("tasks", error::show(tasks), "It must be an array of objects.");
    const IfTaken if_taken = get_if_taken_of_many(given.on_duplicate());
    const Rows result = begin_rows(fcinfo);
    store::Store store = open_for_write("scylla.submit_many()");
    for (const Submitted &each : submit_many(store, read_tasks(tasks), if_taken)) {
        CHECK_FOR_INTERRUPTS();
        Datum values[] = {PointerGetDatum(each.rn), BoolGetDatum(each.inserted)};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result.store, result.type, values, nulls);
    }
    close(store);
    return 0;
}

SCYLLA_FUNCTION(scylla_submit_bulk) {
    using namespace scylla;
    const args::SubmitBulk given{fcinfo};
    text *queue = args::name(given.queue());
    const auto specs = given.specs().value;
    const auto rns = given.rns().value;
    const int16 priority = args::priority(given.priority());
    if (!specs)
        error::bad_argument("specs", "null", "It must be an array.");
    if (rns)
        args::same_size("rns", rns->size, "specs", specs->size);
    const auto size = static_cast<std::size_t>(specs->size);
    const auto tasks = allocate<Submission>(size);
    for (std::size_t i = 0; i < size; i++) {
        CHECK_FOR_INTERRUPTS();
        const auto element = static_cast<int64>(i + 1);
        Jsonb *spec = args::spec(specs->null[i] ? nullptr : DatumGetJsonbP(specs->value[i]), element);
        text *rn = rns ? args::name("rns", rns->null[i] ? nullptr : DatumGetTextPP(rns->value[i]), element) : nullptr;
        tasks[i] = {.queue = queue, .spec = spec, .priority = priority, .rn = rn};
    }
    if (size == 0)
        PG_RETURN_INT64(0);
    store::Store store = open_for_write("scylla.submit_bulk()");
    submit_bulk(store, tasks);
    close(store);
    PG_RETURN_INT64(static_cast<int64>(size));
}
