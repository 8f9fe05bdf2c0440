// A connection that breaks at each step of the protocol, by a proxy that cuts it.
#include <scylla/scylla.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "environment.h"
#include "folder.h"

using namespace scylla;
using namespace scylla_test;
using namespace std::chrono_literals;

namespace {

// Listens on a socket of its own and passes on data, chunk by chunk, until it cuts.
class Proxy {
public:
    enum class cut_mode {
        before, // the chunk is lost
        middle, // half of it arrives
        after,  // it arrives, and nothing after it
    };

    // cut_at: the number of the chunk, of all connections and both directions; 0: never.
    Proxy(const std::string &folder_path, std::size_t cut_at, cut_mode mode) : m_cut_at{cut_at}, m_mode{mode} {
        pqxx::connection server{""};
        m_server = address_of(ask(server, "select split_part(current_setting('unix_socket_directories'), ',', 1)") +
                              "/.s.PGSQL." + ask(server, "show port"));
        const sockaddr_un here = address_of(folder_path + "/.s.PGSQL.1");
        m_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        unlink(here.sun_path);
        if (bind(m_listener, reinterpret_cast<const sockaddr *>(&here), sizeof here) != 0 ||
            listen(m_listener, 20) != 0)
            throw std::runtime_error{std::string{"proxy: "} + std::strerror(errno)};
        m_thread = std::thread{[this] { serve(); }};
    }
    ~Proxy() {
        m_stop = true;
        shutdown(m_listener, SHUT_RDWR);
        m_thread.join();
        close(m_listener);
        for (std::thread &thread : m_threads)
            thread.join();
    }
    Proxy(const Proxy &) = delete;
    Proxy &operator=(const Proxy &) = delete;

    [[nodiscard]] std::size_t chunks() const { return m_chunks; }
    // From now on nothing passes, and no connection ends, like a server that hangs.
    void hold() { m_hold = true; }

private:
    static sockaddr_un address_of(const std::string &path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path)
            throw std::runtime_error{"too long for a socket: " + path};
        std::memcpy(address.sun_path, path.c_str(), path.size());
        return address;
    }

    void serve() {
        while (!m_stop) {
            const int client = accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0)
                continue;
            const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(server, reinterpret_cast<const sockaddr *>(&m_server), sizeof m_server) != 0) {
                close(client);
                close(server);
                continue;
            }
            m_threads.emplace_back([this, client, server] { pass_on(client, server); });
        }
    }

    void pass_on(int client, int server) {
        std::vector<char> buffer(65536);
        pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        bool open = true;
        while (open && !m_stop) {
            if (m_hold) {
                std::this_thread::sleep_for(5ms);
                continue;
            }
            if (poll(ends, 2, 50) <= 0)
                continue;
            for (int i = 0; i < 2 && open; i++) {
                if (ends[i].revents == 0)
                    continue;
                const ssize_t got = recv(ends[i].fd, buffer.data(), buffer.size(), 0);
                std::size_t size = got > 0 ? static_cast<std::size_t>(got) : 0;
                if (size == 0) {
                    open = false;
                } else if (++m_chunks == m_cut_at) {
                    open = false;
                    size = m_mode == cut_mode::before ? 0 : m_mode == cut_mode::middle ? size / 2 : size;
                }
                if (size > 0 && send(ends[1 - i].fd, buffer.data(), size, MSG_NOSIGNAL) < 0)
                    open = false;
            }
        }
        close(client);
        close(server);
    }

    const std::size_t m_cut_at;
    const cut_mode m_mode;
    sockaddr_un m_server{};
    int m_listener = -1;
    std::atomic<bool> m_stop{false}, m_hold{false};
    std::atomic<std::size_t> m_chunks{0};
    std::thread m_thread;
    std::vector<std::thread> m_threads;
};

// A few tasks, through the proxy. Returns how many chunks passed until all was done.
std::size_t work_through(std::size_t cut_at, Proxy::cut_mode mode, bool exactly_once) {
    SCOPED_TRACE("cut at " + std::to_string(cut_at) + ", mode " + std::to_string(static_cast<int>(mode)));
    Folder folder;
    const queue_name queue{unique("proxy")};
    pqxx::connection connection{""};
    client c{connection};
    Proxy proxy{folder.file(""), cut_at, mode};
    c.submit_bulk(queue, {"1", "2", "3"});

    std::vector<std::string> log;
    worker_options options;
    options.conninfo = "host=" + folder.file("") + " port=1 dbname=" + ask(connection, "select current_database()");
    options.queues = {queue};
    options.concurrency = 2;
    options.lease_timeout = 3s;
    options.reconnect_min = 1ms;
    options.reconnect_max = 20ms;
    options.log = [&](const log_entry &entry) { // one at a time
        log.push_back(std::string{entry.event} + ' ' + (entry.rn ? entry.rn->str() : "") + ' ' + entry.message);
    };
    worker w{options, [](job &j) -> outcome {
                 if (j.spec().text() == "2")
                     return outcome::complete(json{"2"}, json{"{}"});
                 if (j.spec().text() == "3")
                     return outcome::abort({"three", ""});
                 return json{"1"};
             }};
    std::exception_ptr failure;
    std::thread thread{[&] {
        try {
            w.run();
        } catch (...) {
            failure = std::current_exception();
        }
    }};
    const auto stands = [&](const std::string &condition) {
        return ask(connection, "select count(*) filter (where status in ('completed', 'aborted') and " + condition +
                                   ") = 3 from scylla.task where queue = '" + queue.str() + "'") == "t";
    };
    EXPECT_TRUE(eventually([&] { return stands("true"); }));
    // The worker also knows, whatever answers it got.
    EXPECT_TRUE(eventually([&] { return w.counters().held == 0; }));
    w.stop();
    thread.join();
    EXPECT_EQ(failure, nullptr);
    if (exactly_once) {
        EXPECT_TRUE(stands("attempt = 1 and failures = 0"));
        const worker_counters counters = w.counters();
        EXPECT_EQ(counters.completed, 2u);
        EXPECT_EQ(counters.aborted, 1u);
        EXPECT_EQ(counters.lost, 0u);
    }
    if (::testing::Test::HasFailure())
        for (const std::string &line : log)
            std::cerr << line << '\n';
    return proxy.chunks();
}

