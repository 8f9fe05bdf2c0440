// Decides who may use the console, and for what.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace scylla::cli::console {

// "127.0.0.1:8450", "[::1]:8450", "name:8450".
struct address {
    std::string host;
    int port = 0;
};
[[nodiscard]] address to_address(const std::string &given);
// Whether only this machine can reach it.
[[nodiscard]] bool is_loopback(const std::string &host);

// The parts of a request that matter here.
struct claim {
    std::string host;          // the header Host
    std::string authorization; // other headers of the request; empty: there is none
    std::string origin;
    std::string fetch_site;
    std::string token;
};

class guard {
public:
    guard(std::vector<std::string> hosts, std::optional<std::string> password);

    // A page of another site reaches us under a name that is not ours (DNS rebinding). Addresses are not names.
    [[nodiscard]] bool knows_host(const std::string &header) const;
    // HTTP's basic authentication, with any name.
    [[nodiscard]] bool knows_password(const std::string &authorization) const;
    // Whether a change is requested by our own pages.
    [[nodiscard]] bool is_ours(const claim &) const;
    [[nodiscard]] const std::string &token() const noexcept { return m_token; }

private:
    std::vector<std::string> m_hosts;
    std::optional<std::string> m_password;
    std::string m_token;
};

} // namespace scylla::cli::console
