#include "gate.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace scylla::cli::console {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view name, std::string_view lower_case) {
    return std::equal(name.begin(), name.end(), lower_case.begin(), lower_case.end(),
                      [](char a, char b) { return lower(a) == b; });
}

int checked(int descriptor) {
    if (descriptor < 0)
        throw std::system_error{errno, std::generic_category(), "could not wait for connections"};
    return descriptor;
}

// Why a request is refused that no thread may be held for; null: it is not.
const char *refusal(const request_head &head, std::size_t received, std::size_t largest) {
    if (!head.is_complete())
        return received == largest ? "431 Request Header Fields Too Large" : nullptr;
    const auto size = head.size();
    if (!size)
        return "400 Bad Request";
    if (*size > largest)
        return "413 Content Too Large";
    // Who expects an answer sends the body after it. Without one clients send it all the same.
    return head.header("expect").empty() ? nullptr : "417 Expectation Failed";
}

} // namespace

request_head::request_head(std::string_view received) : m_text{received}, m_end{received.find("\r\n\r\n")} {
    if (is_complete())
        m_text = m_text.substr(0, m_end + 2);
}

std::string_view request_head::path() const {
    const std::size_t begin = std::min(m_text.find(' ') + 1, m_text.size());
    return m_text.substr(begin, m_text.find_first_of(" ?\r", begin) - begin);
}

std::string_view request_head::header(std::string_view lower_case_name) const {
    std::size_t begin = m_text.find("\r\n");
    while (begin != std::string_view::npos && (begin += 2) < m_text.size()) {
        const std::size_t end = m_text.find("\r\n", begin);
        const std::string_view line = m_text.substr(begin, end - begin);
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && same_name(line.substr(0, colon), lower_case_name)) {
            const std::size_t first = line.find_first_not_of(" \t", colon + 1);
            return first == std::string_view::npos ? std::string_view{} : line.substr(first);
        }
        begin = end;
    }
    return {};
}

std::optional<std::size_t> request_head::size() const {
    std::string_view given = header("content-length");
    given = given.substr(0, given.find_last_not_of(" \t") + 1);
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), length);
    if (!given.empty() && (error != std::errc{} || end != given.data() + given.size()))
        return std::nullopt;
    const std::size_t head = m_end + 4;
    return head + std::min(length, SIZE_MAX - head);
}

gate::gate(rules given)
    : m_rules{std::move(given)}, m_epoll{checked(epoll_create1(EPOLL_CLOEXEC))},
      m_wake{checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))}, m_thread{[this] { run(); }} {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = m_wake;
    epoll_ctl(m_epoll, EPOLL_CTL_ADD, m_wake, &event);
}

gate::~gate() {
    stop();
    m_thread.join();
    close(m_wake);
    close(m_epoll);
}

void gate::add(int socket) {
    // The whole request waits in the kernel. Small segments take more room than their bytes.
    const int room = static_cast<int>(4 * m_rules.largest);
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    const std::lock_guard lock{m_mutex};
    if (m_stopped) {
        close(socket);
        return;
    }
    if (m_visitors.size() >= m_rules.most)
        turn_away(std::min_element(m_visitors.begin(), m_visitors.end(),
                                   [](const auto &a, const auto &b) { return a.second.until < b.second.until; })
                      ->first,
                  "503 Service Unavailable");
    m_visitors[socket] = {clock::now() + m_rules.patience};
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET; // once for each arrival: what has arrived stays unread
    event.data.fd = socket;
    if (epoll_ctl(m_epoll, EPOLL_CTL_ADD, socket, &event) != 0)
        turn_away(socket, "503 Service Unavailable");
}

void gate::stop() {
    const std::lock_guard lock{m_mutex};
    m_stopped = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(m_wake, &one, sizeof one);
    while (!m_visitors.empty())
        turn_away(m_visitors.begin()->first, "503 Service Unavailable");
}

void gate::run() {
    std::string buffer(m_rules.largest, '\0');
    std::array<epoll_event, 64> events{};
    for (;;) {
        const int count = epoll_wait(m_epoll, events.data(), static_cast<int>(events.size()), next_timeout());
        const std::lock_guard lock{m_mutex};
        if (m_stopped)
            return;
        for (int i = 0; i < count; i++)
            look(events[static_cast<std::size_t>(i)].data.fd, buffer);
        expire(buffer);
    }
}

// At most a second: add() makes none shorter than the others.
int gate::next_timeout() {
    const std::lock_guard lock{m_mutex};
    auto next = clock::now() + std::chrono::seconds{1};
    for (const auto &[socket, one] : m_visitors)
        next = std::min(next, one.until);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Looks at what has arrived, and leaves it to be read. With the mutex held.
void gate::look(int socket, std::string &buffer) {
    const auto known = m_visitors.find(socket);
    if (known == m_visitors.end() || known->second.delayed)
        return;
    const ssize_t received = recv(socket, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (received <= 0)
        return turn_away(socket, nullptr); // it has gone
    const request_head head{std::string_view{buffer}.substr(0, static_cast<std::size_t>(received))};
    if (const char *status = refusal(head, static_cast<std::size_t>(received), buffer.size()))
        return turn_away(socket, status);
    if (!head.is_complete() || static_cast<std::size_t>(received) < head.size())
        return;
    const auto delay = m_rules.delay(head);
    if (delay.count() == 0)
        return pass(socket, head);
    if (m_delayed >= m_rules.most_delayed)
        return turn_away(socket, "429 Too Many Requests");
    m_delayed++;
    known->second = {clock::now() + delay, true};
}

void gate::pass(int socket, const request_head &head) {
    epoll_ctl(m_epoll, EPOLL_CTL_DEL, socket, nullptr);
    m_delayed -= m_visitors[socket].delayed ? 1 : 0;
    m_visitors.erase(socket);
    m_rules.arrived(socket, head);
}

// With the mutex held.
void gate::expire(std::string &buffer) {
    const auto now = clock::now();
    std::vector<std::pair<int, bool>> due;
    for (const auto &[socket, one] : m_visitors)
        if (one.until <= now)
            due.emplace_back(socket, one.delayed);
    for (const auto &[socket, delayed] : due) {
        if (!delayed) {
            turn_away(socket, "408 Request Timeout");
            continue;
        }
        const ssize_t received = recv(socket, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
        pass(socket, request_head{
                         std::string_view{buffer}.substr(0, static_cast<std::size_t>(std::max<ssize_t>(received, 0)))});
    }
}

// Null: nobody is there to read an answer. With the mutex held.
void gate::turn_away(int socket, const char *status) {
    m_delayed -= m_visitors[socket].delayed ? 1 : 0;
    m_visitors.erase(socket);
    if (status != nullptr) {
        // What is unread would let the kernel reset the connection before the answer is read.
        std::array<char, 4096> unread{};
        for (int i = 0; i < 64 && recv(socket, unread.data(), unread.size(), MSG_DONTWAIT) > 0; i++) {
        }
        const std::string answer =
            "HTTP/1.1 " + std::string{status} + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        [[maybe_unused]] const auto sent = send(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    close(socket);
}

} // namespace scylla::cli::console
