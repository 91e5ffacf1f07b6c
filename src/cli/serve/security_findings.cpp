#include "cli/serve/security_findings.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "cli/serve/token_file.hpp"
#include "core/secret_file.hpp"
#include "server/http/site.hpp"
#include "server/transport/tls.hpp"
#include "server_url.hpp"

namespace leasehold::cli {
namespace {

using server::Finding;
using server::Role;
using server::Token;
using server::Verdict;

constexpr std::chrono::days soon{14};

std::chrono::sys_seconds this_second() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// "admin, shop and 3 more"
std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t most = 10;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
        text.append(i == 0 ? "" : ", ").append(names[i]);
    }
    if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
    return text;
}

class SecurityFindings {
public:
    SecurityFindings(const Config& config, const server::ServerOptions& options)
        : config_{config}, options_{options} {}

    [[nodiscard]] std::vector<Finding> examine() && {
        examine_tls();
        examine_tokens();
        examine_limits();
        examine_traces();
        examine_files();
        examine_process();
        return std::move(findings_);
    }

private:
    void add(Verdict verdict, std::string about, std::string text, std::string advice = {}) {
        findings_.push_back({.verdict = verdict,
                             .about = std::move(about),
                             .text = std::move(text),
                             .advice = std::move(advice)});
    }
    // The finding if there is something to name, else that all is well.
    void add_if(const std::vector<std::string>& names, std::string about, const std::string& text,
                std::string advice, std::string otherwise) {
        if (names.empty()) {
            if (!otherwise.empty()) add(Verdict::ok, std::move(about), std::move(otherwise));
            return;
        }
        add(Verdict::warning, std::move(about), text + some_of(names), std::move(advice));
    }

    void examine_tls() {
        if (!options_.identity) {
            if (server::is_loopback(config_.server.address)) {
                return add(Verdict::ok, "tls",
                           "the server listens without TLS, on a loopback address only");
            }
            return add(Verdict::problem, "tls",
                       "tokens and lock ids travel without TLS on " + config_.server.address,
                       "give tls_certificate and tls_key");
        }
        const auto until = options_.identity->valid_until();
        if (until < this_second() + soon) {
            return add(Verdict::warning, "tls", "the certificate expires at " + date_time(until),
                       "replace the files and send SIGHUP to the server");
        }
        add(Verdict::ok, "tls",
            std::string{"the server speaks TLS; its certificate is valid until "} +
                date_time(until) +
                (config_.tls_client_ca.empty() ? "" : "; clients may show certificates"));
    }

    template <class Condition>
    [[nodiscard]] std::vector<std::string> tokens_that(Condition condition) const {
        std::vector<std::string> names;
        for (const Token& token : options_.tokens->entries()) {
            if (condition(token)) names.push_back(token.name);
        }
        return names;
    }

    void examine_tokens() {
        if (!options_.tokens) {
            return add(Verdict::warning, "tokens",
                       "there are no tokens: everybody on the server's host may do everything",
                       "make tokens with `leasehold token`");
        }
        const auto now = this_second();
        add_if(tokens_that([](const Token& token) {
                   return token.roles.has(Role::use) && token.owner == server::any_owner;
               }),
               "tokens",
               "these tokens speak for every owner: ", "give each token the owner of its program",
               "every token that takes leases speaks for one owner");
        const auto breakers =
            tokens_that([](const Token& token) { return token.roles.has(Role::break_); });
        if (!breakers.empty()) {
            add(Verdict::ok, "tokens",
                "these tokens may break the leases of others: " + some_of(breakers));
        }
        add_if(tokens_that([](const Token& token) { return !token.expires; }), "expiry",
               "these tokens never expire: ", "add `expires` to their entries",
               "every token expires");
        add_if(
            tokens_that([&](const Token& token) { return token.expires && *token.expires <= now; }),
            "expiry", "these tokens have expired: ", "remove their entries", "");
        add_if(tokens_that([&](const Token& token) {
                   return token.expires && *token.expires > now && *token.expires <= now + soon;
               }),
               "expiry", "these tokens expire within 14 days: ", "replace them in time", "");
        if (const auto& jwt = options_.tokens->jwt()) {
            add(Verdict::ok, "jwt",
                "JWTs of " + jwt->rules().issuer + " are accepted, of " +
                    std::to_string(jwt->keys()) + (jwt->keys() == 1 ? " key" : " keys"));
        }
    }

