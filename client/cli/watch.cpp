// watch: queues, rates and workers, repeatedly; workflow watch: workflows and their runs. A screen on a terminal,
// otherwise lines.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
#include "duration.h"
#include "keys.h"
#include "watch.h"

namespace scylla::cli {

namespace {

constexpr char k_begin_screen[] = "\033[?1049h\033[?25l";
constexpr char k_end_screen[] = "\033[?25h\033[?1049l";

// Ends at once, even if the server does not answer. Each round has been written completely.
void end(int) {
    if (isatty(STDOUT_FILENO) != 0) [[maybe_unused]]
        const auto written = write(STDOUT_FILENO, k_end_screen, sizeof k_end_screen - 1);
    keyboard::give_back();
    _exit(0);
}

struct counters {
    double submitted = 0;
    double completed = 0;
    double failed = 0;
};

// Counts per second since the last round, by the server's clock.
class rates {
public:
    void begin_round(double now) {
        m_last = std::exchange(m_now, now);
        m_before = std::move(m_counters);
        m_counters.clear();
    }
    // Submitted, completed and failed per second; empty without an earlier round or without statistics.
    std::vector<value> of(const std::string &queue, const value &submitted, const value &completed,
                          const value &failed) {
        if (!submitted)
            return {{}, {}, {}};
        const counters now{std::atof(submitted->c_str()), std::atof(completed->c_str()), std::atof(failed->c_str())};
        m_counters[queue] = now;
        const auto before = m_before.find(queue);
        if (m_last == 0 || m_now <= m_last)
            return {{}, {}, {}};
        const counters since = before == m_before.end() ? counters{} : before->second;
        return {rate(now.submitted - since.submitted), rate(now.completed - since.completed),
                rate(now.failed - since.failed)};
    }

private:
    [[nodiscard]] value rate(double count) const {
        if (count < 0) // the statistics were reset
            return {};
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.1f", count / (m_now - m_last));
        return digits;
    }

    double m_last = 0;
    double m_now = 0;
    std::map<std::string, counters> m_before;
    std::map<std::string, counters> m_counters;
};

class watched_queues : public watched {
public:
    watched_queues(session &server, const std::vector<std::string> &queues) : m_server{server} {
        if (!queues.empty())
            m_queues = array_literal(queues);
    }

    // Changes since the last round, a row per queue.
    rows first() override {
        const rows answer =
            m_server.query("select extract(epoch from clock_timestamp()), queue, waiting, ready, running, "
                           "       round(extract(epoch from oldest_ready)::numeric, 1) || ' s', submitted, completed, "
                           "       failed + expired + aborted "
                           "  from scylla.stat_queue where $1::text[] is null or queue = any ($1) order by queue",
                           {m_queues});
        m_rates.begin_round(answer.cells.empty() ? 0 : std::atof(answer.cells[0][0]->c_str()));
        rows shown;
        shown.columns = {"queue", "waiting", "ready", "running", "oldest", "submitted/s", "completed/s", "failed/s"};
        shown.numeric = {false, true, true, true, true, true, true, true};
        for (const auto &row : answer.cells) {
            auto &cells =
                shown.cells.emplace_back(std::vector<value>{row[1], row[2], row[3], row[4], row[5].value_or("-")});
            for (value &rate : m_rates.of(*row[1], row[6], row[7], row[8]))
                cells.emplace_back(rate.value_or("-"));
        }
        return shown;
    }

    rows second() override { // workers
        return m_server.query(
            "select worker, queue, leases, "
            "       round(extract(epoch from clock_timestamp() - last_heartbeat)::numeric, 1) || ' s' as \"last "
            "heartbeat\", "
            "       round(extract(epoch from next_deadline - clock_timestamp())::numeric, 1) || ' s' as \"deadline "
            "in\", "
            "       round(100 * progress::numeric) || ' %' as progress "
            "  from scylla.stat_worker where $1::text[] is null or queue = any ($1) order by worker, queue",
            {m_queues});
    }

