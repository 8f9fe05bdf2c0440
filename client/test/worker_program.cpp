// A worker as a process of its own, to be killed, stopped and paused:
//
//   client_worker_program NAME QUEUE LEASE-MILLISECONDS CONCURRENCY PREFETCH LOG [GATE]
//
// Events go to LOG, a line each, written at once. With GATE a task takes until that file exists or its handler is told
// to stop for another reason than a missing file.
#include <scylla/scylla.h>

#include <cstdlib>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 7)
        return 2;
    scylla::worker_options options;
    options.name = argv[1];
    options.queues = {argv[2]};
    options.lease_timeout = std::chrono::milliseconds{std::atoi(argv[3])};
    options.concurrency = static_cast<std::size_t>(std::atoi(argv[4]));
    options.prefetch = static_cast<std::size_t>(std::atoi(argv[5]));
    options.reconnect_min = std::chrono::milliseconds{20};
    options.reconnect_max = std::chrono::milliseconds{500};
    // If handlers end by themselves, none may be left running, however slow the machine is.
    options.stop_grace = std::chrono::milliseconds{argc > 7 ? 500 : 30'000};
    const int log = open(argv[6], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    options.log = [log](const scylla::log_entry &entry) {
        const std::string line =
            std::string{entry.event} + ' ' + (entry.rn ? entry.rn->str() : "-") + ' ' + entry.message + '\n';
        if (write(log, line.data(), line.size()) < 0)
            std::_Exit(3);
    };
    const std::string gate = argc > 7 ? argv[7] : "";
    try {
        scylla::worker worker{options, [&](scylla::job &job) -> scylla::json {
                                  while (!gate.empty() && access(gate.c_str(), F_OK) != 0)
                                      job.stop().wait_for(std::chrono::milliseconds{5});
                                  return scylla::json::string(job.worker().str());
                              }};
        worker.stop_on_signals();
        return worker.run() == 0 ? 0 : 4;
    } catch (const std::exception &e) {
        std::cerr << e.what() << '\n';
        return 5;
    }
}
