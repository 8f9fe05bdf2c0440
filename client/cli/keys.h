// The keys of `scylla watch`: what they change of what is shown.
#pragma once

#include <string>

#include "session.h"

namespace scylla::cli {

class watch_keys {
public:
    void press(char key);

    [[nodiscard]] bool quits() const noexcept { return m_quits; }
    [[nodiscard]] bool paused() const noexcept { return m_paused; }

    // Rows that have the filter in their first two columns; the queues in the order that was chosen.
    [[nodiscard]] rows filtered(const rows &all) const;
    [[nodiscard]] rows sorted(rows queues) const;
    // What is chosen, and the keys.
    [[nodiscard]] std::string describe(const rows &queues) const;

private:
    void type(char key);

    std::size_t m_column = 0; // by which the queues are sorted, as far as there are so many
    bool m_reverse = false;
    bool m_paused = false;
    bool m_types = false; // the keys are those of the filter
    bool m_quits = false;
    std::string m_filter;
};

// From the beginning to the end of its life, keys come one by one and are not shown. Without a terminal to read from,
// or in the background, there are none.
class keyboard {
public:
    keyboard();
    ~keyboard();
    keyboard(const keyboard &) = delete;
    keyboard &operator=(const keyboard &) = delete;

    [[nodiscard]] bool is_there() const noexcept { return m_is_there; }
    // Waits for keys, at most so many milliseconds; -1: without end. Those that have come; none also after a signal.
    std::string read(int milliseconds);
    // For a signal handler: as it was before.
    static void give_back() noexcept;

private:
    bool m_is_there = false;
};

} // namespace scylla::cli
