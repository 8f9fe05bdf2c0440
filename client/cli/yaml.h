// Definitions in files: JSON, or equivalent YAML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scylla::cli {

// The documents of a text, each as JSON that can be stored as jsonb, by the core schema of YAML 1.2: only true and
// false are booleans, and a date is a string. Throws failure, with the line; `file` is the name for messages.
[[nodiscard]] std::vector<std::string> yaml_to_json(std::string_view text, const std::string &file);

// The content of a file of definitions, as JSON: one value, or an array of the documents of a YAML stream. A file is
// YAML if its name ends in .yaml or .yml, or if it does not end in .json and the content begins neither with { nor with
// [. "-" is standard input.
[[nodiscard]] std::string read_definition(const std::string &file);

} // namespace scylla::cli
