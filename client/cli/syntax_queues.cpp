// The command line of queues, and of their statistics.
#include "syntax.h"

namespace scylla::cli {
namespace {

class queue_syntax : syntax {
public:
    using syntax::syntax;

    void add_looks() {
        {
            auto [command, o] = add<watch_options>(
                m_app, "watch",
                "Watch queues, rates and workers.\n\n"
                "On a terminal, refreshes a screen until Ctrl-C. Elsewhere, prints a line per queue and "
                "round. With --json, prints an object per round, with the columns of scylla.stat_queue "
                "and scylla.stat_worker.",
                watch);
            argument(command, "QUEUE", o->of, "Only these queues.");
            how_to_watch(command, *o);
            command->footer("Rates are measured since the previous round. Like all counters, they need the library "
                            "to be preloaded.\n\n"
                            "Keys: s sorts the queues by the next column, r reverses the order, / filters queues and "
                            "workers by the text that follows, p pauses, q quits.");
        }
        {
            auto [command, o] =
                add<events_options>(m_app, "events",
                                    "Show changes of tasks, oldest first: of queues whose setting \"events\" is on.\n\n"
                                    "A line per event: cursor, time, queue, rn, status, attempt and worker. With "
                                    "--json, an object per event.",
                                    show_events);
            argument(command, "QUEUE", o->of, "Only these queues.");
            how_to_follow(command, *o);
        }
    }

    void add_queues() {
        CLI::App *queue = add(m_app, "queue", "Create queues, change their settings, and grant rights on them.");
        queue->require_subcommand(1);
        add_create(*queue);
        add_set(*queue);
        add(*queue, "list", "Show the queues and their settings.", list_queues);
        one_queue(*queue, "get", "Show the settings of a queue.", get_queue);
        one_queue(*queue, "pause",
                  "Pause a queue: none of its tasks can be leased.\n\n"
                  "Running tasks continue, and tasks can be submitted.",
                  pause_queue);
        one_queue(*queue, "resume", "End the pause of a queue.", resume_queue);
        add_drop(*queue);
        add_grants(*queue);
    }

private:
    void add_create(CLI::App &queue) {
        auto [command, o] =
            add<queue_options>(queue, "create",
                               "Create a queue.\n\n"
                               "A queue that does not exist is created by its first task, with default settings.",
                               create_queue);
        argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
        argument(command, "SETTING", o->settings,
                 "name=value: the arguments of scylla.create_queue(), for example default_timeout=5min retention=1d.");
    }

    void add_set(CLI::App &queue) {
        auto [command, o] = add<queue_options>(queue, "set", "Change settings of a queue.", set_queue);
        argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
        argument(command, "SETTING", o->settings, "name=value, as for \"create\"; name= sets the default.")->required();
    }

    void add_drop(CLI::App &queue) {
        auto [command, o] = add<drop_queue_options>(queue, "drop", "Remove a queue.", drop_queue);
        argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
        flag(command, "--force", o->force, "Remove its tasks too, whatever their state.");
    }

    void add_grants(CLI::App &queue) {
        {
            auto [command, o] = add<grant_options>(queue, "grant", "Grant a role a privilege on a queue.", grant_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "ROLE", o->role, "The role, or public for every role.")->required();
            privilege(command, o->privilege);
        }
        {
            auto [command, o] = add<grant_options>(queue, "revoke", "Revoke a privilege on a queue.", revoke_queue);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "ROLE", o->role, "The role, or public for every role.")->required();
            privilege(command, o->privilege);
        }
        {
            auto [command, queue_name] =
                add<maybe_text>(queue, "grants", "Show the privileges of roles on queues.", list_grants);
            argument(command, "QUEUE", *queue_name, "Only privileges on this queue.");
        }
        {
            auto [command, o] =
                add<grant_options>(queue, "owner", "Transfer a queue to another role.", set_queue_owner);
            argument(command, "QUEUE", o->queue, "Name of the queue.")->required();
            argument(command, "ROLE", o->role, "The new owner.")->required();
        }
    }

    static void privilege(CLI::App *command, std::string &into) {
        argument(command, "PRIVILEGE", into,
                 "submit, work, view, depend, or admin (all of these, and changing settings).")
            ->required()
            ->check(one_of("submit|work|view|depend|admin"));
    }

    void one_queue(CLI::App &parent, const char *name, const char *description,
                   command_function<std::string> function) {
        auto [command, queue] = add(parent, name, description, function);
        argument(command, "QUEUE", *queue, "Name of the queue.")->required();
    }
};

} // namespace

void describe_queues(tool &of) {
    queue_syntax own{of};
    own.add_looks();
    own.add_queues();
}

} // namespace scylla::cli