    void examine_limits() {
        if (!options_.tokens) return;
        examine_rates();
        examine_quotas();
        if (config_.server.connections_per_address == 0U) {
            add(Verdict::warning, "connections", "one address may take all connections",
                "set connections_per_address, unless a proxy in front limits them");
        }
    }

    // Of the entries of the token file, and of JWTs, which have the rate and the quotas that the
    // server's settings give to every token.
    void examine_rates() {
        const bool rate_for_all = config_.token_rate != 0;
        std::vector<std::string> unlimited = tokens_that([&](const Token& token) {
            return token.rate ? token.rate->per_second <= 0 : !rate_for_all;
        });
        if (options_.tokens->jwt() && !rate_for_all) unlimited.emplace_back("every JWT");
        add_if(unlimited, "rates", "these tokens may send any number of requests: ",
               "set token_rate, or a rate in their entries", "every token has a rate");
        if (config_.server.failed_tokens == 0) {
            add(Verdict::warning, "rates", "strangers may try tokens as often as they like",
                "set failed_tokens, unless a proxy in front limits them");
        }
    }

    void examine_quotas() {
        bool complete = true;
        for (const auto& [quota, traits] : server::quota_traits) {
            const bool quota_for_all = config_.server.quotas[quota] != 0;
            std::vector<std::string> unlimited = tokens_that([&](const Token& token) {
                const auto& own = token.quotas[quota];
                return own ? *own == 0 : !quota_for_all;
            });
            if (options_.tokens->jwt() && !quota_for_all) unlimited.emplace_back("every JWT");
            if (unlimited.empty()) continue;
            complete = false;
            add(Verdict::warning, "quotas",
                "these tokens have no limit of " + std::string{traits.name} + ": " +
                    some_of(unlimited),
                "set the quota for all tokens, or in their entries");
        }
        if (complete) add(Verdict::ok, "quotas", "every token has quotas");
    }

    void examine_traces() {
        if (config_.audit.empty()) {
            add(Verdict::warning, "audit", "nobody records who breaks leases and who is refused",
                "give a file with the setting audit");
        } else {
            add(Verdict::ok, "audit", "broken leases, refused access and reloads are recorded");
        }
    }

    void examine_files() {
        std::vector<NamedFile> files = secret_files_of(StoreUrl::parse(config_.store, {}));
        files.push_back({"the token file", config_.tokens});
        files.push_back({"the key", config_.tls_key});
        files.push_back({"the audit file", config_.audit});
        files.push_back({"the key set", config_.jwt_keys, true});
        files.push_back({"the file of client authorities", config_.tls_client_ca, true});
        bool open = false;
        for (const NamedFile& file : files) {
            for (const Exposure& exposure : exposures_of(file)) {
                open = true;
                add(Verdict::warning, "files", exposure.text, exposure.advice);
            }
        }
        if (!open) add(Verdict::ok, "files", "only their owner and group can reach secret files");
    }

    void examine_process() {
        if (::geteuid() == 0) {
            add(Verdict::warning, "process", "the server runs as root",
                "run it as a user of its own, as the systemd unit does");
        }
        if (config_.dumpable) {
            add(Verdict::warning, "process",
                "core dumps and debuggers can read tokens and lock ids",
                "leave out the setting dumpable");
        }
    }

    const Config& config_;
    const server::ServerOptions& options_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> security_findings_of(const Config& config,
                                          const server::ServerOptions& options) {
    return SecurityFindings{config, options}.examine();
}

}  // namespace leasehold::cli
