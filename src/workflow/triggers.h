// Triggers of workflows: the common part of time triggers and signal triggers.
//
// A trigger is a schedule, or a trigger of signals, with a name that users cannot give. Both belong to the owner of the
// workflow. Their task is an object with the member "workflow".
#pragma once

#include "pg/hash.h"
#include "pg/json.h"
#include "pg/text.h"
#include "store/plans.h"
#include "workflow/texts.h"

namespace scylla::workflow {

inline constexpr const char *k_trigger_member = "workflow";

inline JsonbValue *find_member(Jsonb *object, const char *name) {
    return getKeyJsonValueFromContainer(&object->root, name, static_cast<int>(strlen(name)), nullptr);
}
// Empty: it does not exist, or is no text.
inline std::string_view string_member(Jsonb *object, const char *name) {
    const JsonbValue *found = find_member(object, name);
    return found != nullptr && found->type == jbvString
               ? std::string_view(found->val.string.val, static_cast<std::size_t>(found->val.string.len))
               : std::string_view{};
}
// The same, and a number as a text.
inline std::string_view scalar_member(Jsonb *object, const char *name) {
    const JsonbValue *found = find_member(object, name);
    if (found == nullptr || found->type != jbvNumeric)
        return string_member(object, name);
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(found->val.numeric)));
}
inline Jsonb *json_member(Jsonb *object, const char *name) { return json::to_jsonb(find_member(object, name)); }

enum class TriggerKind : std::uint8_t { time, signal };
// The triggers of the active version; none if there is no active version, or if a property disables them.
std::span<Jsonb *const> active_triggers(const text *workflow, TriggerKind kind);

// How late it may start a run; null: no bound.
Interval *grace_of(Jsonb *trigger);

// Derived from the text of the trigger: duplicates are one trigger, and a trigger that a new version keeps continues.
inline text *name_of_trigger(const text *workflow, Jsonb *trigger) {
    return cstring_to_text(psprintf("%s%s/%016llx", store::k_run_prefix.data(), text_to_cstring(workflow),
                                    static_cast<unsigned long long>(hash_of(json_text(trigger)))));
}
// The last part of the name.
inline const char *hash_in(const text *name) { return text_to_cstring(name) + view(name).rfind('/') + 1; }

} // namespace scylla::workflow
