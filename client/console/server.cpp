// console: requests and their answers.
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <httplib.h>
#include <pthread.h>
#include <sys/resource.h>

#include "assets.h"
#include "console.h"
#include "database.h"
#include "doctor.h"
#include "duration.h"
#include "gate.h"
#include "guard.h"
#include "gzip.h"
#include "json_text.h"
#include "looks.h"
#include "pace.h"
#include "powers.h"
#include "pulse.h"
#include "shared_answers.h"
#include "text_file.h"

namespace scylla::cli::console {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t k_threads = 32; // more than there can be listeners
constexpr std::size_t k_machine_threads = 4;
constexpr std::size_t k_machine_sessions = 2;
constexpr std::size_t k_most_waiting = 1000; // connections whose request has not arrived
constexpr std::size_t k_most_delayed = 32;
constexpr int k_backlog = 1024;
constexpr auto k_request_patience = std::chrono::seconds{10};
constexpr std::size_t k_looking_sessions = 4;
constexpr std::size_t k_acting_sessions = 2;
constexpr std::size_t k_max_body = 65536;
constexpr std::size_t k_worth_compressing = 1000; // bytes
constexpr auto k_examination_fresh = std::chrono::seconds{20};
constexpr auto k_powers_fresh = std::chrono::seconds{2};
constexpr auto k_wrong_password_delay = milliseconds{300};

constexpr const char *k_json = "application/json";

// Paths of pages; app.js knows what each shows.
constexpr const char *k_pages[] = {"/",          "/queue",    "/task",       "/plans",  "/plan",
                                   "/pools",     "/jobs",     "/conditions", "/errors", "/schedules",
                                   "/workflows", "/workflow", "/run",        "/step",   "/template"};

// Only our own files are loaded, pages contain no scripts, and no text becomes elements.
httplib::Headers headers_of_all() {
    return {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action "
         "'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"}};
}

std::string error_json(const failure &error) {
    const auto or_null = [](const std::string &text) { return text.empty() ? "null" : quote(text); };
    return "{\"error\": " + quote(error.what()) + ", \"detail\": " + or_null(error.detail()) +
           ", \"hint\": " + or_null(error.hint()) + ", \"sqlstate\": " + or_null(error.sqlstate()) + "}";
}

int status_of(const failure &error) {
    const std::string &state = error.sqlstate();
    if (state == "42501" || state == "25006")
        return 403;
    if (state == "P0002" || state == "42704")
        return 404;
    if (state == "55000" || state.starts_with("23"))
        return 409;
    if (state.starts_with("22"))
        return 400;
    if (state == "08006")
        return 503;
    return state == "57014" ? 504 : 500;
}

void refuse(httplib::Response &response, int status, const std::string &why) {
    response.status = status;
    response.set_content("{\"error\": " + quote(why) + "}", k_json);
}

using shared_text = std::shared_ptr<const std::string>;

// Of a size that is known before, so httplib does not compress it: it would choose Brotli at its highest quality, which
// takes a third of a second for the script of the pages.
void send(httplib::Response &response, shared_text body, const std::string &type) {
    const std::size_t size = body->size();
    response.set_content_provider(
        size, type, [body = std::move(body)](std::size_t offset, std::size_t length, httplib::DataSink &sink) {
            return sink.write(body->data() + offset, length);
        });
}

void send_compressed(httplib::Response &response, shared_text compressed, const std::string &type) {
    response.set_header("Content-Encoding", "gzip");
    send(response, std::move(compressed), type);
}

bool reads_gzip(const httplib::Request &request) { return takes_gzip(request.get_header_value("Accept-Encoding")); }

void send_text(const httplib::Request &request, httplib::Response &response, std::string text,
               const std::string &type) {
    if (text.size() < k_worth_compressing)
        return response.set_content(text, type);
    response.set_header("Vary", "Accept-Encoding");
    if (reads_gzip(request))
        send_compressed(response, std::make_shared<std::string>(gzip(text, effort::least)), type);
    else
        send(response, std::make_shared<std::string>(std::move(text)), type);
}

// An event of server-sent events: line breaks of JSON are blanks.
std::string event(const char *name, std::string json) {
    for (char &c : json)
        if (c == '\n' || c == '\r')
            c = ' ';
    return std::string{"event: "} + name + "\ndata: " + json + "\n\n";
}

