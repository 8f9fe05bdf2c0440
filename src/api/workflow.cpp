// validate_workflow.
#include "pg/prelude.h"

#include "api/call.h"
#include "api/rows.h"
#include "api/server_world.h"
#include "model/workflow/definition.h"
#include "pg/error.h"
#include "pg/json_text.h"
#include "pg/text.h"

namespace scylla {
namespace {

namespace workflow = model::workflow;

constexpr int64 k_max_definition = int64{256} * 1'024; // of its text

// What the model has found, freed with the memory context if an error comes before its end.
struct Held {
    workflow::Checked checked;
    MemoryContextCallback callback;
};

Held *hold() {
    auto *held = static_cast<Held *>(palloc0(sizeof(Held)));
    held->callback.func = [](void *arg) { workflow::release(static_cast<Held *>(arg)->checked); };
    held->callback.arg = held;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &held->callback);
    return held;
}

std::string_view definition_text(Jsonb *definition) {
    if (definition == nullptr)
        error::bad_argument("definition", "null", "It must not be null.");
    const int64 size = text_size(definition);
    if (size > k_max_definition)
        error::bad_argument("definition", error::outline(definition, size), "Its text must be at most 256 kB long.");
    return JsonbToCString(nullptr, &definition->root, VARSIZE(definition));
}

Datum to_text(std::string_view text) {
    return PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
}

} // namespace
} // namespace scylla

// validate_workflow(definition)
SCYLLA_FUNCTION(scylla_validate_workflow) {
    using namespace scylla;
    const std::string_view definition = definition_text(args::get_jsonb(fcinfo, 0));
    if (GetDatabaseEncoding() != PG_UTF8)
        error::not_utf8();
    check_stack_depth();
    const Rows rows = begin_rows(fcinfo);
    Held *held = hold();
    ServerWorld world;
    held->checked = workflow::check_definition(definition, world, model::sel::Limits{});
    world.raise_seen();
    if (held->checked.kind == model::sel::OutcomeKind::out_of_memory)
        error::bad_expression("definition", {ERRCODE_OUT_OF_MEMORY, 0, 0, "out of memory"});
    for (const workflow::ShownProblem &problem : held->checked.problems) {
        std::array<Datum, 2> values{to_text(problem.where), to_text(problem.what)};
        std::array<bool, 2> nulls{};
        tuplestore_putvalues(rows.store, rows.type, values.data(), nulls.data());
    }
    workflow::release(held->checked);
    return 0;
}
