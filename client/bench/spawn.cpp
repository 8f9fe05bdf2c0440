// The rate of fork and exec alone: client_spawn THREADS COUNT PROGRAM starts a program COUNT times, waits for each, and
// prints how many per second.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const int width = std::atoi(argv[1]);
    const int count = std::atoi(argv[2]);
    std::atomic<int> started{0};
    std::atomic<int> failures{0};
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(width));
    for (int i = 0; i < width; i++)
        threads.emplace_back([&] {
            while (started++ < count) {
                char *const words[] = {argv[3], nullptr};
                pid_t child = 0;
                int status = 0;
                if (posix_spawn(&child, argv[3], nullptr, nullptr, words, environ) != 0 ||
                    waitpid(child, &status, 0) != child || status != 0)
                    failures++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (failures > 0)
        return 1;
    std::cout << static_cast<int>(count / took.count()) << '\n';
}