TEST(Proxy, WithoutACut) { EXPECT_GT(work_through(0, Proxy::cut_mode::before, true), 20u); }

// Until a run needs fewer chunks than that.
void cut_at_each_step(Proxy::cut_mode mode, bool exactly_once) {
    std::size_t step = 1;
    while (work_through(step, mode, exactly_once) >= step && !::testing::Test::HasFailure())
        step++;
    EXPECT_GT(step, 20u);
}

// When a chunk is lost, or half of it, the effect on the server is certain by the time that the worker asks.
TEST(Proxy, CutBeforeEachStep) { cut_at_each_step(Proxy::cut_mode::before, true); }
TEST(Proxy, CutInTheMiddleOfEachStep) { cut_at_each_step(Proxy::cut_mode::middle, true); }
// The server may still be working when the worker asks again: then a lease may have to expire.
TEST(Proxy, CutAfterEachStep) { cut_at_each_step(Proxy::cut_mode::after, false); }

// The server stops answering: while the worker waits there, while it has something to send, or before it has connected.
// stop() still returns in time, long before the timeout of any call.
class SilentServer : public ::testing::TestWithParam<std::string> {};

TEST_P(SilentServer, StopIsBounded) {
    Folder folder;
    const queue_name queue{unique("silent")};
    pqxx::connection connection{""};
    client c{connection};
    Proxy proxy{folder.file(""), 0, Proxy::cut_mode::before};
    const std::string what = GetParam();
    worker_options options;
    options.conninfo = "host=" + folder.file("") + " port=1 dbname=" + ask(connection, "select current_database()") +
                       " connect_timeout=3 application_name=" + queue.str();
    options.queues = {queue};
    options.concurrency = 2;
    options.prefetch = 10;
    options.lease_timeout = 60s;
    options.stop_grace = 200ms;
    options.call_timeout = 60s;
    std::atomic<bool> go{false};
    auto w = std::make_unique<worker>(options, [&](job &j) {
        while (!go && !j.stop_requested())
            j.stop().wait_for(5ms);
    });
    if (what == "connecting")
        proxy.hold();
    if (what == "finishing")
        c.submit_bulk(queue, std::vector<json>(20, json{"1"}));
    std::size_t abandoned = 9;
    std::atomic<bool> returned{false};
    std::thread thread{[&] {
        abandoned = w->run();
        returned = true;
    }};
    if (what == "waiting") {
        EXPECT_TRUE(eventually([&] {
            return ask(connection, "select count(*) from pg_stat_activity where application_name = '" + queue.str() +
                                       "' and query like 'call%' and wait_event_type = 'Extension'") == "1";
        }));
        proxy.hold();
    }
    if (what == "finishing") {
        EXPECT_TRUE(eventually([&] { return w->counters().running == 2 && w->counters().held == 12; }));
        proxy.hold();
        go = true;
        EXPECT_TRUE(eventually([&] { return w->counters().running == 0; }));
    }
    w->stop();
    EXPECT_TRUE(eventually([&] { return returned.load(); }, 20s)) << "run() waits for the server";
    thread.join();
    EXPECT_EQ(abandoned, 0u);
    const auto start = std::chrono::steady_clock::now();
    w.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - start, 20s) << "the destructor waits for the server";
}

// The lease expires by the worker's own clock, and the handler is told, although the server never reports it.
TEST(Proxy, HandlersLearnThatNobodyExtendsTheirLease) {
    Folder folder;
    const queue_name queue{unique("overdue")};
    pqxx::connection connection{""};
    client c{connection};
    Proxy proxy{folder.file(""), 0, Proxy::cut_mode::before};
    c.submit(queue, "1");
    worker_options options;
    options.conninfo = "host=" + folder.file("") + " port=1 dbname=" + ask(connection, "select current_database()") +
                       " connect_timeout=2";
    options.queues = {queue};
    options.lease_timeout = 2s;
    options.stop_grace = 0ms;
    std::atomic<int> overdue{0};
    options.log = [&](const log_entry &entry) { overdue += entry.event == "overdue"; };
    std::atomic<stop_reason> reason{stop_reason::none};
    worker w{options, [&](job &j) {
                 EXPECT_TRUE(j.stop().wait_for(30s));
                 reason = j.stop().reason();
             }};
    std::thread thread{[&] { w.run(); }};
    EXPECT_TRUE(eventually([&] { return w.counters().running == 1; }));
    proxy.hold();
    EXPECT_TRUE(eventually([&] { return w.counters().running == 0; }));
    EXPECT_EQ(reason, stop_reason::lease_lost);
    EXPECT_EQ(overdue, 1);
    w.stop();
    thread.join();
}

INSTANTIATE_TEST_SUITE_P(Proxy, SilentServer, ::testing::Values("connecting", "waiting", "finishing"),
                         [](const auto &given) { return given.param; });

} // namespace
