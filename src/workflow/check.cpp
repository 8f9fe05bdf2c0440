// Documents, as the model sees them.
#include "pg/error.h"
#include "pg/json_text.h"
#include "pg/settings.h"
#include "workflow/definitions.h"
#include "workflow/server_world.h"

namespace scylla::workflow {

namespace {

Found *make_found() {
    auto *found = static_cast<Found *>(palloc0(sizeof(Found)));
    found->callback.func = [](void *arg) { model::workflow::release(static_cast<Found *>(arg)->checked); };
    found->callback.arg = found;
    MemoryContextRegisterResetCallback(CurrentMemoryContext, &found->callback);
    return found;
}

std::string_view text_of(const char *argument, Jsonb *document) {
    if (document == nullptr)
        error::bad_argument(argument, "null", "It must not be null.");
    const int64 size = text_size(document);
    if (size > int64{settings::max_definition_size} * 1'024)
        error::bad_argument(argument, error::outline(document, size),
                            psprintf("Its text must be at most %d kB long.", settings::max_definition_size));
    return JsonbToCString(nullptr, &document->root, VARSIZE(document));
}

model::workflow::Checked check_whole(std::string_view text, model::sel::World &world,
                                     const model::sel::Limits &limits) {
    return model::workflow::check_definition(text, world, limits,
                                             {.steps = settings::max_workflow_steps,
                                              .nesting = settings::max_workflow_nesting,
                                              .concurrency = settings::max_foreach_concurrency});
}

using Check = decltype(&check_whole);

Found *check_by(Check check, const char *argument, Jsonb *document) {
    const std::string_view text = text_of(argument, document);
    if (GetDatabaseEncoding() != PG_UTF8)
        error::not_utf8();
    check_stack_depth();
    Found *found = make_found();
    ServerWorld world;
    found->checked = check(text, world, model::sel::Limits{});
    world.raise_seen();
    if (found->checked.kind == model::sel::OutcomeKind::out_of_memory)
        error::bad_expression(argument, {ERRCODE_OUT_OF_MEMORY, 0, 0, "out of memory"});
    return found;
}

} // namespace

Found *check_document(Jsonb *document) { return check_by(check_whole, "definition", document); }

void require_sound(Jsonb *document) {
    const Found *found = check_document(document);
    const auto problems = found->checked.problems;
    if (!problems.empty())
        error::bad_definition(problems[0].where, problems[0].what, static_cast<int>(problems.size()));
}

void require_sound_change(Jsonb *change) {
    const Found *found = check_by(model::workflow::check_change, "properties", change);
    const auto problems = found->checked.problems;
    if (!problems.empty())
        error::bad_properties(problems[0].where, problems[0].what, static_cast<int>(problems.size()));
}

} // namespace scylla::workflow
