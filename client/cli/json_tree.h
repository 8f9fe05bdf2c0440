// JSON as a tree, whose members keep their order.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scylla::cli {

struct json_node {
    enum class kind { null, boolean, number, string, array, object };

    kind type = kind::null;
    std::string text;                // the content of a string; a number or boolean as in the text
    std::vector<std::string> names;  // of the members of an object
    std::vector<json_node> elements; // of an array, or the values of the members

    [[nodiscard]] const json_node *find(std::string_view name) const noexcept;
    void add(std::string name, json_node node);
    // The member if it is neither missing nor null.
    [[nodiscard]] const json_node *given(std::string_view name) const noexcept;

    static json_node string(std::string text) { return {kind::string, std::move(text), {}, {}}; }
    static json_node object() { return {kind::object, {}, {}, {}}; }
    static json_node array() { return {kind::array, {}, {}, {}}; }
};

// The text must be accepted by is_jsonb().
[[nodiscard]] json_node parse_json(std::string_view text);
[[nodiscard]] std::string to_json(const json_node &node);

} // namespace scylla::cli
