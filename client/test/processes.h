// Workers as processes.
#ifndef SCYLLA_TEST_PROCESSES_H
#define SCYLLA_TEST_PROCESSES_H

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "environment.h"
#include "folder.h"

namespace scylla_test {

class Process {
public:
    explicit Process(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), WORKER_PROGRAM);
        std::vector<char *> pointers;
        for (std::string &argument : arguments)
            pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        m_pid = fork();
        if (m_pid == 0) {
            execv(pointers[0], pointers.data());
            _exit(127);
        }
    }
    ~Process() {
        if (m_pid > 0) {
            kill(m_pid, SIGKILL);
            waitpid(m_pid, nullptr, 0);
        }
    }
    Process(Process &&other) noexcept : m_pid{other.m_pid} { other.m_pid = -1; }
    Process &operator=(Process &&other) noexcept {
        std::swap(m_pid, other.m_pid);
        return *this;
    }

    void send(int signal) const { kill(m_pid, signal); }

    // The exit status when it has ended, 128 + the signal that ended it; -1 if it has not at the deadline.
    int wait(std::chrono::seconds patience = std::chrono::seconds{60}) {
        int status = 0;
        if (!eventually([&] { return waitpid(m_pid, &status, WNOHANG) == m_pid; }, patience))
            return -1;
        m_pid = -1;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

private:
    pid_t m_pid;
};

// Lines of a file.
inline std::vector<std::string> lines(const std::string &path) {
    std::vector<std::string> lines;
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

inline bool logged(const std::string &path, const std::string &event) {
    for (const std::string &line : lines(path))
        if (line.compare(0, event.size() + 1, event + ' ') == 0)
            return true;
    return false;
}

} // namespace scylla_test

#endif
