// events: what read_events() gives, page by page, and what comes.
#include <iostream>

#include <poll.h>

#include "commands.h"
#include "duration.h"

namespace scylla::cli {

namespace {

// A page of events after a cursor; which of them are to be shown.
class reader {
public:
    reader(session &server, const events_options &options) : m_server{server}, m_cursor{options.after} {
        if (!options.queues.empty())
            m_queues = array_literal(options.queues);
        if (options.since)
            m_since = server.ask("select (clock_timestamp() - $1::interval)::text", {options.since});
    }

    // False: there were no more.
    bool print_page(bool json) {
        const rows page = m_server.query(
            std::string{
                "select cursor, ($2::text[] is null or queue = any ($2)) and ($3::timestamptz is null or time >= "
                "$3), "} +
                (json ? "row_to_json(e)" : "concat_ws(' ', cursor, time, queue, rn, status, attempt, worker)") +
                " from scylla.read_events($1) as e",
            {m_cursor, m_queues, m_since});
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
    value m_cursor;
    value m_queues;
    value m_since;
};

} // namespace

int show_events(const context &given, const events_options &options) {
    const auto interval = to_duration("--interval", options.interval);
    session server{given.connection};
    reader events{server, options};
    for (;;) {
        while (std::cout && events.print_page(given.json))
            ;
        if (!options.follow || !std::cout)
            return 0;
        poll(nullptr, 0, static_cast<int>(interval.count()));
    }
}

} // namespace scylla::cli
