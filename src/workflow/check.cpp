// Checks of documents by the model.
#include "pg/error.h"
#include "pg/json.h"
#include "pg/json_text.h"
#include "pg/settings.h"
#include "workflow/definitions.h"
#include "workflow/run_limits.h"
#include "workflow/server_world.h"
#include "workflow/templates.h"

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
    return JsonbToCString(nullptr, &document->root, static_cast<int>(VARSIZE(document)));
}

// check: returns the model's result, given a world.
template <typename Check> Found *found_by(const char *argument, Check check) {
    if (GetDatabaseEncoding() != PG_UTF8)
        error::not_utf8();
    check_stack_depth();
    Found *found = make_found();
    ServerWorld world;
    found->checked = check(world);
    world.raise_seen();
    if (found->checked.kind == model::sel::OutcomeKind::out_of_memory)
        error::bad_expression(argument, {ERRCODE_OUT_OF_MEMORY, 0, 0, "out of memory"});
    return found;
}

using Check = decltype(&model::workflow::check_change);

Found *check_by(Check check, const char *argument, Jsonb *document) {
    const std::string_view text = text_of(argument, document);
    return found_by(argument,
                    [&](ServerWorld &world) { return check(text, world, request_limits(), definition_limits()); });
}

// templates: as for check_definition().
Found *check_workflow(std::string_view text, std::string_view templates) {
    return found_by("definition", [&](ServerWorld &world) {
        return model::workflow::check_definition(text, world, request_limits(), definition_limits(), templates);
    });
}

} // namespace

// Checked twice if steps have job templates, which are read in between.
Found *check_document(Jsonb *document) {
    const std::string_view text = text_of("definition", document);
    Found *found = check_workflow(text, {});
    if (found->checked.templates.empty())
        return found;
    const std::string_view templates = templates_at_hand(found->checked.templates);
    model::workflow::release(found->checked);
    return check_workflow(text, templates);
}

Found *check_template_family(const char *templates, const model::workflow::TemplateName &name) {
    return found_by("definition", [&](ServerWorld &world) {
        return model::workflow::check_inheritance(templates, name, world, request_limits());
    });
}

void require_sound_template(Jsonb *request) {
    const Found *found = check_by(model::workflow::check_template, "definition", request);
    const auto problems = found->checked.problems;
    if (!problems.empty())
        error::bad_template(problems[0].where, problems[0].what, static_cast<int>(problems.size()));
}

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

void require_sound_names(const text *workflow, std::span<Jsonb *const> requests) {
    json::Builder object = json::build_object();
    for (Jsonb *request : requests)
        json::for_each_member(&request->root, [&](const char *name, JsonbValue * /*value*/) {
            object.member(name, {.type = jbvNull, .val = {}});
        });
    Jsonb *names = object.finish();
    const char *text = JsonbToCString(nullptr, &names->root, static_cast<int>(VARSIZE(names)));
    const Found *found = found_by(
        "params", [&](ServerWorld &world) { return model::workflow::check_given(text, world, request_limits()); });
    if (!found->checked.problems.empty())
        error::bad_params(text_to_cstring(workflow),
                          psprintf("parameter %s", pnstrdup(found->checked.problems[0].what.data(),
                                                            found->checked.problems[0].what.size())));
}

} // namespace scylla::workflow
