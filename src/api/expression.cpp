// sel_eval, interpolate: the expression language of workflows, by itself.
#include "pg/prelude.h"

#include "api/arguments.h"
#include "workflow/server_world.h"
#include "model/sel/sel.h"
#include "pg/error.h"
#include "pg/json_text.h"
#include "pg/text.h"

namespace scylla {
namespace {

namespace sel = model::sel;

// Maximum length of params as text. An expression may use four times as much memory.
constexpr int64 k_max_params = 25'000'000;

// Memory that the model has allocated, freed with the memory context if an error is raised first.
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
    return JsonbToCString(nullptr, &params->root, static_cast<int>(VARSIZE(params)));
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
    case not_yet: // their patience has no end
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
    const args::SelEval given{fcinfo};
    const text *result = run(model::sel::evaluate_json, "expression", given.expression(), given.params());
    PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(result))));
}

// interpolate(template, params)
SCYLLA_FUNCTION(scylla_interpolate) {
    using namespace scylla;
    const args::Interpolate given{fcinfo};
    PG_RETURN_TEXT_P(run(model::sel::interpolate_json, "template", given.template_(), given.params()));
}
