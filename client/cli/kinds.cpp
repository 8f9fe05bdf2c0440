#include "kinds.h"

#include <array>
#include <string_view>

namespace scylla::cli {

namespace {

// Commands with the same rights: their first word, and the second ones, each between blanks.
struct entry {
    std::string_view family; // empty: commands of one word
    std::string_view commands;
    std::string_view kinds; // the one that may do least comes first; those that include another are left out
};

constexpr std::string_view k_reader = "reader";
constexpr std::string_view k_worker = "worker";
constexpr std::string_view k_client = "client";
constexpr std::string_view k_reader_client = "reader or client";
constexpr std::string_view k_client_operator = "client or operator";
constexpr std::string_view k_client_scheduler_operator = "client, scheduler or operator";
constexpr std::string_view k_scheduler = "scheduler";
constexpr std::string_view k_author = "author";
constexpr std::string_view k_author_operator = "author or operator";
constexpr std::string_view k_operator = "operator";
constexpr std::string_view k_queue_owner = "queue_owner";

constexpr entry k_entries[] = {
    {"", " get explain list find dead ", k_reader_client},
    {"", " conditions ", k_reader},
    {"", " submit ", k_client},
    {"", " cancel reschedule priority resubmit ", k_client_operator},
    {"", " take-back watch ", k_operator},
    {"", " set-output not-yet defer work ", k_worker},
    {"", " delete ", k_queue_owner},
    {"", " events ", "event_reader"},
    {"plan", " list get dot mermaid timeline ", k_reader_client},
    {"plan", " create ", "client or scheduler"},
    {"plan", " wait owner ", k_client},
    {"plan", " open cancel ", k_client_scheduler_operator},
    {"plan", " rerun ", k_client_operator},
    {"callback", " create resolve reject ", k_client},
    {"signal", " send ", k_client},
    {"signal", " list ", k_reader},
    {"signal", " grant revoke ", "author or queue_owner"},
    {"trigger", " list signals failures ", k_reader},
    {"trigger", " create drop ", k_author},
    {"trigger", " pause resume clear ", k_author_operator},
    {"pool", " list get queue history reservations ", "reader or queue_owner"},
    {"pool", " create set drop grant revoke place ", k_queue_owner},
    {"pool", " drain resume ", "operator or queue_owner"},
    {"pool", " report ", k_worker},
    {"job", " list get plans freshness graph ", k_reader},
    {"job", " explain ", k_reader_client},
    {"job", " run ", k_client_scheduler_operator},
    {"job", " define drop grant revoke ", k_author},
    {"job", " mark-fresh forget ", k_author_operator},
    {"job", " schedule ", k_scheduler},
    {"workflow", " list versions show dot mermaid ", k_reader},
    {"workflow", " stat watch ", k_operator},
    {"workflow", " start start-many ", "client, author or operator"},
    {"workflow", " validate push alter drop grant revoke ", k_author},
    {"workflow", " activate deactivate pause resume stop kill unblock ", k_author_operator},
    {"workflow", " events ", "event_reader"},
    {"template", " list show ", k_reader},
    {"template", " push drop ", k_author},
    {"run", " list show tree rollup actions timeline dot mermaid gantt lineage ", k_reader},
    {"run", " why failed ", k_reader_client},
    {"run", " stop ", "client, author or operator"},
    {"run", " restart kill unblock ", k_author_operator},
    {"backfill", " list show ", k_reader},
    {"backfill", " start pause resume cancel ", k_author_operator},
    {"step", " stop kill skip restart bypass pause resume ", k_author_operator},
    {"breakpoint", " list ", k_reader},
    {"breakpoint", " set drop ", k_author_operator},
    {"queue", " list get grants ", "reader or queue_owner"},
    {"queue", " create set drop grant revoke owner ", k_queue_owner},
    {"queue", " pause resume ", "operator or queue_owner"},
    {"schedule", " list get next ", "reader or scheduler"},
    {"schedule", " set plan remove arm sync ", k_scheduler},
};

constexpr std::string_view k_of_owner = "Needs the owner of the extension, or a superuser.";
constexpr std::array<std::array<std::string_view, 2>, 6> k_others{{
    {"schedule run", k_of_owner},
    {"grant", k_of_owner},
    {"revoke", k_of_owner},
    {"init", "Needs a superuser."},
    {"doctor", "Any role may call it. A member of pg_monitor sees most."},
    {"console", "Any role may start it. The kinds console_reader and console_operator see everything."},
}};

} // namespace

std::string rights_of(const std::string &command) {
    for (const auto &[name, rights] : k_others)
        if (name == command)
            return std::string{rights};
    const std::size_t blank = command.find(' ');
    const std::string family = blank == std::string::npos ? "" : command.substr(0, blank);
    const std::string name = " " + command.substr(blank == std::string::npos ? 0 : blank + 1) + " ";
    for (const entry &each : k_entries)
        if (each.family == family && each.commands.find(name) != std::string_view::npos)
            return "Kind of role: " + std::string{each.kinds} + ".";
    return {};
}

} // namespace scylla::cli
