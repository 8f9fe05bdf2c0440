#include "help.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "kinds.h"

namespace scylla::cli {

std::string full_name(const CLI::App &command) {
    return command.get_parent() == nullptr ? command.get_name()
                                           : full_name(*command.get_parent()) + " " + command.get_name();
}

namespace {

using std::string;

constexpr std::size_t k_line_width = 100;

std::vector<const CLI::App *> commands_of(const CLI::App &app) {
    auto commands = app.get_subcommands([](const CLI::App *command) { return !command->get_group().empty(); });
    return {commands.begin(), commands.end()};
}

std::vector<const CLI::Option *> options_of(const CLI::App &app, bool positional) {
    std::vector<const CLI::Option *> options;
    for (const CLI::Option *option : app.get_options())
        if (option->get_positional() == positional && !option->get_group().empty())
            options.push_back(option);
    return options;
}

string value_of(const CLI::Option &option) {
    return option.get_items_expected_max() == 0 ? "" : option.get_type_name();
}

// "-d, --dbname NAME"
string option_name(const CLI::Option &option) {
    string name;
    for (const string &letter : option.get_snames())
        name += (name.empty() ? "-" : ", -") + letter;
    for (const string &word : option.get_lnames())
        name += (name.empty() ? "--" : ", --") + word;
    const string value = value_of(option);
    return value.empty() ? name : name + " " + value;
}

string argument_name(const CLI::Option &option) {
    const bool many = option.get_items_expected_max() > 1;
    const string name = option.get_name(true) + (many ? "..." : "");
    return option.get_required() ? name : "[" + name + "]";
}

string usage(const CLI::App &app) {
    string line = full_name(app);
    if (!options_of(app, false).empty())
        line += " [OPTION]...";
    for (const CLI::Option *argument : options_of(app, true))
        line += " " + argument_name(*argument);
    if (!commands_of(app).empty())
        line += " COMMAND";
    return line;
}

string description_of(const CLI::Option &option) {
    const string by_default = option.get_default_str();
    return option.get_description() + (by_default.empty() ? "" : " (default: " + by_default + ")");
}

// What follows the options: the last paragraphs, and what role is needed.
string ending(const CLI::App &app) {
    const string name = full_name(app);
    const std::size_t program = name.find(' ');
    const string rights = program == string::npos ? "" : rights_of(name.substr(program + 1));
    const string &footer = app.get_footer();
    return footer + (footer.empty() || rights.empty() ? "" : "\n\n") + rights;
}

// Breaks a text into lines, all indented except the first.
string wrap(const string &text, std::size_t indent) {
    string result;
    std::size_t column = indent;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
        const string word = text.substr(begin, end - begin);
        if (column > indent && column + 1 + word.size() > k_line_width) {
            result += "\n" + string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            result += ' ';
            column++;
        }
        result += word;
        column += word.size();
        if (end < text.size() && text[end] == '\n') {
            result += "\n" + string(indent, ' ');
            column = indent;
        }
        begin = end + 1;
    }
    return result;
}

struct entry {
    string name;
    string text;
};

string section(const string &title, const std::vector<entry> &entries) {
    if (entries.empty())
        return {};
    std::size_t widest = 0;
    for (const entry &e : entries)
        widest = std::max(widest, e.name.size());
    widest = std::min<std::size_t>(widest, 30);
    string text = "\n" + title + ":\n";
    for (const entry &e : entries) {
        text += "  " + e.name;
        const std::size_t indent = widest + 4;
        if (e.name.size() > widest)
            text += "\n" + string(indent, ' ');
        else
            text += string(widest - e.name.size() + 2, ' ');
        text += wrap(e.text, indent) + "\n";
    }
    return text;
}

// The options in their groups, in the order in which the groups first appear.
std::vector<std::pair<string, std::vector<entry>>> option_groups(const CLI::App &app) {
    std::vector<std::pair<string, std::vector<entry>>> groups;
    for (const CLI::Option *option : options_of(app, false)) {
        const auto group =
            std::find_if(groups.begin(), groups.end(), [&](const auto &g) { return g.first == option->get_group(); });
        auto &entries = group == groups.end() ? groups.emplace_back(option->get_group(), std::vector<entry>{}).second
                                              : group->second;
        entries.push_back({option_name(*option), description_of(*option)});
    }
    return groups;
}

std::vector<entry> arguments(const CLI::App &app) {
    std::vector<entry> entries;
    for (const CLI::Option *argument : options_of(app, true))
        entries.push_back({argument->get_name(true), description_of(*argument)});
    return entries;
}

// ---- man -----------------------------------------------------------------------------------------------------------

string roff(const string &text) {
    string result;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\''))
            result += "\\&";
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else
            result += c;
        line_begins = c == '\n';
    }
    return result;
}

