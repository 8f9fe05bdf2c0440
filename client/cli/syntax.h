// The command line for CLI11. It is described once, a family of commands in each syntax_*.cpp; help, man page and
// completion are made from this description.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "duration.h"

namespace scylla::cli {

// All commands, with their functions and the options that were given.
struct tool {
    tool(const char *name, const char *description) : app{description, name} {}
    CLI::App app;
    context given;
    std::map<const CLI::App *, std::function<int()>> actions;
};

// In the order of help.
void describe_tasks(tool &);
void describe_plans(tool &);
void describe_conditions(tool &);
void describe_pools(tool &);
void describe_jobs(tool &);
void describe_workflows(tool &);
void describe_queues(tool &);
void describe_schedules(tool &);
void describe_server(tool &);

// Functions with which a family describes its commands.
class syntax {
public:
    explicit syntax(tool &of) : m_app{of.app}, m_tool{of} {}

protected:
    template <class Options> using command_function = int (*)(const context &, const Options &);

    static CLI::App *add(CLI::App &parent, const char *name, const char *description) {
        CLI::App *command = parent.add_subcommand(name, description);
        command->fallthrough(); // general options may follow the command
        command->set_help_flag("--help", "")->group("");
        return command;
    }

    CLI::App *add(CLI::App &parent, const char *name, const char *description, int (*function)(const context &)) {
        CLI::App *command = add(parent, name, description);
        m_tool.actions[command] = [&of = m_tool, function] { return function(of.given); };
        return command;
    }

    // A command, and a place for its options.
    template <class Options>
    std::pair<CLI::App *, Options *> add(CLI::App &parent, const char *name, const char *description,
                                         command_function<Options> function) {
        CLI::App *command = add(parent, name, description);
        const auto options = std::make_shared<Options>();
        m_tool.actions[command] = [&of = m_tool, options, function] { return function(of.given, *options); };
        return {command, options.get()};
    }

    template <class Value>
    static CLI::Option *option(CLI::App *command, const char *names, Value &into, const char *type,
                               const char *description) {
        return command->add_option(names, into, description)->type_name(type)->group("Options");
    }
    // A duration for the server. The empty text stays, for the server to refuse, or to mean the default.
    template <class Value>
    static CLI::Option *duration(CLI::App *command, const char *name, Value &into, const char *description) {
        const auto read = [name](std::string &given) {
            if (!given.empty())
                given = to_interval(name, given);
            return std::string{};
        };
        return option(command, name, into, "DURATION", description)->transform(CLI::Validator{read, ""});
    }
    static CLI::Option *flag(CLI::App *command, const char *names, bool &into, const char *description) {
        return command->add_flag(names, into, description)->group("Options");
    }
    template <class Value>
    static CLI::Option *choice(CLI::App *command, const char *names, Value &into, const char *choices,
                               const char *description) {
        return option(command, names, into, choices, description)->check(one_of(choices));
    }
    static CLI::Validator one_of(const char *choices) {
        return CLI::IsMember(CLI::detail::split(choices, '|')).description("");
    }
    template <class Value>
    static CLI::Option *argument(CLI::App *command, const char *name, Value &into, const char *description) {
        return command->add_option(name, into, description);
    }
    // Options that select events.
    static void how_to_watch(CLI::App *command, watch_options &into) {
        option(command, "--interval", into.interval, "DURATION", "Time between rounds: 500ms, 2s, 1min.")
            ->default_str("2s");
        option(command, "--count", into.count, "N", "Stop after this many rounds.")
            ->check(CLI::PositiveNumber.description(""));
    }
    static void how_to_follow(CLI::App *command, events_options &into) {
        option(command, "--after", into.after, "CURSOR", "Only events after this one.");
        duration(command, "--since", into.since, "Only events that are not older: 10min, 1h.");
        flag(command, "-f,--follow", into.follow, "Wait for further events until Ctrl-C.");
        option(command, "--interval", into.interval, "DURATION", "With --follow, time between looks.")
            ->default_str("1s");
    }

    CLI::App &m_app;
    tool &m_tool;
};

} // namespace scylla::cli
