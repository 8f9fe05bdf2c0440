// The command line of callbacks, signals and triggers.
#include "syntax.h"

namespace scylla::cli {
namespace {

class condition_syntax : syntax {
public:
    using syntax::syntax;

    void add_conditions() {
        CLI::App *callback = add(m_app, "callback", "Create and end callbacks: tokens that tasks wait for.");
        callback->require_subcommand(1);
        {
            auto [command, o] = add<create_callback_options>(
                *callback, "create", "Create a callback.\n\nPrints its token.", create_callback);
            argument(command, "TOKEN", o->token, "The token. Default: the server generates one of 128 random bits.");
            duration(command, "--expires", o->expires, "How long it can be ended. Default: no limit.");
        }
        end_callback(*callback, "resolve", "Resolve a callback: tasks that wait for it get the value.",
                     "The value, as JSON. Default: null.", resolve_callback);
        end_callback(*callback, "reject", "Reject a callback: tasks that wait for it do what their on_failure says.",
                     "The error, as JSON: {\"code\": \"...\", \"message\": \"...\"}.", reject_callback)
            ->required();
        CLI::App *signal = add(m_app, "signal", "Send signals, show them, and grant rights on them.");
        signal->require_subcommand(1);
        {
            auto [command, o] = add<send_signal_options>(
                *signal, "send", "Send a signal to all tasks whose conditions it matches.\n\nPrints its number.",
                send_signal);
            argument(command, "NAME", o->name, "Name of the signal.")->required();
            argument(command, "PARAMS", o->params,
                     "The parameters that conditions compare, as a JSON object. Default: {}.");
            option(command, "--payload", o->payload, "JSON", "Other data for the tasks that get the signal.");
            option(command, "--request-id", o->request_id, "ID", "Send the signal once, however often this is called.");
        }
        {
            auto [command, o] = add<list_signals_options>(*signal, "list", "Show signals, newest first.", list_signals);
            argument(command, "NAME", o->name, "Only signals of this name.");
            option(command, "--limit", o->limit, "N", "Maximum number of signals.")->default_str("100");
        }
        signal_grant(*signal, "grant", "Grant a role a privilege on the signals of a name.", grant_signal);
        signal_grant(*signal, "revoke", "Revoke a privilege on the signals of a name.", revoke_signal);
        add(m_app, "conditions", "Show callbacks, conditions that wait for signals, and checks, newest first.",
            list_conditions);
        add_triggers();
    }

private:
    void add_triggers() {
        CLI::App *trigger = add(m_app, "trigger", "Start tasks, plans and workflows by sets of signals.");
        trigger->require_subcommand(1);
        {
            auto [command, o] = add<create_trigger_options>(
                *trigger, "create",
                "Create a trigger: for every set of signals that match and join, the action is carried out once.",
                create_trigger);
            argument(command, "NAME", o->name, "Name of the trigger.")->required();
            argument(command, "SIGNALS", o->signals,
                     "[{\"signal\": \"name\", \"match\": {...}, \"join\": [\"parameter\"]}, ...].")
                ->required();
            argument(command, "ACTION", o->action,
                     "{\"submit\": {\"queue\": ..., \"spec\": ...}}, {\"plan\": [tasks]} or {\"workflow\": \"ID\", "
                     "\"params\": {...}}.")
                ->required();
            option(command, "--condition", o->condition, "JSONPATH",
                   "A predicate over the array of the signals: if it is not true, there is no action.");
            duration(command, "--grace", o->grace,
                     "How long after the last signal of a set its action may be carried out. Default: no bound.");
        }
        trigger_command(*trigger, "drop", "Remove a trigger.", drop_trigger);
        trigger_command(*trigger, "pause", "Pause a trigger: it collects signals.", pause_trigger);
        trigger_command(*trigger, "resume", "Resume a trigger, and retry failed sets at once.", resume_trigger);
        {
            auto [command, o] = add<clear_trigger_options>(
                *trigger, "clear",
                "Remove signals that wait for their partners, and sets for which the action has failed.\n\n"
                "Prints how many.",
                clear_trigger);
            argument(command, "NAME", o->name, "Name of the trigger.")->required();
            option(command, "--seq", o->seq, "N", "Only the signal with this number.");
        }
        add(*trigger, "list", "Show triggers.", list_triggers);
        {
            auto [command, name] = add<maybe_text>(
                *trigger, "signals", "Show the signals that wait for their partners.", list_trigger_signals);
            argument(command, "NAME", *name, "Only those of this trigger.");
        }
        {
            auto [command, name] =
                add<maybe_text>(*trigger, "failures", "Show the sets of signals for which the action has failed.",
                                list_trigger_failures);
            argument(command, "NAME", *name, "Only those of this trigger.");
        }
    }

    void trigger_command(CLI::App &parent, const char *name, const char *description,
                         command_function<std::string> function) {
        auto [command, trigger] = add(parent, name, description, function);
        argument(command, "NAME", *trigger, "Name of the trigger.")->required();
    }

    CLI::Option *end_callback(CLI::App &parent, const char *name, const char *description, const char *value,
                              command_function<end_callback_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "TOKEN", o->token, "The token.")->required();
        CLI::Option *given = argument(command, name == std::string_view{"reject"} ? "ERROR" : "VALUE", o->value, value);
        command->footer("The exit status is 1 if the callback had been resolved or rejected before.");
        return given;
    }

    void signal_grant(CLI::App &parent, const char *name, const char *description,
                      command_function<signal_grant_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "NAME", o->name, "Name of the signals.")->required();
        argument(command, "ROLE", o->role, "The role; \"public\" for every role.")->required();
        argument(command, "PRIVILEGE", o->privilege, "send, wait, or admin (both, and granting).")
            ->required()
            ->check(one_of("send|wait|admin"));
    }
};

} // namespace

void describe_conditions(tool &of) {
    condition_syntax own{of};
    own.add_conditions();
}

} // namespace scylla::cli
