// The short form of definitions of workflows, with jobs instead of steps (docs/workflows.md, "The short form").
#pragma once

#include <string>

namespace scylla::cli {

// The document for a short form, and for one in which an order counts that jsonb does not keep: each foreach has its
// loop_order. Any other document unchanged. Throws failure, with the place; `file` is the name for
// messages.
[[nodiscard]] std::string expand_workflow(const std::string &json, const std::string &file);

} // namespace scylla::cli
