#include "settings.h"

#include <algorithm>

namespace scylla::cli {

setting parse_setting(const std::string &word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos || name.empty() ||
        !std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; }))
        throw usage_failure{
            "\"" + word + "\" is no setting", {}, "Write a setting as name=value, for example default_timeout=5min."};
    return {name, word.substr(equals + 1)};
}

void add_settings(call &function, const std::vector<std::string> &words) {
    for (const std::string &word : words) {
        const setting wanted = parse_setting(word);
        function.argument(wanted.name.c_str(), wanted.text);
    }
}

} // namespace scylla::cli
