#include "schedule/planned.h"

#include "model/bounds.h"
#include "pg/hash.h"
#include "pg/json.h"
#include "pg/memory.h"
#include "pg/text.h"

namespace scylla::schedule {

namespace {

// The planned time in the form that names and specifications have.
const char *show(TimestampTz planned) {
    pg_tm tm{};
    fsec_t fraction = 0;
    if (timestamp2tm(planned, nullptr, &tm, &fraction, nullptr, nullptr) != 0)
        ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("timestamp out of range")));
    return psprintf("%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min,
                    tm.tm_sec);
}

// A delay that looks random, but depends only on the name of the task.
std::optional<TimestampTz> delayed_until(const store::schedules::Settings &schedule, TimestampTz planned,
                                         const text *name) {
    const Interval &jitter = *schedule.jitter;
    const int64 most = model::interval_length(jitter.month, jitter.day, jitter.time, 0, model::k_day).value_or(0);
    if (most == 0)
        return std::nullopt;
    constexpr double k_hashes = 4294967296.0;
    const uint64 hash = hash_of(name) & PG_UINT32_MAX;
    return planned + static_cast<int64>(static_cast<double>(most) * (static_cast<double>(hash) / k_hashes));
}

// A member of an object; nothing if there is none.
std::optional<JsonbValue> find(JsonbContainer *object, std::string_view key) {
    JsonbValue value;
    if (getKeyJsonValueFromContainer(object, key.data(), static_cast<int>(key.size()), &value) == nullptr)
        return std::nullopt;
    return value;
}

std::string_view string_of(const JsonbValue &value) {
    return {value.val.string.val, static_cast<std::size_t>(value.val.string.len)};
}

// ---- tasks ---------------------------------------------------------------------------------------------------------

// Adds `wait_for` to what a task waits for.
void put_waits(json::Builder &writer, JsonbContainer *task, Jsonb *wait_for) {
    writer.begin_array("wait_for");
    if (const auto own = find(task, "wait_for"); own && own->type == jbvBinary)
        writer.elements_of(own->val.binary.data);
    writer.elements_of(&wait_for->root);
    writer.end_array();
}

void put_common(json::Builder &writer, JsonbContainer *task, const Common &common) {
    writer.members_of(task);
    if (common.not_before != nullptr)
        writer.member("not_before", common.not_before);
    if (common.wait_for != nullptr)
        put_waits(writer, task, common.wait_for);
    const auto spec = find(task, "spec");
    if (common.planned_key == nullptr || !spec || spec->type != jbvBinary ||
        !JsonContainerIsObject(spec->val.binary.data))
        return;
    writer.begin_object("spec");
    writer.members_of(spec->val.binary.data);
    writer.member(view(common.planned_key), common.planned);
    writer.end_object();
}

// The names of a plan's tasks within the plan: "rn" if given, otherwise their numbers.
std::span<std::string_view> names_within(std::span<const JsonbValue> tasks) {
    const auto names = allocate<std::string_view>(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        const auto rn = find(tasks[i].val.binary.data, "rn");
        names[i] = rn && rn->type == jbvString ? string_of(*rn) : std::string_view(psprintf("%zu", i + 1));
    }
    return names;
}

std::string_view join(const text *plan, std::string_view name) {
    const char *joined = psprintf("%s/%.*s", text_to_cstring(plan), static_cast<int>(name.size()), name.data());
    return joined;
}

// Names of the plan's tasks mean these tasks; any other name is a task outside the plan.
void put_dependencies(json::Builder &writer, const JsonbValue &depends_on, const text *plan,
                      std::span<const std::string_view> sorted) {
    writer.begin_array("depends_on");
    const uint32 count = JsonContainerSize(depends_on.val.binary.data);
    for (uint32 i = 0; i < count; i++) {
        const JsonbValue *name = getIthJsonbValueFromContainer(depends_on.val.binary.data, i);
        const std::string_view given = name->type == jbvString ? string_of(*name) : std::string_view();
        writer.element(std::binary_search(sorted.begin(), sorted.end(), given) ? join(plan, given) : given);
    }
    writer.end_array();
}

