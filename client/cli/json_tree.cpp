#include "json_tree.h"

#include <algorithm>

#include "json_text.h"

namespace scylla::cli {

namespace {

// The text is known to be JSON, so nothing in it is checked.
class reader {
public:
    explicit reader(std::string_view text) : m_text{text} {}

    json_node value() {
        skip_blanks();
        switch (m_text[m_at]) {
        case '{':
            return object();
        case '[':
            return array();
        case '"':
            return json_node::string(string());
        default:
            return word();
        }
    }

private:
    void skip_blanks() {
        while (m_at < m_text.size() && std::string_view{" \t\r\n"}.find(m_text[m_at]) != std::string_view::npos)
            m_at++;
    }

    // Whether this is the next character; if so, skips it.
    bool take(char character) {
        skip_blanks();
        if (m_text[m_at] != character)
            return false;
        m_at++;
        return true;
    }

    json_node object() {
        json_node node = json_node::object();
        m_at++;
        while (!take('}')) {
            take(',');
            skip_blanks();
            node.names.push_back(string());
            take(':');
            node.elements.push_back(value());
        }
        return node;
    }

    json_node array() {
        json_node node = json_node::array();
        m_at++;
        while (!take(']')) {
            take(',');
            node.elements.push_back(value());
        }
        return node;
    }

    json_node word() {
        const std::size_t end = std::min(m_text.find_first_of(" \t\r\n,]}", m_at), m_text.size());
        const std::string text{m_text.substr(m_at, end - m_at)};
        m_at = end;
        if (text == "null")
            return {};
        const bool is_boolean = text == "true" || text == "false";
        return {is_boolean ? json_node::kind::boolean : json_node::kind::number, text, {}, {}};
    }

    std::string string() {
        std::string content;
        for (m_at++; m_text[m_at] != '"'; m_at++) {
            if (m_text[m_at] != '\\')
                content += m_text[m_at];
            else if (m_text[++m_at] == 'u')
                add_utf8(content, escaped());
            else
                content += unescaped(m_text[m_at]);
        }
        m_at++;
        return content;
    }

    static char unescaped(char letter) {
        constexpr std::string_view k_letters = "bfnrt";
        constexpr std::string_view k_meant = "\b\f\n\r\t";
        const std::size_t found = k_letters.find(letter);
        return found == std::string_view::npos ? letter : k_meant[found];
    }

    // The code of \uXXXX, or of two of them; the u is the next character.
    unsigned escaped() {
        const unsigned code = four_digits();
        if (code < 0xD800 || code >= 0xDC00)
            return code;
        m_at += 2;
        return 0x10000 + ((code - 0xD800) << 10U) + (four_digits() - 0xDC00);
    }
    unsigned four_digits() {
        const auto code = static_cast<unsigned>(std::stoul(std::string{m_text.substr(m_at + 1, 4)}, nullptr, 16));
        m_at += 4;
        return code;
    }

    static void add_utf8(std::string &to, unsigned code) {
        const auto add = [&](unsigned byte) { to += static_cast<char>(byte); };
        if (code < 0x80)
            return add(code);
        if (code < 0x800) {
            add(0xC0U | code >> 6U);
        } else {
            if (code < 0x10000) {
                add(0xE0U | code >> 12U);
            } else {
                add(0xF0U | code >> 18U);
                add(0x80U | (code >> 12U & 0x3FU));
            }
            add(0x80U | (code >> 6U & 0x3FU));
        }
        add(0x80U | (code & 0x3FU));
    }

    std::string_view m_text;
    std::size_t m_at = 0;
};

void write(std::string &to, const json_node &node) {
    switch (node.type) {
    case json_node::kind::null:
        to += "null";
        break;
    case json_node::kind::boolean:
    case json_node::kind::number:
        to += node.text;
        break;
    case json_node::kind::string:
        to += quote(node.text);
        break;
    case json_node::kind::array:
    case json_node::kind::object:
        to += node.type == json_node::kind::object ? '{' : '[';
        for (std::size_t i = 0; i < node.elements.size(); i++) {
            to += i > 0 ? ", " : "";
            if (node.type == json_node::kind::object)
                to += quote(node.names[i]) + ": ";
            write(to, node.elements[i]);
        }
        to += node.type == json_node::kind::object ? '}' : ']';
        break;
    }
}

} // namespace

const json_node *json_node::find(std::string_view name) const noexcept {
    for (std::size_t i = names.size(); i-- > 0;) // of duplicate names the last counts, as in jsonb
        if (names[i] == name)
            return &elements[i];
    return nullptr;
}

const json_node *json_node::given(std::string_view name) const noexcept {
    const json_node *found = find(name);
    return found == nullptr || found->type == kind::null ? nullptr : found;
}

void json_node::add(std::string name, json_node node) {
    names.push_back(std::move(name));
    elements.push_back(std::move(node));
}

json_node parse_json(std::string_view text) { return reader{text}.value(); }

std::string to_json(const json_node &node) {
    std::string text;
    write(text, node);
    return text;
}

} // namespace scylla::cli