void log(const std::string &line) {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char time[32];
    std::strftime(time, sizeof time, "%FT%TZ", &utc);
    std::cerr << std::string{time} + " scylla console: " + line + "\n";
}

// Counts as a listener of the pulse for as long as it lives.
class listener {
public:
    explicit listener(pulse &of) : m_pulse{of} {}
    ~listener() { m_pulse.leave(); }
    listener(const listener &) = delete;
    listener &operator=(const listener &) = delete;
    bool send_next(httplib::DataSink &sink) {
        const auto next = m_pulse.next(m_last);
        if (!next)
            return false;
        m_last = next->number;
        return sink.write(next->text.data(), next->text.size());
    }

private:
    pulse &m_pulse;
    std::size_t m_last = 0;
};

// httplib accepts connections, and serves each in a thread from its first byte on. Here the entrance accepts them, the
// gate waits until the request has arrived, and the routes serve it. Only a private function of httplib serves a
// connection; an explicit instantiation may name it.
template <auto function> struct opened {
    friend void serve_connection(httplib::Server &server, int socket) { (server.*function)(socket); }
};
void serve_connection(httplib::Server &server, int socket);
template struct opened<&httplib::Server::process_and_close_socket>;

// Ends its threads with itself.
class pool {
public:
    explicit pool(std::size_t threads) : m_threads{threads} {}
    ~pool() { m_threads.shutdown(); }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    void run(std::function<void()> function) { m_threads.enqueue(std::move(function)); }

private:
    httplib::ThreadPool m_threads;
};

class routes : public httplib::Server {
public:
    // Its threads end when the socket that it seems to listen on is invalid.
    void open(int listening) { svr_sock_ = listening; }
    void close() { svr_sock_ = INVALID_SOCKET; }
};

class entrance : public httplib::Server {
public:
    explicit entrance(std::function<void(int socket)> admit) : m_admit{std::move(admit)} {
        new_task_queue = [] { return new httplib::ThreadPool(1); };
    }
    // httplib's own queue of connections that it has not accepted yet is short.
    int listen_longer() {
        ::listen(svr_sock_, k_backlog);
        return svr_sock_;
    }

private:
    bool process_and_close_socket(socket_t socket) override {
        m_admit(socket);
        return true;
    }
    std::function<void(int socket)> m_admit;
};

struct settings {
    address where;
    milliseconds interval;
    bool read_only;
    std::string conninfo;
    std::string role;
    std::string database;
    std::string powers; // the latest answer
};

class server {
public:
    server(settings given, guard who)
        : m_settings{std::move(given)}, m_guard{std::move(who)}, m_looking{m_settings.conninfo, sessions::use::looking,
                                                                           k_looking_sessions},
          m_acting{m_settings.conninfo, sessions::use::acting, k_acting_sessions},
          m_for_machines{m_settings.conninfo, sessions::use::looking, k_machine_sessions},
          m_pulse{m_settings.interval, [this] { return beat(); }}, m_threads{k_threads},
          m_machine_threads{k_machine_threads}, m_gate{gate_rules()}, m_entrance{
                                                                          [this](int socket) { m_gate.add(socket); }} {
        m_http.set_payload_max_length(k_max_body);
        m_http.set_keep_alive_max_count(
            1); // the next request of a connection would hold a thread before it has arrived
        m_entrance.set_tcp_nodelay(true);
        // Not SO_REUSEPORT: two consoles on one port would share their visitors.
        m_entrance.set_socket_options([](auto socket) {
            const int on = 1;
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        });
        m_http.set_default_headers(headers_of_all());
        m_http.set_pre_routing_handler(
            [this](const httplib::Request &request, httplib::Response &response) { return admit(request, response); });
        add_assets();
        add_looks();
        add_changes();
        add_for_machines();
    }

