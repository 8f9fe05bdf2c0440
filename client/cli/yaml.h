// Definitions in files: JSON, or YAML that says the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scylla::cli {

// The documents of a text, each as JSON that can be stored as jsonb, by the core schema of YAML 1.2: only true and
// false are booleans, and a date is a string. Throws failure, with the line; `file` is the name for messages.
[[nodiscard]] std::vector<std::string> yaml_to_json(std::string_view text, const std::string &file);

// The content of a file of definitions, as JSON: one value, or an array with those of the documents of a YAML stream.
// YAML is what a file holds whose name ends in .yaml or .yml, and one with another name than .json that begins neither
// with { nor with [. "-" is standard input.
[[nodiscard]] std::string read_definition(const std::string &file);

} // namespace scylla::cli
