#include "guard.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <sys/random.h>

#include "session.h"

namespace scylla::cli::console {

namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

// The name of "name:8450"; of "[::1]:8450" what is in the brackets.
std::string host_of(const std::string &header) {
    if (header.starts_with('['))
        return lower(header.substr(1, header.find(']') - 1));
    return lower(header.substr(0, header.find(':')));
}

bool is_numeric(const std::string &host) {
    in6_addr any{};
    return inet_pton(AF_INET, host.c_str(), &any) == 1 || inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// Takes the same time for every text of this length.
bool same(const std::string &a, const std::string &b) {
    unsigned char difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size() && !b.empty(); i++)
        difference = static_cast<unsigned char>(difference | (a[i] ^ b[i % b.size()]));
    return difference == 0 && a.size() == b.size();
}

std::string from_base64(const std::string &text) {
    static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    unsigned bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string::npos)
            break;
        bits = (bits << 6U | static_cast<unsigned>(digit)) & 0xffffffU;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
        }
    }
    return bytes;
}

std::string random_token() {
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        throw std::system_error{errno, std::generic_category(), "getrandom"};
    std::string text;
    for (const unsigned char byte : bytes) {
        text += "0123456789abcdef"[byte >> 4U];
        text += "0123456789abcdef"[byte & 15U];
    }
    return text;
}

} // namespace

address to_address(const std::string &given) {
    const std::size_t colon = given.rfind(':');
    address parsed;
    if (colon != std::string::npos) {
        parsed.host = given.substr(0, colon);
        if (parsed.host.size() > 2 && parsed.host.front() == '[' && parsed.host.back() == ']')
            parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
        const char *end = given.data() + given.size();
        const auto [rest, error] = std::from_chars(given.data() + colon + 1, end, parsed.port);
        if (error == std::errc{} && rest == end && parsed.port >= 0 && parsed.port <= 65535 && !parsed.host.empty())
            return parsed;
    }
    throw usage_failure{
        "\"" + given + "\" is no address to listen on", {}, "Write ADDRESS:PORT, for example 127.0.0.1:8450."};
}

bool is_loopback(const std::string &host) {
    return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_numeric(host));
}

guard::guard(std::vector<std::string> hosts, std::optional<std::string> password)
    : m_hosts{std::move(hosts)}, m_password{std::move(password)}, m_token{random_token()} {
    m_hosts.emplace_back("localhost");
    for (std::string &host : m_hosts)
        host = host_of(host);
}

bool guard::knows_host(const std::string &header) const {
    const std::string host = host_of(header);
    return is_numeric(host) || std::find(m_hosts.begin(), m_hosts.end(), host) != m_hosts.end();
}

bool guard::knows_password(const std::string &authorization) const {
    if (!m_password)
        return true;
    if (!authorization.starts_with("Basic "))
        return false;
    const std::string given = from_base64(authorization.substr(6));
    const std::size_t colon = given.find(':');
    return colon != std::string::npos && same(given.substr(colon + 1), *m_password);
}

bool guard::is_ours(const claim &asked) const {
    const bool same_site = asked.fetch_site.empty() || asked.fetch_site == "same-origin" || asked.fetch_site == "none";
    const std::size_t scheme = asked.origin.find("://");
    const bool same_origin = asked.origin.empty() || (scheme != std::string::npos &&
                                                      lower(asked.origin.substr(scheme + 3)) == lower(asked.host));
    return same_site && same_origin && same(asked.token, m_token);
}

} // namespace scylla::cli::console
