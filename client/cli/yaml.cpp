#include "yaml.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include <yaml-cpp/yaml.h>

#include "json_text.h"
#include "session.h"
#include "text_file.h"

namespace scylla::cli {

namespace {

constexpr int k_max_depth = 500;
constexpr std::size_t k_max_nodes = 1'000'000; // aliases can expand a short text to a large one

bool is_digit(char character) noexcept { return character >= '0' && character <= '9'; }

// ---- plain scalars, by the core schema
// -------------------------------------------------------------------------------

template <std::size_t N> bool is_one_of(const std::string &text, const std::array<const char *, N> &words) {
    return std::any_of(words.begin(), words.end(), [&](const char *word) { return text == word; });
}
bool is_null(const std::string &text) { return is_one_of(text, std::array{"", "~", "null", "Null", "NULL"}); }
bool is_true(const std::string &text) { return is_one_of(text, std::array{"true", "True", "TRUE"}); }
bool is_false(const std::string &text) { return is_one_of(text, std::array{"false", "False", "FALSE"}); }

// Whether the text is infinite or not a number, which JSON cannot represent.
bool is_no_number(const std::string &text) {
    const std::string rest = text.substr(!text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0);
    return is_one_of(rest, std::array{".inf", ".Inf", ".INF"}) || is_one_of(text, std::array{".nan", ".NaN", ".NAN"});
}

// 0o17 and 0x1f in decimal; empty: the text is neither, or is too large.
std::string decimal_of(const std::string &text) {
    if (text.size() < 3 || text[0] != '0' || (text[1] != 'o' && text[1] != 'x'))
        return {};
    const unsigned base = text[1] == 'o' ? 8 : 16;
    unsigned long long number = 0;
    for (const char character : text.substr(2)) {
        const auto *digits = "0123456789abcdef";
        const auto *digit =
            std::find(digits, digits + base, static_cast<char>(std::tolower(static_cast<unsigned char>(character))));
        if (digit == digits + base || number > (~0ULL - 15) / base)
            return {};
        number = number * base + static_cast<unsigned>(digit - digits);
    }
    return std::to_string(number);
}

std::size_t skip_digits(const std::string &text, std::size_t at) {
    while (at < text.size() && is_digit(text[at]))
        at++;
    return at;
}

// The number in the format of JSON, with all its digits; empty: it is no number.
std::string number_of(const std::string &text) {
    if (std::string decimal = decimal_of(text); !decimal.empty())
        return decimal;
    std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const std::size_t whole_end = skip_digits(text, at);
    std::string whole = text.substr(at, whole_end - at);
    std::string fraction;
    at = whole_end;
    if (at < text.size() && text[at] == '.') {
        const std::size_t end = skip_digits(text, at + 1);
        fraction = text.substr(at + 1, end - at - 1);
        at = end;
    }
    if (whole.empty() && fraction.empty())
        return {};
    std::string exponent;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        const std::size_t sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 1 : 0;
        const std::size_t end = skip_digits(text, at + 1 + sign);
        if (end == at + 1 + sign)
            return {};
        exponent = text.substr(at, end - at);
        at = end;
    }
    if (at != text.size())
        return {};
    whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
    return (text[0] == '-' ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction) +
           exponent;
}

// ---- nodes
// -----------------------------------------------------------------------------------------------------------

class writer {
public:
    explicit writer(const std::string &file) : m_file{file} {}

    std::string document(const YAML::Node &node) {
        m_json.clear();
        value(node, 0);
        if (!is_jsonb(m_json))
            refuse("a number in it is too large", YAML::Mark::null_mark());
        return m_json;
    }

    [[noreturn]] void refuse(const std::string &what, const YAML::Mark &mark) const {
        const std::string line = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
        throw failure{"\"" + m_file + "\" can not be read as YAML: " + line + what};
    }

private:
    void value(const YAML::Node &node, int depth) {
        if (depth > k_max_depth)
            refuse("it is nested too deeply", node.Mark());
        if (++m_nodes > k_max_nodes)
            refuse("it has more than a million values", node.Mark());
        if (node.IsSequence())
            list(node, depth);
        else if (node.IsMap())
            object(node, depth);
        else
            scalar(node);
    }

