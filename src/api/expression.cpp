// sel_eval, interpolate: the expression language of workflows, by itself.
//
// model/sel throws C++ exceptions inside its walls, so no error of the server may leave through its frames by a jump.
// Two things that it asks for can raise one: a check for interrupts, and a time zone. Such an error stays on the error
// stack (Seen), the evaluation is told to stop, and when its frames have returned the error goes on its way.
#include "pg/prelude.h"

#include "api/call.h"
#include "model/sel/context.h"
#include "model/sel/sel.h"
#include "pg/clock.h"
#include "pg/error.h"
#include "pg/json_text.h"
#include "pg/text.h"

namespace scylla {
namespace {

namespace sel = model::sel;

// Of params, as text; an expression may use four times as much memory.
constexpr int64 k_max_params = 25'000'000;

class ServerWorld final : public sel::World {
public:
    // Raises what a call from inside the evaluation raised.
    void raise_seen() const {
        if (seen_)
            PG_RE_THROW();
    }

    std::int64_t now_millis() noexcept override {
        constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1'000;
        return GetCurrentTimestamp() / 1'000 + k_epoch;
    }
    std::int64_t steady_millis() noexcept override { return steady_now() / 1'000; }
    std::uint64_t random() noexcept override { return pg_prng_uint64(&pg_global_prng_state); }
    bool stop() noexcept override {
        if (!seen_)
            guarded([] { CHECK_FOR_INTERRUPTS(); });
        return seen_;
    }
    const void *find_zone(std::string_view name) noexcept override {
        const pg_tz *zone = nullptr;
        std::array<char, TZ_STRLEN_MAX + 1> buffer{};
        if (seen_ || name.size() > TZ_STRLEN_MAX || name.find('\0') != std::string_view::npos)
            return nullptr;
        std::copy(name.begin(), name.end(), buffer.begin());
        guarded([&] {
            pg_tz *found = pg_tzset(buffer.data());
            zone = found != nullptr && pg_tz_acceptable(found) ? found : nullptr;
        });
        return zone;
    }
    std::int32_t zone_offset(const void *zone, std::int64_t moment) noexcept override {
        const pg_time_t time = moment;
        const pg_tm *local = pg_localtime(&time, static_cast<const pg_tz *>(zone));
        return local == nullptr ? 0 : static_cast<std::int32_t>(local->tm_gmtoff);
    }

private:
    // The error is neither copied nor flushed: it is still being handled, only later.
    template <typename Work> void guarded(Work work) noexcept {
        MemoryContext context = CurrentMemoryContext;
        PG_TRY();
        { work(); }
        PG_CATCH();
        {
            MemoryContextSwitchTo(context);
            seen_ = true;
        }
        PG_END_TRY();
    }

    volatile bool seen_ = false;
};

// What the model has allocated, freed with the memory context if an error comes before its end.
struct Held {
    sel::Outcome outcome;
    MemoryContextCallback callback;
};

Held *hold() {
    auto *held = static_cast<Held *>(palloc0(sizeof(Held)));
    held->callback.func = [](void *arg) { sel::release(static_cast<Held *>(arg)->outcome); };
    held->callback.arg = held;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &held->callback);
    return held;
}

std::string_view params_text(Jsonb *params) {
    if (params == nullptr)
        return "{}";
    if (!JB_ROOT_IS_OBJECT(params))
        error::bad_argument("params", error::show(params), "It must be an object.");
    const int64 size = text_size(params);
    if (size > k_max_params)
        error::bad_argument("params", error::outline(params, size), "Its text must be at most 25 MB long.");
    return JsonbToCString(nullptr, &params->root, VARSIZE(params));
}

int sqlstate_of(sel::OutcomeKind kind) {
    using enum sel::OutcomeKind;
    switch (kind) {
    case syntax:
        return ERRCODE_SYNTAX_ERROR;
    case unknown:
        return ERRCODE_UNDEFINED_OBJECT;
    case thrown:
        return ERRCODE_RAISE_EXCEPTION;
    case limit:
        return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    case out_of_memory:
        return ERRCODE_OUT_OF_MEMORY;
    case stopped:
        return ERRCODE_QUERY_CANCELED;
    case fault:
    case value:
        break;
    }
    return ERRCODE_INVALID_PARAMETER_VALUE;
}

[[noreturn]] void raise(const char *argument, const sel::Outcome &outcome) {
    error::bad_expression(argument, {sqlstate_of(outcome.kind), outcome.line, outcome.column, outcome.text});
}

using Evaluate = sel::Outcome (*)(std::string_view, std::string_view, sel::World &, const sel::Limits &) noexcept;

text *run(Evaluate evaluate, const char *argument, const text *source, Jsonb *params) {
    if (source == nullptr)
        error::bad_argument(argument, "null", "It must not be null.");
    if (GetDatabaseEncoding() != PG_UTF8)
        error::not_utf8();
    check_stack_depth();
    const std::string_view given = params_text(params);
    Held *held = hold();
    ServerWorld world;
    held->outcome = evaluate(view(source), given, world, sel::Limits{});
    world.raise_seen();
    if (held->outcome.kind != sel::OutcomeKind::value)
        raise(argument, held->outcome);
    text *made = cstring_to_text_with_len(held->outcome.text.data(), static_cast<int>(held->outcome.text.size()));
    sel::release(held->outcome);
    return made;
}

} // namespace
} // namespace scylla

// sel_eval(expression, params)
SCYLLA_FUNCTION(scylla_sel_eval) {
    using namespace scylla;
    const text *result =
        run(model::sel::evaluate_json, "expression", args::get_text(fcinfo, 0), args::get_jsonb(fcinfo, 1));
    PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(result))));
}

// interpolate(template, params)
SCYLLA_FUNCTION(scylla_interpolate) {
    using namespace scylla;
    PG_RETURN_TEXT_P(
        run(model::sel::interpolate_json, "template", args::get_text(fcinfo, 0), args::get_jsonb(fcinfo, 1)));
}
