#include "cli/serve/hardening.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include "server/http/site.hpp"

namespace leasehold::cli {
namespace {

// The leak check of a sanitizer attaches to the process as a debugger does.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

}  // namespace

void protect_memory(const Config& config) {
    if (!config.dumpable && !is_sanitized) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

std::vector<std::string> risks_of(const Config& config) {
    std::vector<std::string> risks;
    if (config.tls_certificate.empty() && !server::is_loopback(config.server.address)) {
        risks.emplace_back(
            "tokens and lock ids travel without TLS: everybody on the network between client and "
            "server can read and use them; give tls_certificate and tls_key, or listen on a "
            "loopback address behind a proxy that speaks TLS");
    }
    if (::geteuid() == 0) {
        risks.emplace_back(
            "the server runs as root, which it does not need: run it as a user of its own, as the "
            "systemd unit does");
    }
    return risks;
}

}  // namespace leasehold::cli