    std::string json() override {
        return *m_server.ask(
            "select json_build_object('time', clock_timestamp(), "
            "  'queues', (select coalesce(json_agg(q order by queue), '[]') from scylla.stat_queue as q "
            "              where $1::text[] is null or queue = any ($1)), "
            "  'workers', (select coalesce(json_agg(w order by worker, queue), '[]') from scylla.stat_worker as w "
            "               where $1::text[] is null or queue = any ($1)))",
            {m_queues});
    }

private:
    session &m_server;
    value m_queues;
    rates m_rates;
};

std::string now(session &server) { return *server.ask("select date_trunc('second', clock_timestamp())::text"); }

// On one line: json_agg() puts its elements on lines of their own.
std::string in_a_line(std::string object) {
    object.erase(std::remove(object.begin(), object.end(), '\n'), object.end());
    return object;
}

// Shows the top left part of a text that fits on the terminal, over the previous contents.
class screen {
public:
    screen() { std::cout << k_begin_screen; }
    ~screen() { std::cout << k_end_screen << std::flush; }
    screen(const screen &) = delete;
    screen &operator=(const screen &) = delete;

    static void show(const std::string &text) {
        winsize size{};
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
            size.ws_row = 24, size.ws_col = 80;
        std::string shown = "\033[H";
        std::size_t begin = 0;
        for (int row = 0; row < size.ws_row && begin < text.size(); row++) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            shown += (row > 0 ? "\r\n" : "") + cut(text.substr(begin, end - begin), size.ws_col) + "\033[K";
            begin = end + 1;
        }
        std::cout << shown << "\033[J" << std::flush;
    }

private:
    static std::string cut(const std::string &line, std::size_t columns) {
        std::size_t used = 0;
        for (std::size_t i = 0; i < line.size(); i++)
            if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80 && used++ == columns)
                return line.substr(0, i);
        return line;
    }
};

std::string to_lines(const std::string &now, const rows &first) {
    std::string text;
    for (const auto &row : first.cells) {
        text += now + " " + *row[0];
        for (std::size_t i = 1; i < row.size(); i++)
            text += " " + first.columns[i] + "=" + *row[i];
        text += '\n';
    }
    return text;
}

// Handles keys until the next round is due.
void obey(keyboard &keyboard, watch_keys &keys, std::chrono::milliseconds interval, const std::function<void()> &draw) {
    const auto due = std::chrono::steady_clock::now() + interval;
    while (!keys.quits()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - std::chrono::steady_clock::now()).count();
        const bool paused = keys.paused() && keyboard.is_there();
        if (left <= 0 && !paused)
            return;
        const std::string pressed = keyboard.read(paused ? -1 : static_cast<int>(left));
        std::for_each(pressed.begin(), pressed.end(), [&](char key) { keys.press(key); });
        if (pressed.empty() && !paused)
            return; // the time has passed, or the size of the terminal has changed
        draw();
    }
}

void watch_on_screen(session &server, watched &what, std::chrono::milliseconds interval, unsigned count) {
    const screen on_screen;
    keyboard keyboard;
    watch_keys keys;
    for (unsigned round = 1; !keys.quits(); round++) {
        const std::string time = now(server);
        const rows first = what.first();
        const rows second = what.second();
        const auto draw = [&] {
            screen::show(server.database() + "  " + time + "\n" + (keyboard.is_there() ? keys.describe(first) : "") +
                         "\n" + to_table(keys.sorted(keys.filtered(first))) + "\n" + to_table(keys.filtered(second)));
        };
        draw();
        if (!std::cout || round == count)
            return;
        obey(keyboard, keys, interval, draw);
    }
}

} // namespace

void watch_again(const context &given, session &server, watched &what, std::chrono::milliseconds interval,
                 unsigned count) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, end);
    std::signal(SIGWINCH, [](int) {}); // ends the pause: the screen is redrawn

    if (!given.json && isatty(STDOUT_FILENO) != 0) {
        watch_on_screen(server, what, interval, count);
        return;
    }
    for (unsigned round = 1;; round++) {
        if (given.json) {
            std::cout << in_a_line(what.json()) << std::endl;
        } else {
            const std::string time = now(server);
            std::cout << to_lines(time, what.first()) << std::flush;
        }
        if (!std::cout || round == count)
            return;
        poll(nullptr, 0, static_cast<int>(interval.count()));
    }
}

int watch(const context &given, const watch_options &options) {
    const auto interval = to_duration("--interval", options.interval);
    session server{given.connection};
    watched_queues queues{server, options.of};
    watch_again(given, server, queues, interval, options.count);
    return 0;
}

} // namespace scylla::cli
