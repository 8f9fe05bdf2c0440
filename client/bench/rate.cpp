// How fast the worker runtime goes through tasks that take no time: client_rate WORKERS BATCH SECONDS, on a queue "bench" that
// has enough of them. Each worker has one handler thread and holds up to BATCH tasks. Prints tasks per second.
#include <scylla/scylla.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    scylla::worker_options options;
    options.queues = {"bench"};
    options.concurrency = 1;
    options.prefetch = static_cast<std::size_t>(std::atoi(argv[2])) - 1;
    std::vector<std::unique_ptr<scylla::worker>> workers;
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(argv[1]); i++)
        workers.push_back(std::make_unique<scylla::worker>(options, [](scylla::job &) {}));
    for (const auto &worker : workers)
        threads.emplace_back([&worker] { worker->run(); });
    const auto done = [&] {
        std::uint64_t sum = 0;
        for (const auto &worker : workers)
            sum += worker->counters().completed;
        return sum;
    };
    while (done() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    const auto before = done();
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::seconds{std::atoi(argv[3])});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const auto completed = done() - before;
    for (const auto &worker : workers)
        worker->stop();
    for (std::thread &thread : threads)
        thread.join();
    std::cout << static_cast<std::uint64_t>(static_cast<double>(completed) / took.count()) << '\n';
}