    // Prints its address, serves until the function returns, and ends.
    template <class Function> void serve(Function until) {
        if (!bind())
            throw failure{"cannot listen on " + m_settings.where.host + " port " +
                          std::to_string(m_settings.where.port) + ": " + std::generic_category().message(errno)};
        const bool is_ipv6 = m_settings.where.host.find(':') != std::string::npos;
        std::cout << "scylla: console at http://" << (is_ipv6 ? "[" : "") << m_settings.where.host
                  << (is_ipv6 ? "]:" : ":") << m_settings.where.port << "/" << std::endl;
        if (!std::cout)
            throw failure{"could not write to standard output"};
        m_http.open(m_entrance.listen_longer());
        std::thread listening{[this] { m_entrance.listen_after_bind(); }};
        while (!m_entrance.is_running()) // before that it cannot be stopped
            std::this_thread::sleep_for(milliseconds{1});
        until();
        m_pulse.stop();
        m_entrance.stop();
        listening.join();
        m_gate.stop();
        m_http.close();
    }

private:
    bool bind() {
        if (m_settings.where.port != 0)
            return m_entrance.bind_to_port(m_settings.where.host, m_settings.where.port);
        m_settings.where.port = m_entrance.bind_to_any_port(m_settings.where.host);
        return m_settings.where.port > 0;
    }

    gate::rules gate_rules() {
        gate::rules rules;
        rules.most = k_most_waiting;
        rules.most_delayed = k_most_delayed;
        rules.largest = k_max_body + 16384; // with the head
        rules.patience = k_request_patience;
        rules.delay = [this](const request_head &head) {
            const std::string given{head.header("authorization")};
            return given.empty() || head.path() == "/health" || m_guard.knows_password(given) ? milliseconds{0}
                                                                                              : k_wrong_password_delay;
        };
        rules.arrived = [this](int socket, const request_head &head) {
            const bool is_machine = head.path() == "/health" || head.path() == "/metrics";
            (is_machine ? m_machine_threads : m_threads).run([this, socket] { serve_connection(m_http, socket); });
        };
        return rules;
    }

    httplib::Server::HandlerResponse admit(const httplib::Request &request, httplib::Response &response) {
        using result = httplib::Server::HandlerResponse;
        if (!m_guard.knows_host(request.get_header_value("Host"))) {
            refuse(response, 421, "this name is not one of the console's: see --allow-host");
            return result::Handled;
        }
        if (request.path != "/health" && !m_guard.knows_password(request.get_header_value("Authorization"))) {
            response.set_header("WWW-Authenticate", "Basic realm=\"Scylla\", charset=\"UTF-8\"");
            refuse(response, 401, "the password is needed");
            return result::Handled;
        }
        if (request.has_header("Transfer-Encoding")) { // it could hold a thread for as long as it likes
            refuse(response, 411, "a body needs a Content-Length");
            return result::Handled;
        }
        return result::Unhandled;
    }

    void add_assets() {
        for (const asset &each : assets()) {
            const auto whole = std::make_shared<std::string>(each.content);
            const auto compressed = std::make_shared<std::string>(gzip(each.content, effort::most));
            const auto answer = [&each, whole, compressed](const httplib::Request &request,
                                                           httplib::Response &response) {
                response.set_header("ETag", std::string{each.tag});
                response.set_header("Cache-Control", "no-cache");
                response.set_header("Vary", "Accept-Encoding");
                if (request.get_header_value("If-None-Match") == each.tag)
                    response.status = 304;
                else if (reads_gzip(request))
                    send_compressed(response, compressed, std::string{each.type});
                else
                    send(response, whole, std::string{each.type});
            };
            m_http.Get(std::string{each.path}, answer);
            if (each.path == "/index.html")
                for (const char *page : k_pages)
                    m_http.Get(page, answer);
        }
    }

    void add_looks() {
        for (const look &each : looks())
            add_get(std::string{"/api/"} + each.name,
                    [this, &each](const httplib::Request &request) { return answer_look(each, request); });
        add_get("/api/session", [this](const httplib::Request &) { return describe_session(); });
        add_get("/api/doctor", [this](const httplib::Request &) {
            return m_answers.get("doctor", k_examination_fresh, [this] { return examine_server(); });
        });
        m_http.Get("/api/live", [this](const httplib::Request &, httplib::Response &response) {
            if (!m_pulse.join())
                return refuse(response, 503, "too many pages are open");
            response.set_header("Cache-Control", "no-store");
            response.set_header("X-Accel-Buffering", "no"); // nginx
            response.set_chunked_content_provider(
                "text/event-stream", [one = std::make_shared<listener>(m_pulse)](std::size_t, httplib::DataSink &sink) {
                    return one->send_next(sink);
                });
        });
    }

