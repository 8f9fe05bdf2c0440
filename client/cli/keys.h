// The keys of `scylla watch`, and what they change on the screen.
#pragma once

#include <string>

#include "session.h"

namespace scylla::cli {

class watch_keys {
public:
    void press(char key);

    [[nodiscard]] bool quits() const noexcept { return m_quits; }
    [[nodiscard]] bool paused() const noexcept { return m_paused; }

    // Rows that contain the filter in their first two columns; queues in the chosen order.
    [[nodiscard]] rows filtered(const rows &all) const;
    [[nodiscard]] rows sorted(rows queues) const;
    // The present choices, and the keys.
    [[nodiscard]] std::string describe(const rows &queues) const;

private:
    void type(char key);

    std::size_t m_column = 0; // by which the queues are sorted, modulo the number of columns
    bool m_reverse = false;
    bool m_paused = false;
    bool m_types = false; // keys are characters of the filter
    bool m_quits = false;
    std::string m_filter;
};

// While it lives, keys are read one by one and not echoed. Without a terminal to read from, or in the background, there
// are no keys.
class keyboard {
public:
    keyboard();
    ~keyboard();
    keyboard(const keyboard &) = delete;
    keyboard &operator=(const keyboard &) = delete;

    [[nodiscard]] bool is_there() const noexcept { return m_is_there; }
    // Waits for keys up to that many milliseconds; -1: without limit. Returns the keys; none also after a signal.
    std::string read(int milliseconds);
    // Restores the terminal; for a signal handler.
    static void give_back() noexcept;

private:
    bool m_is_there = false;
};

} // namespace scylla::cli
