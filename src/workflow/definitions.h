// Workflows and their versions: control tables, accessed by SQL (docs/workflows.md). The model defines what a valid
// definition is (model/workflow).
#pragma once

#include "model/workflow/definition.h"
#include "model/workflow/run_strategy.h"
#include "store/rows.h"

namespace scylla::workflow {

// ---- checks --------------------------------------------------------------------------------------------------------

// The model's result for a document, freed with the present memory context at the latest.
struct Found {
    model::workflow::Checked checked;
    MemoryContextCallback callback;
};
Found *check_document(Jsonb *document); // 22023 null or too long, 0A000, 53200
// 22023 with the place of the first problem, if there is one.
void require_sound(Jsonb *document);
void require_sound_change(Jsonb *change); // 22023, 0A000, 53200
// The names of parameters that runs are to be given; requests: objects. Likewise.
void require_sound_names(const text *workflow, std::span<Jsonb *const> requests);
void require_sound_template(Jsonb *request); // likewise
// Whether a job template is compatible with those that it inherits from. templates: an array of all of them.
Found *check_template_family(const char *templates, const model::workflow::TemplateName &name);

// ---- properties ----------------------------------------------------------------------------------------------------

// The properties of a workflow after a push; null: none.
Jsonb *push_properties(Jsonb *present, Jsonb *pushed);
// The properties of workflow `id` after alter_workflow(). 42704 no such tag, 55000.
Jsonb *change_properties(const text *id, Jsonb *present, Jsonb *change);
model::workflow::RunStrategy run_strategy(Jsonb *properties);

// ---- workflows -----------------------------------------------------------------------------------------------------

enum class Privilege : std::uint8_t { run, view, admin };
inline constexpr std::array<const char *, 3> k_privileges = {"run", "view", "admin"};

// A workflow in the present memory context.
struct Head {
    text *id;
    const char *owner;
    std::array<ArrayType *, 3> grantees; // by Privilege
    int32 active_version;                // 0: none
    int32 latest_version;
    int64 latest_instance;
    model::workflow::RunStrategy strategy;
    Jsonb *properties;
};

// Rights of the current user. run includes view, and admin includes both.
bool can_view(const Head &head);
bool can_run(const Head &head);
bool can_admin(const Head &head);

std::optional<Head> find(const text *id);
Head require(const text *id, Privilege privilege); // 42704, 42501
// The same, and locks its row to the end of the transaction. Only a role with the privilege can lock it.
Head hold(const text *id, Privilege privilege);
// Locks the row without waiting. False: another transaction has locked it. Also true if it does not exist.
bool try_hold(const text *id);
// active, latest, default or a number. 55000 no version is active, 42704, 22023.
int32 pick_version(const Head &head, const text *selector);

struct Push {
    Jsonb *document;
    bool activate;
};
int32 create(const Push &push); // 22023, 42501
void activate(const text *id, std::optional<int32> version);
void deactivate(const text *id);
void alter(const text *id, Jsonb *change);
void drop(const text *id);
void grant(const text *id, const text *role, Privilege privilege);
void revoke(const text *id, const text *role, Privilege privilege);

} // namespace scylla::workflow
