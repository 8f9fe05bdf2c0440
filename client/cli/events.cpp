// events: the events of read_events(), page by page, and new ones; the same for workflows.
#include <iostream>

#include <poll.h>

#include "commands.h"
#include "duration.h"

namespace scylla::cli {

namespace {

// The source of events.
struct source {
    const char *name; // column
    const char *line; // the line for one event
    const char *function;
};
constexpr source k_tasks{"queue", "concat_ws(' ', cursor, time, queue, rn, status, attempt, worker)",
                         "scylla.read_events"};
constexpr source k_workflows{"workflow",
                             "concat_ws(' ', cursor, time, workflow, kind, instance || '/' || run, step || "
                             "coalesce('[' || array_to_string(iterations, ',') || ']', ''), attempt, status, "
                             "case when instance is null then version end)",
                             "scylla.read_workflow_events"};

// Reads pages of events after a cursor, and selects those that are shown.
class reader {
public:
    reader(session &server, const source &of, const events_options &options)
        : m_server{server}, m_source{of}, m_cursor{options.after} {
        if (!options.of.empty())
            m_of = array_literal(options.of);
        if (options.since)
            m_since = server.ask("select (clock_timestamp() - $1::interval)::text", {options.since});
    }

    // False: there were no more.
    bool print_page(bool json) {
        const rows page =
            m_server.query(std::string{"select cursor, ($2::text[] is null or "} + m_source.name +
                               " = any ($2)) and ($3::timestamptz is null or time >= $3), " +
                               (json ? "row_to_json(e)" : m_source.line) + " from " + m_source.function + "($1) as e",
                           {m_cursor, m_of, m_since});
        for (const auto &event : page.cells)
            if (event[1] == "t")
                std::cout << event[2].value_or("") << '\n';
        std::cout << std::flush;
        if (!page.cells.empty())
            m_cursor = page.cells.back()[0];
        return !page.cells.empty();
    }

private:
    session &m_server;
    const source &m_source;
    value m_cursor;
    value m_of;
    value m_since;
};

int follow(const context &given, const source &of, const events_options &options) {
    const auto interval = to_duration("--interval", options.interval);
    session server{given.connection};
    reader events{server, of, options};
    for (;;) {
        while (std::cout && events.print_page(given.json))
            ;
        if (!options.follow || !std::cout)
            return 0;
        poll(nullptr, 0, static_cast<int>(interval.count()));
    }
}

} // namespace

int show_events(const context &given, const events_options &options) { return follow(given, k_tasks, options); }

int show_workflow_events(const context &given, const events_options &options) {
    return follow(given, k_workflows, options);
}

} // namespace scylla::cli
