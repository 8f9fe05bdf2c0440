#include "program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scylla::cli {

namespace {

using clock = std::chrono::steady_clock;

constexpr int k_progress_descriptor = 3;

[[noreturn]] void system_failure(const char *what) { throw std::system_error{errno, std::generic_category(), what}; }

class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) : m_fd{fd} {}
    descriptor(descriptor &&other) noexcept : m_fd{std::exchange(other.m_fd, -1)} {}
    descriptor &operator=(descriptor &&other) noexcept {
        std::swap(m_fd, other.m_fd);
        return *this;
    }
    ~descriptor() { close(); }
    void close() noexcept {
        if (m_fd >= 0)
            ::close(std::exchange(m_fd, -1));
    }
    [[nodiscard]] int get() const noexcept { return m_fd; } // -1: poll() ignores it

private:
    int m_fd = -1;
};

struct pipe_ends {
    descriptor reading;
    descriptor writing;
};

// Our end is non-blocking; the program's end is blocking, as programs expect.
pipe_ends make_pipe(bool we_read) {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0)
        system_failure("could not create a pipe");
    const int ours = we_read ? fds[0] : fds[1];
    fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK);
    return {descriptor{fds[0]}, descriptor{fds[1]}};
}

std::vector<char *> pointers(const std::vector<std::string> &texts) {
    std::vector<char *> result;
    result.reserve(texts.size() + 1);
    for (const std::string &text : texts)
        result.push_back(const_cast<char *>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

// Between vfork() and execve() the child borrows our memory: only system calls, and nothing that another thread could
// see. NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): posix_spawn() knows no
// PR_SET_PDEATHSIG
[[gnu::noinline]] pid_t start(const char *path, char *const *words, char *const *environment,
                              const std::array<int, 4> &ends, int *start_error) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = getpid();
    volatile int error = 0;
    const pid_t child = vfork();
    if (child == 0) {
        struct sigaction by_default {};
        by_default.sa_handler = SIG_DFL;
        for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM})
            sigaction(signal, &by_default, nullptr);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        for (int i = 0; i < 4; i++)
            dup2(ends[static_cast<std::size_t>(i)], i);
        sigset_t none;
        sigemptyset(&none);
        pthread_sigmask(SIG_SETMASK, &none, nullptr);
        execve(path, words, environment);
        error = errno;
        _exit(127);
    }
    *start_error = child < 0 ? errno : error;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return child;
}
// NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork)

// The value of a line of the progress descriptor: 0.25 or 25%.
std::optional<double> parse_progress(std::string_view line) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t'))
        line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
        line.remove_suffix(1);
    const bool percent = !line.empty() && line.back() == '%';
    if (percent)
        line.remove_suffix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{} || end != line.data() + line.size() || !(number >= 0))
        return std::nullopt;
    return std::min(1.0, percent ? number / 100 : number);
}

// One run, from the start of the program to its end.
class program_run {
public:
    program_run(const program_options &options, const stopper &stop) : m_options{options}, m_stop{stop.descriptor()} {}

    program_end operator()() {
        if (!begin())
            return std::move(m_end);
        if (m_options.timeout)
            m_deadline = clock::now() + *m_options.timeout;
        while (!m_dead)
            step();
        // Its output is in the pipes. Processes that it left running may hold them open: these are not waited for.
        read_output();
        read_errors();
        read_progress();
        reap();
        return std::move(m_end);
    }

private:
    bool begin() {
        pipe_ends input = make_pipe(false);
        pipe_ends output = make_pipe(true);
        pipe_ends errors = make_pipe(true);
        pipe_ends progress = make_pipe(true);
        m_child =
            start(m_options.words[0].c_str(), pointers(m_options.words).data(), pointers(m_options.environment).data(),
                  {input.reading.get(), output.writing.get(), errors.writing.get(), progress.writing.get()},
                  &m_end.start_error);
        if (m_child < 0)
            return false;
        if (m_end.start_error != 0) {
            waitpid(m_child, nullptr, 0);
            return false;
        }
        m_process = descriptor{static_cast<int>(syscall(SYS_pidfd_open, m_child, 0))};
        if (m_process.get() < 0) {
            const int error = errno;
            end_now();
            waitpid(m_child, nullptr, 0);
            errno = error;
            system_failure("could not watch a process");
        }
        m_input = std::move(input.writing);
        m_output = std::move(output.reading);
        m_errors = std::move(errors.reading);
        m_progress = std::move(progress.reading);
        write_input();
        return true;
    }

    // Waits for an event, and handles it.
    void step() {
        enum { process, output, errors, progress, input, stopped };
        std::array<pollfd, 6> watched{{{m_process.get(), POLLIN, 0},
                                       {m_output.get(), POLLIN, 0},
                                       {m_errors.get(), POLLIN, 0},
                                       {m_progress.get(), POLLIN, 0},
                                       {m_input.get(), POLLOUT, 0},
                                       {m_end.stopped ? -1 : m_stop, POLLIN, 0}}};
        if (poll(watched.data(), watched.size(), time_left()) < 0 && errno != EINTR)
            system_failure("could not wait for a program");
        if (watched[output].revents != 0)
            read_output();
        if (watched[errors].revents != 0)
            read_errors();
        if (watched[progress].revents != 0)
            read_progress();
        if (watched[input].revents != 0)
            write_input();
        if (watched[process].revents != 0) {
            m_dead = true;
            return;
        }
        if (watched[stopped].revents != 0) {
            m_end.stopped = true;
            ask_to_end();
        }
        if (m_deadline && clock::now() >= *m_deadline) {
            if (m_asked) {
                end_now();
                m_deadline.reset();
            } else {
                m_end.timed_out = true;
                ask_to_end();
            }
        }
    }