    void list(const YAML::Node &node, int depth) {
        if (const std::string &tag = node.Tag(); tag.size() > 1 && tag != "tag:yaml.org,2002:seq")
            refuse("the tag \"" + tag + "\" is unknown", node.Mark());
        m_json += '[';
        const char *separator = "";
        for (const YAML::Node &element : node) {
            m_json += separator;
            value(element, depth + 1);
            separator = ", ";
        }
        m_json += ']';
    }

    void object(const YAML::Node &node, int depth) {
        if (const std::string &tag = node.Tag(); tag.size() > 1 && tag != "tag:yaml.org,2002:map")
            refuse("the tag \"" + tag + "\" is unknown", node.Mark());
        std::set<std::string> keys;
        m_json += '{';
        for (const auto &member : node) {
            const std::string key = name(member.first);
            if (!keys.insert(key).second)
                refuse("the key \"" + key + "\" is there twice", member.first.Mark());
            m_json += (keys.size() > 1 ? ", " : "") + quote(key) + ": ";
            value(member.second, depth + 1);
        }
        m_json += '}';
    }

    [[nodiscard]] std::string name(const YAML::Node &key) const {
        if (!key.IsScalar())
            refuse("a key is no text", key.Mark());
        if (key.Tag() == "?" && key.Scalar() == "<<")
            refuse("merge keys (<<) are not part of YAML 1.2", key.Mark());
        return checked(key);
    }

    // The text of a scalar, which must be valid in JSON.
    [[nodiscard]] std::string checked(const YAML::Node &node) const {
        if (to_utf8(node.Scalar()) != node.Scalar())
            refuse("a text has a character that is not valid", node.Mark());
        return node.Scalar();
    }

    // By its tag: "?" is plain, "!" is quoted or without a type.
    void scalar(const YAML::Node &node) {
        const std::string &tag = node.Tag();
        const std::string text = node.IsNull() ? "" : checked(node);
        if (node.IsNull() || tag == "?" || tag.empty())
            m_json += plain(node, text);
        else if (tag == "!" || tag == "tag:yaml.org,2002:str")
            m_json += quote(text);
        else if (tag == "tag:yaml.org,2002:int" || tag == "tag:yaml.org,2002:float" ||
                 tag == "tag:yaml.org,2002:bool" || tag == "tag:yaml.org,2002:null")
            m_json += typed(node, text);
        else
            refuse("the tag \"" + tag + "\" is unknown", node.Mark());
    }

    [[nodiscard]] std::string plain(const YAML::Node &node, const std::string &text) const {
        if (is_null(text))
            return "null";
        if (is_true(text) || is_false(text))
            return is_true(text) ? "true" : "false";
        if (is_no_number(text))
            refuse("JSON has no number \"" + text + "\"", node.Mark());
        const std::string number = number_of(text);
        return number.empty() ? quote(text) : number;
    }

    [[nodiscard]] std::string typed(const YAML::Node &node, const std::string &text) const {
        std::string json = plain(node, text);
        if (json.front() == '"')
            refuse("\"" + text + "\" is not what its tag says", node.Mark());
        return json;
    }

    const std::string &m_file;
    std::string m_json;
    std::size_t m_nodes = 0;
};

bool ends_with(const std::string &text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_yaml(const std::string &file, const std::string &text) {
    if (ends_with(file, ".yaml") || ends_with(file, ".yml"))
        return true;
    if (ends_with(file, ".json"))
        return false;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos || (text[first] != '{' && text[first] != '[');
}

} // namespace

std::vector<std::string> yaml_to_json(std::string_view text, const std::string &file) {
    writer writes{file};
    std::vector<std::string> documents;
    try {
        for (const YAML::Node &document : YAML::LoadAll(std::string{text}))
            documents.push_back(writes.document(document));
    } catch (const YAML::Exception &error) {
        writes.refuse(error.msg, error.mark);
    }
    return documents;
}

std::string read_definition(const std::string &file) {
    std::string text = read_all(file);
    if (!is_yaml(file, text)) {
        if (!is_jsonb(text))
            throw failure{"\"" + file + "\" is not JSON"};
        return text;
    }
    const auto documents = yaml_to_json(text, file);
    if (documents.size() == 1)
        return documents.front();
    std::string all = "[";
    for (const std::string &document : documents)
        all += (all.size() > 1 ? ", " : "") + document;
    return all + "]";
}

} // namespace scylla::cli
