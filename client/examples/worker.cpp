// A worker in C++, with the library: counts the words of {"text": "..."}.
//
//   PGHOST=... PGDATABASE=... worker QUEUE
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>
#include <scylla/nlohmann.h>
#include <scylla/scylla.h>

static nlohmann::json count_words(scylla::job &job) {
    const auto spec = job.spec().as<nlohmann::json>();
    if (!spec.is_object() || !spec.contains("text") || !spec["text"].is_string())
        throw scylla::abort_task{{"no-text", "there is nothing to count", "{}"}};
    std::istringstream words{spec["text"].get<std::string>()};
    using iterator = std::istream_iterator<std::string>;
    return {{"words", std::distance(iterator{words}, iterator{})}};
}

int main(int argc, char **argv) try {
    if (argc != 2)
        return EXIT_FAILURE;
    scylla::worker_options options;
    options.queues = {argv[1]};
    options.concurrency = 4;
    scylla::worker worker{options, count_words};
    worker.stop_on_signals(); // tasks that it holds then are yielded
    worker.run();
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
}