    void add_changes() {
        for (const change &each : changes())
            add_change(each.name, [this, &each](const std::string &body) { return run_change(each, body); });
    }

    // A pause after a portion is made here: browsers slow the timers of hidden pages down.
    std::string run_change(const change &wanted, const std::string &body) {
        const auto begin = std::chrono::steady_clock::now();
        std::string done = m_acting.ask(wanted.sql, {body});
        if (wanted.is_portion)
            pause_after_portion(begin);
        return done;
    }

    void add_for_machines() {
        m_http.Get("/health", [this](const httplib::Request &, httplib::Response &response) {
            try {
                m_answers.get("health", milliseconds{500}, [this] { return m_for_machines.ask("select 1"); });
                response.set_content("ok\n", "text/plain");
            } catch (const failure &error) {
                response.status = 503;
                response.set_content(std::string{error.what()} + "\n", "text/plain; charset=utf-8");
            }
        });
        m_http.Get("/metrics", [this](const httplib::Request &request, httplib::Response &response) {
            answer(request, response, "application/openmetrics-text; version=1.0.0; charset=utf-8", [this] {
                return m_answers.get("metrics", milliseconds{1000},
                                     [this] { return m_for_machines.ask("select scylla.metrics()"); });
            });
        });
    }

    template <class Function> void add_get(const std::string &path, Function function) {
        m_http.Get(path, [function](const httplib::Request &request, httplib::Response &response) {
            answer(request, response, k_json, [&] { return function(request); });
        });
    }

    // Answers with the result of the function, or the error that it throws.
    template <class Function>
    static void answer(const httplib::Request &request, httplib::Response &response, const char *type,
                       Function function) {
        response.set_header("Cache-Control", "no-store");
        try {
            send_text(request, response, function(), type);
        } catch (const failure &error) {
            response.status = status_of(error);
            response.set_content(error_json(error), k_json);
        } catch (const std::exception &error) {
            refuse(response, 500, error.what());
        }
    }

    std::string answer_look(const look &wanted, const httplib::Request &request) {
        std::vector<value> parameters;
        std::string question = wanted.name;
        for (const char *name : wanted.parameters) {
            const std::string given = request.get_param_value(name);
            if (given.find('\0') != std::string::npos || to_utf8(given) != given)
                throw failure{std::string{name} + " is no text", {}, {}, "22021"};
            question += '\0' + given;
            parameters.push_back(given.empty() ? value{} : value{given});
        }
        return m_answers.get(question, wanted.fresh, [&] { return m_looking.ask(wanted.sql, parameters); });
    }

    // What the role may do; while the database does not answer, what it could do before.
    std::string find_powers() {
        try {
            std::string found =
                m_answers.get("powers", k_powers_fresh, [this] { return m_looking.ask(m_powers_query); });
            const std::lock_guard lock{m_powers_mutex};
            m_settings.powers = std::move(found);
        } catch (const lost &) {
        }
        const std::lock_guard lock{m_powers_mutex};
        return m_settings.powers;
    }

    [[nodiscard]] std::string describe_session() {
        return "{\"role\": " + quote(m_settings.role) + ", \"database\": " + quote(m_settings.database) +
               ", \"read_only\": " + (m_settings.read_only ? "true" : "false") +
               ", \"token\": " + quote(m_settings.read_only ? "" : m_guard.token()) + ", \"powers\": " + find_powers() +
               ", \"interval\": " + std::to_string(m_settings.interval.count()) + "}";
    }

    std::string examine_server() {
        return m_looking.with_session([](session &one) {
            doctor_options options;
            options.skip_check = true; // it reads every task
            return to_json(examine(one, options));
        });
    }

    // By the first of the queries that the role may ask. Which one that is is found out once a minute: the server logs
    // what it refuses.
    std::string ask_pulse() {
        const std::array k_queries{k_pulse, k_small_pulse, k_least_pulse};
        const auto now = std::chrono::steady_clock::now();
        if (now - m_pulse_chosen > std::chrono::minutes{1}) {
            m_pulse_query = 0;
            m_pulse_chosen = now;
        }
        for (;; m_pulse_query++)
            try {
                return m_looking.ask(k_queries.at(m_pulse_query));
            } catch (const failure &error) {
                if (error.sqlstate() != "42501" || m_pulse_query + 1 == k_queries.size())
                    throw;
            }
    }

