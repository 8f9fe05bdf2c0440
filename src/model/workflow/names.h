// Ids and names of what is in a definition (docs/workflows.md, The document).
#pragma once

#include "model/workflow/reader.h"

namespace scylla::model::workflow {

enum class Named : std::uint8_t { workflow, step, param, job_template };

void check_id(const Reader &reader, std::string_view id, const Where &where, Named named);
// The member "id", which must be there.
std::string_view require_id(const Reader &reader, const Object &of, Named named);
// The members "name" and "description".
void check_words(const Reader &reader, const Object &of);

} // namespace scylla::model::workflow
