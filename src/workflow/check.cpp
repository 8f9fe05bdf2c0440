// Documents, as the model sees them.
#include "pg/error.h"
#include "pg/json_text.h"
#include "workflow/definitions.h"
#include "workflow/server_world.h"

namespace scylla::workflow {

namespace {

constexpr int64 k_max_document = int64{256} * 1'024; // of its text

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
    if (size > k_max_document)
        error::bad_argument(argument, error::outline(document, size), "Its text must be at most 256 kB long.");
    return JsonbToCString(nullptr, &document->root, VARSIZE(document));
}

using Check = decltype(&model::workflow::check_definition);

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

Found *check_document(Jsonb *document) { return check_by(model::workflow::check_definition, "definition", document); }

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
