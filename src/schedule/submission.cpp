#include "schedule/submission.h"

#include "pg/error.h"
#include "pg/subtransaction.h"
#include "pg/text.h"
#include "store/spi.h"

namespace scylla::schedule {

namespace {

constinit SPIPlanPtr submit_statement = nullptr;
constinit SPIPlanPtr create_plan_statement = nullptr;
constinit SPIPlanPtr open_plan_statement = nullptr;
constinit SPIPlanPtr cancel_statement = nullptr;
constinit SPIPlanPtr cancel_plan_statement = nullptr;

// Calls functions of the extension as the owner of a schedule. By SQL, so that EXECUTE on them is asked of that role.
// The identity comes back at the end, or by abort processing.
class AsScheduleOwner {
public:
    void begin(const char *owner) {
        const Oid role = get_role_oid(owner, true);
        if (!OidIsValid(role))
            error::no_schedule_role(owner);
        GetUserIdAndSecContext(&user_, &context_);
        // Schedules are kept as the owner of the tables, which is who becomes the role.
        const Oid tables_owner = store::tables_owner();
        compat::require_can_become(tables_owner, role);
        SetUserIdAndSecContext(role, context_ | SECURITY_LOCAL_USERID_CHANGE);
        (void)LookupExplicitNamespace("scylla", false); // 42501 without USAGE: a saved statement does not ask any more
        SPI_connect();
    }
    void end() const {
        SPI_finish();
        SetUserIdAndSecContext(user_, context_);
    }

private:
    Oid user_;
    int context_;
};

struct Argument {
    Oid type;
    Datum value;
};
Argument argument(const text *value) { return {TEXTOID, PointerGetDatum(value)}; }
Argument argument(Jsonb *value) { return {JSONBOID, JsonbPGetDatum(value)}; }

void call(SPIPlanPtr *plan, const char *sql, std::span<const Argument> arguments) {
    std::array<Oid, 2> types{};
    std::array<Datum, 2> values{};
    for (std::size_t i = 0; i < arguments.size(); i++) {
        types[i] = arguments[i].type;
        values[i] = arguments[i].value;
    }
    store::run(plan, sql, std::span(types).first(arguments.size()), std::span(values).first(arguments.size()), nullptr,
               SPI_OK_SELECT);
}

} // namespace

bool may_act_for(Oid user, const char *owner) {
    const Oid role = get_role_oid(owner, true);
    return OidIsValid(role) ? has_privs_of_role(user, role) : superuser_arg(user);
}

void submit_planned(const store::ScheduleRow &schedule, TimestampTz planned) {
    const store::ScheduleSettings &settings = schedule.settings;
    Jsonb *tasks = planned_tasks(settings, planned);
    const text *name = planned_name(settings, planned);
    Jsonb *spec = planned_spec(settings, planned);
    AsScheduleOwner as_owner;
    as_owner.begin(schedule.owner);
    if (is_plan(settings))
        call(&create_plan_statement, "select pg_catalog.count(*) from scylla.create_plan($1, $2)",
             std::array{argument(name), argument(spec)});
    call(&submit_statement, "select pg_catalog.count(*) from scylla.submit_many($1, 'error')",
         std::array{argument(tasks)});
    if (is_plan(settings))
        call(&open_plan_statement, "select pg_catalog.count(*) from scylla.open_plan($1)", std::array{argument(name)});
    as_owner.end();
}

bool is_last_live(const store::ScheduleRow &schedule) {
    const text *last = schedule.state.last_task;
    if (last == nullptr)
        return false;
    return is_plan(schedule.settings) ? store::is_live_plan(last) : store::is_live_task(last);
}

void cancel_last(const store::ScheduleRow &schedule) {
    const ErrorData *error = attempt([&] {
        AsScheduleOwner as_owner;
        as_owner.begin(schedule.owner);
        const std::array arguments{argument(schedule.state.last_task)};
        if (is_plan(schedule.settings))
            call(&cancel_plan_statement, "select pg_catalog.count(*) from scylla.cancel_plan($1)", arguments);
        else
            call(&cancel_statement, "select pg_catalog.count(*) from scylla.cancel($1)", arguments);
        as_owner.end();
    });
    if (error == nullptr)
        return;
    const bool has_just_ended =
        error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE || error->sqlerrcode == ERRCODE_NO_DATA_FOUND;
    if (!has_just_ended)
        ReThrowError(const_cast<ErrorData *>(error));
}

} // namespace scylla::schedule
