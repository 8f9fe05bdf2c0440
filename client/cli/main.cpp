// scylla: the command line. Its commands are described in syntax_*.cpp.
//
// Exit status: 0 done, 1 the server or the tool refused, 2 the command line is wrong.
#include <iostream>

#include "help.h"
#include "nearest.h"
#include "program.h"
#include "syntax.h"

namespace scylla::cli {
namespace {

constexpr int k_refused = 1;
constexpr int k_usage = 2;

class help_formatter : public CLI::FormatterBase {
public:
    std::string make_help(const CLI::App *app, std::string, CLI::AppFormatMode) const override { return to_help(*app); }
};

// The general options, and those that describe the tool itself.
class command_line : syntax {
public:
    explicit command_line(tool &of) : syntax{of} {
        m_app.formatter(std::make_shared<help_formatter>());
        m_app.require_subcommand(1);
        m_app.set_help_flag("--help", "Show this help, or the help of a command.")->group("General options");
        m_app.set_version_flag("--version", "scylla " SCYLLA_VERSION)
            ->group("General options")
            ->description("Show the version.");
        m_app.add_flag("--json", m_tool.given.json, "Print JSON, with members in column order.")
            ->group("General options");
        add_connection();
        describe_tasks(m_tool);
        describe_plans(m_tool);
        describe_conditions(m_tool);
        describe_pools(m_tool);
        describe_jobs(m_tool);
        describe_workflows(m_tool);
        describe_queues(m_tool);
        describe_schedules(m_tool);
        describe_server(m_tool);
        add_completion();
    }

    int run(int argc, char **argv) {
        try {
            m_app.parse(argc, argv);
        } catch (const CLI::Success &asked) { // --help, --version
            return m_app.exit(asked);
        } catch (const CLI::ParseError &error) {
            const auto unknown = find_unknown_command(m_app, argc, argv);
            std::cerr << "scylla: " << (unknown ? unknown->message : error.what()) << '\n'
                      << "Try \"" << full_name(unknown ? *unknown->parent : innermost_command()) << " --help\".\n";
            return k_usage;
        }
        for (const CLI::App *command = &m_app;;) {
            const auto parsed = command->get_subcommands();
            if (parsed.empty())
                return m_tool.actions.at(command)();
            command = parsed.front();
        }
    }

private:
    // The command whose words have been read, as far as they could be.
    const CLI::App &innermost_command() const {
        const CLI::App *command = &m_app;
        while (!command->get_subcommands().empty())
            command = command->get_subcommands().front();
        return *command;
    }

    void add_connection() {
        connection_options &c = m_tool.given.connection;
        const auto add = [&](const char *names, maybe_text &into, const char *type, const char *description) {
            m_app.add_option(names, into, description)->type_name(type)->group("Connection options");
        };
        add("-d,--dbname", c.dbname, "NAME", "Database, connection string or URI.");
        add("-h,--host", c.host, "NAME", "Host, or directory of the socket.");
        add("-p,--port", c.port, "PORT", "Port.");
        add("-U,--username", c.user, "NAME", "Role.");
        m_app.add_flag("-w,--no-password", c.never_ask, "Never ask for a password.")->group("Connection options");
        m_app.add_flag("-W,--password", c.ask_password, "Always ask for a password.")->group("Connection options");
    }

    void add_completion() {
        CLI::App *completion =
            add(m_app, "completion",
                "Print the completion script for a shell.\n\n"
                "For example: source <(scylla completion bash), or for fish: scylla completion fish | "
                "source");
        argument(completion, "SHELL", m_shell, "bash, zsh or fish.")->required()->check(one_of("bash|zsh|fish"));
        m_tool.actions[completion] = [this] {
            std::cout << to_completion(m_app, m_shell);
            return 0;
        };
        CLI::App *man = add(m_app, "man",
                            "Print the man page.\n\n"
                            "For example: scylla man | man -l -");
        m_tool.actions[man] = [this] {
            std::cout << to_man_page(m_app);
            return 0;
        };
    }

    std::string m_shell;
};

int run(int argc, char **argv) {
    reserve_descriptors();
    try {
        tool all{"scylla", "Submits, shows and cancels tasks, runs programs for them, and manages plans, queues, "
                           "schedules and the server.\n\n"
                           "scylla connects to a database that has the extension, as psql does."};
        const int status = command_line{all}.run(argc, argv);
        std::cout.flush();
        if (!std::cout)
            throw failure{"could not write to standard output"};
        return status;
    } catch (const failure &error) {
        std::cerr << "scylla: " << error.what() << '\n';
        if (!error.detail().empty())
            std::cerr << "DETAIL:  " << error.detail() << '\n';
        if (!error.hint().empty())
            std::cerr << "HINT:  " << error.hint() << '\n';
        if (dynamic_cast<const usage_failure *>(&error) != nullptr)
            return k_usage;
    } catch (const std::exception &error) {
        std::cerr << "scylla: " << error.what() << '\n';
    }
    return k_refused;
}

} // namespace
} // namespace scylla::cli

int main(int argc, char **argv) { return scylla::cli::run(argc, argv); }