string paragraphs(const string &text) {
    string result = roff(text);
    for (std::size_t i = 0; (i = result.find("\n\n", i)) != string::npos;)
        result.replace(i, 2, "\n.PP\n");
    return result;
}

string man_entries(const std::vector<entry> &entries) {
    string text;
    for (const entry &e : entries)
        text += ".TP\n.B " + roff(e.name) + "\n" + roff(e.text) + "\n";
    return text;
}

void man_command(const CLI::App &app, string &text) {
    const auto commands = commands_of(app);
    if (commands.empty()) {
        text += ".SS " +
                roff(usage(app).substr(full_name(*app.get_parent()).find(' ') == string::npos
                                           ? app.get_parent()->get_name().size() + 1
                                           : full_name(app).find(' ') + 1)) +
                "\n" + paragraphs(app.get_description()) + "\n" + man_entries(arguments(app));
        for (const auto &[group, entries] : option_groups(app))
            text += man_entries(entries);
        if (const string last = ending(app); !last.empty())
            text += ".PP\n" + paragraphs(last) + "\n";
    }
    for (const CLI::App *command : commands)
        man_command(*command, text);
}

// ---- completion ----------------------------------------------------------------------------------------------------

// What may follow: the words after a command ("queue create"), and the values of an option ("list --status"), empty if
// any value is allowed.
struct completions {
    struct rule {
        string after;
        string words;
    };
    std::vector<rule> commands;
    std::vector<rule> options;
};

void collect(const CLI::App &app, const CLI::App &program, completions &all) {
    string path = full_name(app);
    path.erase(0, std::min(path.size(), program.get_name().size() + 1));
    string words;
    const auto add = [&](const string &word) { words += (words.empty() ? "" : " ") + word; };
    for (const CLI::App *command : commands_of(app))
        add(command->get_name());
    const auto add_options = [&](const CLI::App &of) {
        for (const CLI::Option *option : options_of(of, false)) {
            string values = value_of(*option);
            for (const string &name : option->get_lnames()) {
                add("--" + name);
                if (values.empty()) // a flag
                    continue;
                const bool choice = values.find('|') != string::npos;
                std::replace(values.begin(), values.end(), '|', ' ');
                all.options.push_back({path + " --" + name, choice ? values : ""});
            }
        }
    };
    add_options(app);
    if (&app != &program)
        add_options(program);
    all.commands.push_back({path, words});
    for (const CLI::App *command : commands_of(app))
        collect(*command, program, all);
}

// Shell code for bash and zsh that finds what may follow: `at` is the command so far, `choices` the result.
string find_choices(const completions &all, const string &typed, const string &previous) {
    string text = "    next=${at:+$at }" + typed + "\n    case $next in\n";
    for (const auto &[path, words] : all.commands)
        if (!path.empty())
            text += "    '" + path + "') at=$next ;;\n";
    text += "    esac\n"
            "  done\n"
            "  case \"$at " +
            previous + "\" in\n";
    for (const auto &[option, values] : all.options)
        text += "  '" + option + "') " + (values.empty() ? "return" : "choices='" + values + "'") + " ;;\n";
    text += "  esac\n"
            "  [[ -n $choices ]] || case $at in\n";
    for (const auto &[path, words] : all.commands)
        text += "  '" + path + "') choices='" + words + "' ;;\n";
    return text + "  esac\n";
}

string for_bash(const completions &all) {
    return "# Completion of scylla for bash, generated by `scylla completion bash`.\n"
           "_scylla() {\n"
           "  local at='' next choices='' i\n"
           "  COMPREPLY=()\n"
           "  for ((i = 1; i < COMP_CWORD; i++)); do\n" +
           find_choices(all, "${COMP_WORDS[i]}", "${COMP_WORDS[COMP_CWORD - 1]}") +
           "  mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
           "}\n"
           "complete -o default -F _scylla scylla\n";
}