    std::string beat() noexcept {
        try {
            return event("pulse", ask_pulse());
        } catch (const failure &error) {
            return event("trouble", error_json(error));
        } catch (const std::exception &error) {
            return event("trouble", "{\"error\": " + quote(error.what()) + "}");
        }
    }

    // The function gets the body of the request, and returns the answer.
    template <class Function> void add_change(const std::string &name, Function function) {
        m_http.Post("/api/do/" + name,
                    [this, name, function](const httplib::Request &request, httplib::Response &response) {
                        carry_out(name, function, request, response);
                    });
    }

    template <class Function>
    void carry_out(const std::string &name, const Function &function, const httplib::Request &request,
                   httplib::Response &response) {
        const std::string what = "role " + quote(m_settings.role) + " from " + request.remote_addr + ": " + name + " ";
        if (m_settings.read_only)
            return refuse(response, 403, "this console is read-only");
        const claim asked{request.get_header_value("Host"), request.get_header_value("Authorization"),
                          request.get_header_value("Origin"), request.get_header_value("Sec-Fetch-Site"),
                          request.get_header_value("X-Scylla-Token")};
        if (!m_guard.is_ours(asked)) {
            log(what + "refused: it does not come from a page of this console");
            return refuse(response, 403, "the token of this page is no longer valid: reload it");
        }
        if (!request.get_header_value("Content-Type").starts_with(k_json) || !is_jsonb(request.body))
            return refuse(response, 400, "the body of the request is not JSON");
        answer(request, response, k_json, [&] {
            const std::string body = quote(request.body); // always one line
            try {
                std::string done = function(request.body);
                m_answers.forget();
                log(what + body + ": done");
                return done;
            } catch (const failure &error) {
                m_answers.forget();
                log(what + body + ": " + quote(error.what()));
                throw;
            }
        });
    }

    settings m_settings;
    guard m_guard;
    sessions m_looking;
    sessions m_acting;
    sessions m_for_machines;
    shared_answers m_answers;
    const std::string m_powers_query = powers_query();
    std::mutex m_powers_mutex;
    std::size_t m_pulse_query = 0; // the first that the role may ask, as far as is known
    std::chrono::steady_clock::time_point m_pulse_chosen{};
    pulse m_pulse;
    routes m_http;
    pool m_threads;
    pool m_machine_threads;
    gate m_gate;
    entrance m_entrance;
};

// Each connection takes a descriptor.
void raise_limit_of_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 4096) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

maybe_text password_of(const console_options &options) {
    maybe_text password;
    if (options.password_file) {
        password = read_all(*options.password_file);
        password->erase(std::min(password->find_first_of("\r\n"), password->size()));
    } else if (const char *given =
                   std::getenv("SCYLLA_CONSOLE_PASSWORD")) // NOLINT(concurrency-mt-unsafe): no thread yet
        password = given;
    if (password && password->empty())
        throw usage_failure{"the password of the console is empty"};
    return password;
}

settings settings_of(const context &given, const console_options &options) {
    session server{given.connection}; // a wrong connection is an error now, and so is a database without the extension
    server.query("select 'scylla'::regnamespace");
    return {to_address(options.listen),
            to_duration("--interval", options.interval),
            options.read_only,
            server.conninfo(),
            server.ask("select current_user").value_or(""),
            server.database(),
            server.ask(powers_query()).value_or("")};
}

} // namespace

} // namespace scylla::cli::console

namespace scylla::cli {

int serve_console(const context &given, const console_options &options) {
    const console::address where = console::to_address(options.listen);
    maybe_text password = console::password_of(options);
    if (!console::is_loopback(where.host) && !password && !options.read_only)
        throw usage_failure{"others could reach " + options.listen + " and change tasks",
                            {},
                            "Set a password (--password-file, SCYLLA_CONSOLE_PASSWORD), or use --read-only."};
    console::raise_limit_of_descriptors();
    // Threads that are made from here on leave these signals to this one.
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_IGN)
            sigaddset(&ending, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    std::vector<std::string> hosts = options.allowed_hosts;
    hosts.push_back(where.host);
    console::server server{console::settings_of(given, options), console::guard{std::move(hosts), std::move(password)}};
    server.serve([&] {
        int signal = 0;
        sigwait(&ending, &signal);
    });
    return 0;
}

} // namespace scylla::cli
