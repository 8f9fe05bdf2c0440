// How fast the worker runtime processes tasks that take no time: client_rate WORKERS BATCH SECONDS, on a queue "bench"
// that has enough of them. Each worker has one handler thread; no call is for more than BATCH tasks. Prints tasks per
// second, and how many one call leased on average.
#include <scylla/scylla.h>

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <memory>
#include <thread>

namespace {

using worker_list = std::vector<std::unique_ptr<scylla::worker>>;

scylla::worker_counters sum(const worker_list &workers) {
    scylla::worker_counters all;
    for (const auto &worker : workers) {
        const scylla::worker_counters counters = worker->counters();
        all.completed += counters.completed;
        all.leased += counters.leased;
        all.calls += counters.calls;
    }
    return all;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    scylla::worker_options options;
    options.queues = {"bench"};
    options.max_batch = static_cast<std::size_t>(std::atoi(argv[2]));
    options.prefetch = 2 * options.max_batch - 1; // one batch is processed while the other is sent
    worker_list workers;
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(argv[1]); i++)
        workers.push_back(std::make_unique<scylla::worker>(options, [](scylla::job &) {}));
    for (const auto &worker : workers)
        threads.emplace_back([&worker] { worker->run(); });
    while (sum(workers).completed == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    const auto before = sum(workers);
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::seconds{std::atoi(argv[3])});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const auto after = sum(workers);
    for (const auto &worker : workers)
        worker->stop();
    for (std::thread &thread : threads)
        thread.join();
    std::cout << std::fixed << std::setprecision(0)
              << static_cast<double>(after.completed - before.completed) / took.count() << std::setprecision(1) << ' '
              << static_cast<double>(after.leased - before.leased) / static_cast<double>(after.calls - before.calls)
              << '\n';
}
