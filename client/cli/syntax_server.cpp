// The command line of server maintenance, of roles, and of the console.
#include "console.h"
#include "syntax.h"

namespace scylla::cli {
namespace {

class server_syntax : syntax {
public:
    using syntax::syntax;

    void add_server() {
        {
            CLI::App *command =
                add(m_app, "init", "Create the extension in the database, and report what is missing.", init_database);
            command->footer("The exit status is 1 if something is missing.");
        }
        add_role("grant",
                 "Grant a role what a kind of role needs: functions and views.\n\n"
                 "On which queues, workflows, pools and signals it may use them is decided by \"queue grant\", "
                 "\"workflow grant\" and so on.",
                 grant_role);
        add_role("revoke", "Revoke what \"grant\" has granted, also what the role has as another kind, too.",
                 revoke_role);
        {
            auto [command, o] =
                add<doctor_options>(m_app, "doctor",
                                    "Check the installation.\n\n"
                                    "Checks versions, preloading, the monitor, the invariants of the storage "
                                    "(scylla.check()), autovacuum, and what holds back vacuum.",
                                    examine_server);
            duration(command, "--long-transaction", o->long_transaction,
                     "Report transactions older than this as a problem.")
                ->default_str("5 min");
            flag(command, "--no-check", o->skip_check, "Skip scylla.check(), which reads every task.");
            command->footer("The exit status is 1 if there is a problem.");
        }
        add_console();
    }

private:
    void add_role(const char *name, const char *description, command_function<role_options> function) {
        auto [command, o] = add<role_options>(m_app, name, description, function);
        // Not checked here: a newer server may have more.
        argument(command, "KIND", o->kind,
                 "worker, reader, client, scheduler, author, operator, queue_owner, event_reader, monitoring, "
                 "console_reader or console_operator.")
            ->required();
        argument(command, "ROLE", o->role, "The role, or public for every role.")->required();
    }

    void add_console() {
        auto [command, o] = add<console_options>(
            m_app, "console",
            "Serve the console: pages to look at tasks and to act on them.\n\n"
            "Prints its address, and serves it until Ctrl-C. Pages see and do what the role of the "
            "connection may.",
            serve_console);
        option(command, "--listen", o->listen, "ADDRESS:PORT", "Where to listen. Port 0: any that is free.")
            ->default_str("127.0.0.1:8450");
        flag(command, "--read-only", o->read_only, "Show everything, change nothing.");
        option(command, "--password-file", o->password_file, "FILE",
               "Ask visitors for the password in the first line of this file. Default: that in "
               "SCYLLA_CONSOLE_PASSWORD, else none.");
        option(command, "--allow-host", o->allowed_hosts, "NAME",
               "A further name under which browsers reach the console, as through a proxy. May be repeated.")
            ->allow_extra_args(false);
        option(command, "--interval", o->interval, "DURATION",
               "Time between the looks at the server that all pages share.")
            ->default_str("2s");
        command->footer("Other addresses than those of this machine need a password or --read-only.");
    }
};

} // namespace

void describe_server(tool &of) {
    server_syntax own{of};
    own.add_server();
}

} // namespace scylla::cli
