// Runs one program to its end: text in, what it wrote and how it ended out.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scylla::cli {

// The words that a command line is to be run as. One of plain words, whose first is a program, is run as it is; any
// other is left to the shell. That saves a process per task, as make does.
[[nodiscard]] std::vector<std::string> command_words(const std::string &command_line);

// The path of a program, as the shell would look for it.
[[nodiscard]] std::optional<std::string> find_program(const std::string &name);

// Something that can be told, from another thread and more than once, that a program is to end.
class stopper {
public:
    stopper();
    ~stopper();
    stopper(const stopper &) = delete;
    stopper &operator=(const stopper &) = delete;
    void stop() noexcept;
    void reset() noexcept;
    [[nodiscard]] int descriptor() const noexcept { return m_descriptor; }

private:
    int m_descriptor;
};

struct program_options {
    std::vector<std::string> words;       // found by find_program() if the first has no slash
    std::vector<std::string> environment; // "NAME=value", all of it
    std::string_view input;
    std::size_t max_output = 1 << 20;  // more is thrown away, and said
    std::size_t max_error_tail = 4096; // the last bytes of standard error that are kept
    std::optional<std::chrono::milliseconds> timeout;
    // How long a program has to end after SIGTERM, before SIGKILL.
    std::chrono::milliseconds grace{5000};
    std::function<void(double)> progress; // a line of descriptor 3: 0 to 1
    bool pass_errors = true;              // standard error goes to ours, too
};

struct program_end {
    std::optional<int> exit; // the exit status, or
    int signal = 0;          // the signal that killed it, or
    int start_error = 0;     // the errno with which it could not be started
    bool timed_out = false;
    bool stopped = false; // the stopper was told
    bool output_cut = false;
    std::string output;
    std::string error_tail;
};

// The program runs in a process group of its own, so that it can be ended with all that it started, and is killed if
// this process dies. It can be called by several threads at once.
[[nodiscard]] program_end run_program(const program_options &options, const stopper &stop);

// Keeps the descriptors 0 to 3, which programs get, from being used for anything else. Call it first of all.
void reserve_descriptors();

} // namespace scylla::cli