// Whether a task depends on another task of the plan.
bool depends_within(const std::optional<JsonbValue> &depends_on, std::span<const std::string_view> sorted) {
    const uint32 count =
        depends_on && depends_on->type == jbvBinary ? JsonContainerSize(depends_on->val.binary.data) : 0;
    for (uint32 i = 0; i < count; i++) {
        const JsonbValue *name = getIthJsonbValueFromContainer(depends_on->val.binary.data, i);
        if (name->type == jbvString && std::binary_search(sorted.begin(), sorted.end(), string_of(*name)))
            return true;
    }
    return false;
}

void write_plan(json::Builder &writer, Jsonb *plan, const Common &common) {
    const auto tasks = allocate<JsonbValue>(JB_ROOT_COUNT(plan));
    for (std::size_t i = 0; i < tasks.size(); i++) {
        tasks[i] = *getIthJsonbValueFromContainer(&plan->root, static_cast<uint32>(i));
        if (tasks[i].type != jbvBinary || !JsonContainerIsObject(tasks[i].val.binary.data))
            elog(ERROR, "a task of \"%s\" is no object", text_to_cstring(common.name));
    }
    const std::span<std::string_view> names = names_within(tasks);
    const auto sorted = allocate<std::string_view>(names.size());
    std::copy(names.begin(), names.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < tasks.size(); i++) {
        JsonbContainer *task = tasks[i].val.binary.data;
        const auto depends_on = find(task, "depends_on");
        Common own = common;
        if (depends_within(depends_on, sorted))
            own.wait_for = nullptr;
        writer.begin_object();
        put_common(writer, task, own);
        writer.member("plan", view(common.name));
        writer.member("rn", join(common.name, names[i]));
        if (depends_on && depends_on->type == jbvBinary)
            put_dependencies(writer, *depends_on, common.name, sorted);
        writer.end_object();
    }
}

// When the tasks may start, in the format of JSON; null: at once.
const char *show_delay(const store::schedules::Settings &schedule, TimestampTz planned, const text *name) {
    const auto until = delayed_until(schedule, planned, name);
    return until ? JsonEncodeDateTime(nullptr, TimestampTzGetDatum(*until), TIMESTAMPTZOID, nullptr) : nullptr;
}

// Puts the members of an object that is a member of another object, if it exists.
void put_members_of(json::Builder &writer, JsonbContainer *object, std::string_view key) {
    if (const auto member = find(object, key); member && member->type == jbvBinary)
        writer.members_of(member->val.binary.data);
}

} // namespace

bool is_job(const store::schedules::Settings &schedule) {
    JsonbContainer *task = &schedule.task->root;
    return JB_ROOT_IS_OBJECT(schedule.task) && find(task, "job") && !find(task, "queue");
}

text *planned_name(const store::schedules::Settings &schedule, TimestampTz planned) {
    return cstring_to_text(psprintf("%s/%s", text_to_cstring(schedule.name), show(planned)));
}

Jsonb *named_tasks(Jsonb *task, const Common &common) {
    json::Builder writer = json::build_array();
    if (JB_ROOT_IS_ARRAY(task)) {
        write_plan(writer, task, common);
        return writer.finish();
    }
    writer.begin_object();
    put_common(writer, &task->root, common);
    writer.member("rn", view(common.name));
    writer.end_object();
    return writer.finish();
}

Jsonb *planned_tasks(const store::schedules::Settings &schedule, TimestampTz planned) {
    const text *name = planned_name(schedule, planned);
    const Common common{name, show(planned), show_delay(schedule, planned, name), schedule.planned_key, nullptr};
    return named_tasks(schedule.task, common);
}

Jsonb *planned_request(const store::schedules::Settings &schedule, TimestampTz planned) {
    JsonbContainer *request = &schedule.task->root;
    const text *name = planned_name(schedule, planned);
    const char *not_before = show_delay(schedule, planned, name);
    json::Builder writer = json::build_object();
    writer.members_of(request);
    writer.begin_object("args");
    put_members_of(writer, request, "args");
    if (schedule.planned_key != nullptr)
        writer.member(view(schedule.planned_key), show(planned));
    writer.end_object();
    writer.begin_object("options");
    put_members_of(writer, request, "options");
    writer.member("plan", view(name));
    if (not_before != nullptr)
        writer.member("not_before", not_before);
    writer.end_object();
    return writer.finish();
}

Jsonb *planned_spec(const store::schedules::Settings &schedule, TimestampTz planned) {
    json::Builder writer = json::build_object();
    writer.member("schedule", view(schedule.name));
    writer.member("planned", show(planned));
    return writer.finish();
}

} // namespace scylla::schedule
