// Runs one program to its end: input is text, the result is its output and how it ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scylla::cli {

// The words to run for a command line. If it has plain words only and the first is a program, it is run directly;
// otherwise by the shell. That saves a process per task, as in make.
[[nodiscard]] std::vector<std::string> command_words(const std::string &command_line);

// The path of a program, found as by the shell.
[[nodiscard]] std::optional<std::string> find_program(const std::string &name);

// Requests the end of a program, from another thread and possibly more than once.
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
    std::size_t max_output = 1 << 20;  // the rest is dropped, and this is reported
    std::size_t max_error_tail = 4096; // the last bytes of standard error that are kept
    std::optional<std::chrono::milliseconds> timeout;
    // How long a program has to end after SIGTERM, before SIGKILL.
    std::chrono::milliseconds grace{5000};
    std::function<void(double)> progress; // a line of descriptor 3: 0 to 1
    bool pass_errors = true;              // standard error is also written to ours
};

struct program_end {
    std::optional<int> exit; // the exit status, or
    int signal = 0;          // the signal that killed it, or
    int start_error = 0;     // the errno with which it could not be started
    bool timed_out = false;
    bool stopped = false; // by the stopper
    bool output_cut = false;
    std::string output;
    std::string error_tail;
};

// The program runs in a process group of its own, so that it can be ended with all processes that it started, and is
// killed if this process dies. The function can be called by several threads at once.
[[nodiscard]] program_end run_program(const program_options &options, const stopper &stop);

// Keeps the descriptors 0 to 3, which programs get, from being used for anything else. Must be called first.
void reserve_descriptors();

} // namespace scylla::cli