string for_zsh(const completions &all) {
    return "#compdef scylla\n"
           "# Completion of scylla for zsh, generated by `scylla completion zsh`.\n"
           "_scylla() {\n"
           "  local at='' next choices='' i\n"
           "  for ((i = 2; i < CURRENT; i++)); do\n" +
           find_choices(all, "${words[i]}", "${words[CURRENT - 1]}") +
           "  compadd -- ${=choices}\n"
           "}\n"
           "if [[ ${funcstack[1]-} == _scylla ]]; then _scylla; else compdef _scylla scylla; fi\n";
}

string for_fish(const completions &all) {
    string text = "# Completion of scylla for fish, generated by `scylla completion fish`.\n"
                  "function __scylla_choices\n"
                  "  set -l at ''\n"
                  "  set -l typed (commandline -opc)\n"
                  "  for word in $typed[2..]\n"
                  "    set -l next (string trim -- \"$at $word\")\n"
                  "    switch $next\n"
                  "    case";
    for (const auto &[path, words] : all.commands)
        if (!path.empty())
            text += " '" + path + "'";
    text += "\n"
            "      set at $next\n"
            "    end\n"
            "  end\n"
            "  switch \"$at $typed[-1]\"\n";
    for (const auto &[option, values] : all.options)
        text += "  case '" + option + "'\n    " + (values.empty() ? "" : "string split ' ' -- '" + values + "'; ") +
                "return\n";
    text += "  end\n"
            "  switch $at\n";
    for (const auto &[path, words] : all.commands)
        text += "  case '" + path + "'\n    string split ' ' -- '" + words + "'\n";
    return text + "  end\n"
                  "end\n"
                  "complete -c scylla -f -a '(__scylla_choices)'\n";
}

} // namespace

string to_help(const CLI::App &app) {
    string text = "Usage: " + usage(app) + "\n\n" + wrap(app.get_description(), 0) + "\n";
    text += section("Arguments", arguments(app));
    std::vector<entry> commands;
    for (const CLI::App *command : commands_of(app)) {
        const string description = command->get_description();
        commands.push_back({command->get_name(), description.substr(0, description.find('\n'))});
    }
    text += section("Commands", commands);
    for (const auto &[group, entries] : option_groups(app))
        text += section(group, entries);
    if (const string last = ending(app); !last.empty())
        text += "\n" + wrap(last, 0) + "\n";
    return text;
}

string to_man_page(const CLI::App &program) {
    string text = ".\\\" Generated by scylla from the description of its command line: do not edit.\n"
                  ".TH SCYLLA 1 \"\" \"scylla " SCYLLA_VERSION "\" \"Scylla\"\n"
                  ".SH NAME\nscylla \\- command line of Scylla, a task queue and workflow engine in PostgreSQL\n.SH "
                  "SYNOPSIS\n.B " +
                  roff(usage(program)) + "\n.SH DESCRIPTION\n" + paragraphs(program.get_description()) +
                  "\n.SH OPTIONS\n" + "They may stand before or after the command.\n";
    for (const auto &[group, entries] : option_groups(program))
        text += man_entries(entries);
    text += ".SH COMMANDS\n";
    man_command(program, text);
    text += ".SH EXIT STATUS\n"
            ".TP\n.B 0\nDone.\n"
            ".TP\n.B 1\nThe server refused or could not be reached, or something is wrong. Standard error has the "
            "message.\n"
            ".TP\n.B 2\nThe command line is wrong.\n"
            ".SH ENVIRONMENT\nPGHOST, PGPORT, PGDATABASE, PGUSER, PGSERVICE and all other variables of libpq.\n"
            ".SH SEE ALSO\n.BR psql (1)\n";
    return text;
}

string to_completion(const CLI::App &program, const string &shell) {
    completions all;
    collect(program, program, all);
    return shell == "zsh" ? for_zsh(all) : shell == "fish" ? for_fish(all) : for_bash(all);
}

} // namespace scylla::cli
