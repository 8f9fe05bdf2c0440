#include "keys.h"

#include <algorithm>
#include <cstdlib>

#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace scylla::cli {

namespace {

constexpr char k_escape = '\033';
constexpr char k_delete = '\177';

termios before{};         // the terminal
volatile bool is_changed; // it must be restored

bool less(const value &a, const value &b, bool numeric) {
    if (!numeric)
        return a.value_or("") < b.value_or("");
    return std::atof(a.value_or("-1").c_str()) < std::atof(b.value_or("-1").c_str());
}

} // namespace

void watch_keys::press(char key) {
    if (m_types) {
        type(key);
        return;
    }
    switch (key) {
    case 'q':
        m_quits = true;
        break;
    case 's':
        m_column++;
        break;
    case 'r':
        m_reverse = !m_reverse;
        break;
    case 'p':
    case ' ':
        m_paused = !m_paused;
        break;
    case '/':
        m_types = true;
        m_filter.clear();
        break;
    case k_escape:
        m_filter.clear();
        break;
    default:
        break;
    }
}

void watch_keys::type(char key) {
    if (key == k_escape)
        m_filter.clear();
    if (key == k_escape || key == '\n' || key == '\r')
        m_types = false;
    else if (key == k_delete || key == '\b') {
        if (!m_filter.empty())
            m_filter.pop_back();
    } else if (static_cast<unsigned char>(key) >= ' ')
        m_filter += key;
}

rows watch_keys::filtered(const rows &all) const {
    rows shown{all.columns, all.numeric, {}};
    std::copy_if(all.cells.begin(), all.cells.end(), std::back_inserter(shown.cells), [&](const auto &row) {
        return row[0].value_or("").find(m_filter) != std::string::npos ||
               (!all.numeric[1] && row[1].value_or("").find(m_filter) != std::string::npos);
    });
    return shown;
}

// Names ascending, numbers descending, so that the largest come first; reversed on request.
rows watch_keys::sorted(rows queues) const {
    const std::size_t column = m_column % queues.columns.size();
    const bool falls = queues.numeric[column] != m_reverse;
    std::stable_sort(queues.cells.begin(), queues.cells.end(), [&](const auto &a, const auto &b) {
        return falls ? less(b[column], a[column], queues.numeric[column])
                     : less(a[column], b[column], queues.numeric[column]);
    });
    return queues;
}

std::string watch_keys::describe(const rows &queues) const {
    std::string line = "[s]ort: " + queues.columns[m_column % queues.columns.size()] +
                       "  [r]everse: " + (m_reverse ? "yes" : "no") +
                       "  [/]filter: " + (m_filter.empty() && !m_types ? "none" : m_filter) + (m_types ? "_" : "") +
                       "  [p]ause: " + (m_paused ? "PAUSED" : "no") + "  [q]uit";
    return line;
}

keyboard::keyboard() {
    if (isatty(STDIN_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &before) != 0)
        return;
    termios now = before;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    is_changed = true;
    m_is_there = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
}

keyboard::~keyboard() { give_back(); }

void keyboard::give_back() noexcept {
    if (is_changed)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    is_changed = false;
}

std::string keyboard::read(int milliseconds) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(m_is_there ? &input : nullptr, m_is_there ? 1 : 0, milliseconds) <= 0)
        return {};
    char keys[64];
    const ssize_t count = ::read(STDIN_FILENO, keys, sizeof keys);
    m_is_there = count > 0; // the terminal is gone
    return {keys, keys + std::max<ssize_t>(count, 0)};
}

} // namespace scylla::cli