    [[nodiscard]] int time_left() const {
        if (!m_deadline)
            return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*m_deadline - clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    }

    void ask_to_end() {
        if (m_asked)
            return;
        m_asked = true;
        kill(-m_child, SIGTERM);
        m_deadline = clock::now() + m_options.grace;
    }

    void end_now() const { kill(-m_child, SIGKILL); }

    void reap() {
        // Processes that a stopped program has started end with it.
        if (m_asked)
            end_now();
        int status = 0;
        while (waitpid(m_child, &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFEXITED(status))
            m_end.exit = WEXITSTATUS(status);
        else
            m_end.signal = WTERMSIG(status);
    }

    void write_input() {
        while (m_written < m_options.input.size()) {
            const ssize_t n =
                write(m_input.get(), m_options.input.data() + m_written, m_options.input.size() - m_written);
            if (n < 0 && errno == EAGAIN)
                return;
            if (n < 0) // it does not read its input, which is allowed
                break;
            m_written += static_cast<std::size_t>(n);
        }
        m_input.close();
    }

    // Calls use(text) for all that can be read; closes at the end.
    template <class Use> static void drain(descriptor &from, Use use) {
        std::array<char, 16384> buffer;
        while (from.get() >= 0) {
            const ssize_t n = read(from.get(), buffer.data(), buffer.size());
            if (n > 0)
                use(std::string_view{buffer.data(), static_cast<std::size_t>(n)});
            else if (n < 0 && errno == EINTR)
                continue;
            else if (n < 0 && errno == EAGAIN)
                return;
            else
                from.close();
            if (n < static_cast<ssize_t>(buffer.size()))
                return; // poll() tells if there is more
        }
    }

    void read_output() {
        drain(m_output, [&](std::string_view text) {
            const std::size_t room = m_options.max_output - m_end.output.size();
            m_end.output_cut = m_end.output_cut || text.size() > room;
            m_end.output += text.substr(0, room);
        });
    }

    void read_errors() {
        drain(m_errors, [&](std::string_view text) {
            if (m_options.pass_errors) [[maybe_unused]]
                const auto written = write(STDERR_FILENO, text.data(), text.size());
            std::string &tail = m_end.error_tail;
            tail += text;
            if (tail.size() > 2 * m_options.max_error_tail)
                tail.erase(0, tail.size() - m_options.max_error_tail);
        });
    }

    void read_progress() {
        drain(m_progress, [&](std::string_view text) {
            for (const char c : text) {
                if (c != '\n') {
                    if (m_line.size() < 100)
                        m_line += c;
                    continue;
                }
                if (const auto progress = parse_progress(m_line); progress && m_options.progress)
                    m_options.progress(*progress);
                m_line.clear();
            }
        });
    }

    const program_options &m_options;
    int m_stop;
    pid_t m_child = -1;
    bool m_dead = false;
    bool m_asked = false;
    std::optional<clock::time_point> m_deadline; // of the run, then of the grace
    std::size_t m_written = 0;
    std::string m_line;
    descriptor m_process;
    descriptor m_input;
    descriptor m_output;
    descriptor m_errors;
    descriptor m_progress;
    program_end m_end;
};

bool is_program(const std::string &path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

} // namespace

std::optional<std::string> find_program(const std::string &name) {
    if (name.find('/') != std::string::npos)
        return is_program(name) ? std::optional{name} : std::nullopt;
    const char *path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody changes the environment
    std::string_view folders = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
    while (!name.empty()) {
        const std::size_t colon = folders.find(':');
        const std::string_view folder = folders.substr(0, colon);
        std::string candidate = std::string{folder.empty() ? "." : folder} + "/" + name;
        if (is_program(candidate))
            return candidate;
        if (colon == std::string_view::npos)
            break;
        folders.remove_prefix(colon + 1);
    }
    return std::nullopt;
}

std::vector<std::string> command_words(const std::string &command_line) {
    const bool plain = std::all_of(command_line.begin(), command_line.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::strchr("_./,:@%+=- \t", c) != nullptr;
    });
    if (plain) {
        std::vector<std::string> words;
        std::size_t begin = 0;
        while ((begin = command_line.find_first_not_of(" \t", begin)) != std::string::npos) {
            const std::size_t end = std::min(command_line.find_first_of(" \t", begin), command_line.size());
            words.push_back(command_line.substr(begin, end - begin));
            begin = end;
        }
        // Assignments and built-in commands of the shell are not programs.
        if (!words.empty() && words[0].find('=') == std::string::npos)
            if (auto path = find_program(words[0])) {
                words[0] = std::move(*path);
                return words;
            }
    }
    return {"/bin/sh", "-c", command_line};
}

stopper::stopper() : m_descriptor{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (m_descriptor < 0)
        system_failure("could not create an event descriptor");
}

stopper::~stopper() { close(m_descriptor); }

// NOLINTNEXTLINE(readability-make-member-function-const): it changes what it stands for
void stopper::stop() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(m_descriptor, &one, sizeof one);
}

// NOLINTNEXTLINE(readability-make-member-function-const): the same
void stopper::reset() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(m_descriptor, &count, sizeof count);
}

program_end run_program(const program_options &options, const stopper &stop) {
    program_end end = program_run{options, stop}();
    if (end.error_tail.size() > options.max_error_tail)
        end.error_tail.erase(0, end.error_tail.size() - options.max_error_tail);
    return end;
}

void reserve_descriptors() {
    // A closed one stays unusable: reading from 0, or writing to 1 or 2, is an error.
    for (int fd = 0; fd <= k_progress_descriptor; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    fcntl(k_progress_descriptor, F_SETFD, FD_CLOEXEC);
    // Programs do not inherit further descriptors.
    close_range(k_progress_descriptor + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

} // namespace scylla::cli
