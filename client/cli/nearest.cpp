#include "nearest.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace scylla::cli {

namespace {

std::vector<std::string> commands_of(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(command->get_name());
    return names;
}

// The Damerau-Levenshtein distance, without further changes of swapped letters.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> of(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); i++)
        for (std::size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                of[i][j] = i + j;
                continue;
            }
            of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1, of[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
        }
    return of[a.size()][b.size()];
}

// An option that takes its value from the next word.
bool takes_next(const CLI::App &app, const std::string &word) {
    const bool is_long = word.substr(0, 2) == "--";
    const CLI::Option *option = app.get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
    return option != nullptr && option->get_items_expected_max() > 0 &&
           (is_long ? word.find('=') == std::string::npos : word.size() == 2);
}

} // namespace

std::string nearest(std::string_view typed, const std::vector<std::string> &names) {
    std::string best;
    std::size_t least = std::max<std::size_t>(1, std::min<std::size_t>(3, typed.size() / 2)) + 1;
    for (const std::string &name : names) {
        const std::size_t changes = distance(typed, name);
        if (changes < least) {
            least = changes;
            best = name;
        }
    }
    if (!best.empty() || typed.size() < 2)
        return best;
    // Abbreviations.
    const auto begins = [&](const std::string &name) { return name.compare(0, typed.size(), typed) == 0; };
    const auto longer = std::find_if(names.begin(), names.end(), begins);
    return longer == names.end() ? std::string{} : *longer;
}

std::optional<unknown_command> find_unknown_command(const CLI::App &program, int argc, char **argv) {
    const CLI::App *command = &program;
    std::string words;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word.size() > 1 && word[0] == '-') {
            if (takes_next(program, word)) // further options belong to commands, and follow them
                i++;
            continue;
        }
        const std::vector<std::string> names = commands_of(*command);
        if (names.empty())
            return std::nullopt;
        if (std::find(names.begin(), names.end(), word) == names.end()) {
            const std::string meant = nearest(word, names);
            return unknown_command{"unknown command \"" + words + word + "\"" +
                                       (meant.empty() ? "" : ": did you mean \"" + words + meant + "\"?"),
                                   command};
        }
        words += word + " ";
        command = command->get_subcommand(word);
    }
    return std::nullopt;
}

} // namespace scylla::cli
