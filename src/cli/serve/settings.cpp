#include <leasehold/errors.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "cli/input.hpp"
#include "cli/serve/config.hpp"
#include "cli/serve/token_file.hpp"
#include "core/durations.hpp"
#include "core/text.hpp"
#include "store_url.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;
using server::LogFormat;
using server::LogLevel;
using server::Quota;
using Read = std::expected<void, std::string>;

constexpr std::int64_t million = 1'000'000;
constexpr Duration century = std::chrono::years{100};

struct About {
    std::string_view name;
    std::string_view group;
    std::string_view help;
};

std::expected<std::int64_t, std::string> number_within(const std::string& text, std::int64_t least,
                                                       std::int64_t most) {
    std::int64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc{} && end == last && value >= least && value <= most) return value;
    return std::unexpected{"a whole number from " + std::to_string(least) + " to " +
                           std::to_string(most)};
}

template <class Access>
Setting number(About about, std::int64_t least, std::int64_t most, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        const auto value = number_within(text, least, most);
        if (!value) return std::unexpected{value.error()};
        auto& to = access(config);
        to = static_cast<std::remove_reference_t<decltype(to)>>(*value);
        return {};
    };
    const auto show = [=](Config config) { return std::to_string(access(config)); };
    return {about.name, about.group, "NUMBER", about.help, Form::integer, read, show};
}

template <class Access>
Setting number_or_auto(About about, std::int64_t least, std::int64_t most, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        if (text == "auto") {
            access(config).reset();
            return {};
        }
        const auto value = number_within(text, least, most);
        if (!value) return std::unexpected{value.error() + ", or auto"};
        access(config) = static_cast<std::size_t>(*value);
        return {};
    };
    const auto show = [=](Config config) {
        return access(config) ? std::to_string(*access(config)) : "auto";
    };
    return {about.name, about.group, "NUMBER|auto", about.help, Form::integer, read, show};
}

std::expected<Duration, std::string> duration_within(const std::string& text, Duration least,
                                                     Duration most) {
    const auto value = parse_duration(text);
    if (value && *value >= least && *value <= most) return *value;
    return std::unexpected{"a duration from " + exactly(least) + " to " + exactly(most) +
                           ", as in 250ms, 90s, 5m, 1h30m, 1d"};
}

template <class Access>
Setting duration(About about, Duration least, Duration most, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        const auto value = duration_within(text, least, most);
        if (!value) return std::unexpected{value.error()};
        auto& to = access(config);
        to = std::chrono::duration_cast<std::remove_reference_t<decltype(to)>>(*value);
        return {};
    };
    const auto show = [=](Config config) { return exactly(access(config)); };
    return {about.name, about.group, "DURATION", about.help, Form::text, read, show};
}

template <class Access>
Setting duration_or_none(About about, Duration least, Duration most, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        if (text == "none") {
            access(config).reset();
            return {};
        }
        const auto value = duration_within(text, least, most);
        if (!value) return std::unexpected{"none, or " + value.error()};
        access(config) = *value;
        return {};
    };
    const auto show = [=](Config config) {
        return access(config) ? exactly(*access(config)) : "none";
    };
    return {about.name, about.group, "DURATION|none", about.help, Form::text, read, show};
}

template <class Access>
Setting yes_or_no(About about, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        if (text != "true" && text != "false") return std::unexpected{"true or false"};
        access(config) = text == "true";
        return {};
    };
    const auto show = [=](Config config) { return access(config) ? "true" : "false"; };
    return {about.name, about.group, "true|false", about.help, Form::boolean, read, show};
}

template <class Value>
using Choices = std::vector<std::pair<std::string_view, Value>>;

template <class Value, class Access>
Setting choice(About about, std::string_view kind, const Choices<Value>& choices, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        std::string right;
        for (const auto& [name, value] : choices) {
            if (name == text) {
                access(config) = value;
                return {};
            }
            right.append(right.empty() ? "one of " : ", ").append(name);
        }
        return std::unexpected{right};
    };
    const auto show = [=](Config config) {
        const Value value = access(config);
        return std::string{
            std::ranges::find(choices, value, &Choices<Value>::value_type::second)->first};
    };
    return {about.name, about.group, kind, about.help, Form::text, read, show};
}

Read read_store(Config& config, const std::string& text) {
    try {
        const StoreUrl url = StoreUrl::parse(text, {});
        if (url.scheme == "http" || url.scheme == "https") {
            return std::unexpected{
                "the URL of a store of its own: sqlite:FILE, postgres://..., mysql://..., "
                "mariadb://..., etcd://... or memory:. This one names another server"};
        }
    } catch (const BadRequest& bad) {
        return std::unexpected{std::string{"the URL of a store, as in sqlite:FILE: "} + bad.what()};
    }
    config.store = text;
    return {};
}

Read read_address(Config& config, const std::string& text) {
    in_addr v4{};
    in6_addr v6{};
    const bool is_v4 = ::inet_pton(AF_INET, text.c_str(), &v4) == 1;
    const bool is_v6 = ::inet_pton(AF_INET6, text.c_str(), &v6) == 1;
    if (!is_v4 && !is_v6) return std::unexpected{"an IP address, as in 127.0.0.1 or ::1"};
    config.server.address = text;
    return {};
}

// "none", or the path of a file.
template <class Access>
Setting file_or_none(About about, Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        if (text.find('\0') != std::string::npos)
            return std::unexpected{"none, or the path of a file"};
        access(config) = text == "none" ? "" : text;
        return {};
    };
    const auto show = [=](Config config) {
        return access(config).empty() ? "none" : access(config);
    };
    return {about.name, about.group, "FILE|none", about.help, Form::text, read, show};
}

// "none", or a text on one line.
template <class Access>
Setting text_or_none(About about, std::string_view kind, Access access) {
    constexpr std::size_t longest = 1024;
    const auto read = [=](Config& config, const std::string& text) -> Read {
        if (text.empty() || text_problem("", text, longest, Lines::one)) {
            return std::unexpected{"none, or a text on one line of at most 1024 bytes"};
        }
        access(config) = text == "none" ? "" : text;
        return {};
    };
    const auto show = [=](Config config) {
        return access(config).empty() ? "none" : access(config);
    };
    return {about.name, about.group, kind, about.help, Form::text, read, show};
}

// "none", or texts separated by commas, each of which `right` accepts.
template <class Right, class Access>
Setting list_or_none(About about, std::string_view kind, std::string_view takes, Right right,
                     Access access) {
    const auto read = [=](Config& config, const std::string& text) -> Read {
        std::vector<std::string> all;
        std::istringstream items{text == "none" ? "" : text};
        for (std::string item; std::getline(items, item, ',');) {
            item.erase(0, std::min(item.find_first_not_of(' '), item.size()));
            item.erase(item.find_last_not_of(' ') + 1);
            if (!right(item)) return std::unexpected{"none, or " + std::string{takes}};
            all.push_back(std::move(item));
        }
        access(config) = std::move(all);
        return {};
    };
    const auto show = [=](Config config) {
        std::string all;
        for (const std::string& item : access(config)) {
            all.append(all.empty() ? "" : ",").append(item);
        }
        return all.empty() ? "none" : all;
    };
    return {about.name, about.group, kind, about.help, Form::text, read, show};
}

// "https://shop.example:8443", as a browser says it.
bool is_origin(const std::string& text) {
    const std::size_t host = text.find("://");
    const bool web = text.starts_with("http://") || text.starts_with("https://");
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
    return web && text.size() > host + 3 &&
           text.find_first_not_of(letters, host + 3) == std::string::npos;
}

bool is_host(const std::string& text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789.-:";
    return !text.empty() && text.find_first_not_of(letters) == std::string::npos;
}

Setting quota(About about, Quota quota) {
    return number(about, 0, highest_quota,
                  [quota](Config& c) -> auto& { return c.server.quotas[quota]; });
}

std::vector<Setting> all_settings() {
    constexpr std::string_view basics = "The store, and where to listen";
    constexpr std::string_view access = "Who may ask";
    constexpr std::string_view quotas = "Quotas of each token";
    constexpr std::string_view logs = "Logs, on standard error";
    constexpr std::string_view leases = "Leases";
    constexpr std::string_view sizes = "Sizes and numbers";
    constexpr std::string_view times = "Deadlines";
    const auto text = [](auto read, auto show, About about, std::string_view kind) -> Setting {
        return {about.name, about.group, kind, about.help, Form::text, read, show};
    };
    return {
        text(
            read_store, [](const Config& c) { return c.store; },
            {"store", basics, "where leases live"}, "URL"),
        text(
            read_address, [](const Config& c) { return c.server.address; },
            {"address", basics, "the address to listen on; without tokens a loopback address"},
            "IP"),
        number({"port", basics, "the port to listen on; 0 takes any free one"}, 0, 65535,
               [](Config& c) -> auto& { return c.server.port; }),
        number({"threads", basics, "threads that serve connections"}, 1, 256,
               [](Config& c) -> auto& { return c.server.threads; }),

        file_or_none({"tokens", access, "a file with the tokens that clients may use"},
                     [](Config& c) -> auto& { return c.tokens; }),
        number({"token_rate", access,
                "requests a second for each token without a rate of its own; renewals and releases "
                "are counted apart; 0 means no limit"},
               0, highest_rate, [](Config& c) -> auto& { return c.token_rate; }),
        number({"failed_tokens", access,
                "requests without a valid token that one address may make in a minute; 0 means no "
                "limit"},
               0, million, [](Config& c) -> auto& { return c.server.failed_tokens; }),
        file_or_none({"jwt_keys", access,
                      "a JSON Web Key Set: clients may show JWTs that one of its keys signed"},
                     [](Config& c) -> auto& { return c.jwt_keys; }),
        text_or_none({"jwt_issuer", access, "the issuer (iss) of these JWTs"}, "TEXT|none",
                     [](Config& c) -> auto& { return c.jwt.issuer; }),
        text_or_none({"jwt_audience", access, "the audience (aud) that names this server"},
                     "TEXT|none", [](Config& c) -> auto& { return c.jwt.audience; }),
        text_or_none(
            {"jwt_owner_claim", access, "the claim with the owner that the client speaks for"},
            "CLAIM", [](Config& c) -> auto& { return c.jwt.owner_claim; }),
        text_or_none({"jwt_owner_prefix", access,
                      "the owner is below this one, PREFIX/CLAIM; none for the claim alone"},
                     "OWNER|none", [](Config& c) -> auto& { return c.jwt.owner_prefix; }),
        text_or_none({"jwt_roles_claim", access, "the claim with the roles: use, see, break"},
                     "CLAIM", [](Config& c) -> auto& { return c.jwt.roles_claim; }),
        text_or_none({"jwt_keys_claim", access,
                      "the claim with the keys that the client may touch, as in the token file; "
                      "none for all keys"},
                     "CLAIM|none", [](Config& c) -> auto& { return c.jwt.keys_claim; }),
        duration({"jwt_leeway", access, "how far the issuer's clock may differ from the server's"},
                 0s, 5min, [](Config& c) -> auto& { return c.jwt.leeway; }),
        file_or_none({"tls_certificate", access, "a PEM file: the certificate and its chain"},
                     [](Config& c) -> auto& { return c.tls_certificate; }),
        file_or_none({"tls_key", access, "a PEM file: the certificate's key, without passphrase"},
                     [](Config& c) -> auto& { return c.tls_key; }),
        file_or_none({"tls_client_ca", access,
                      "a PEM file: the authorities of client certificates, and their CRLs"},
                     [](Config& c) -> auto& { return c.tls_client_ca; }),
        duration({"hsts", access,
                  "how long a browser that has used TLS refuses plain HTTP for this host; 0s means "
                  "it does not"},
                 0s, century, [](Config& c) -> auto& { return c.server.hsts; }),
        file_or_none({"audit", access,
                      "a file that gets a JSON line for every broken lease, refused access and "
                      "reload"},
                     [](Config& c) -> auto& { return c.audit; }),
        yes_or_no(
            {"dumpable", access,
             "whether core dumps and debuggers of the same user may read the server's memory, "
             "which holds tokens and lock ids"},
            [](Config& c) -> auto& { return c.dumpable; }),
        list_or_none({"hosts", access,
                      "host names besides localhost that a server without tokens answers to"},
                     "NAME,...", "names of hosts, as in locks.example", is_host,
                     [](Config& c) -> auto& { return c.server.hosts; }),
        list_or_none({"cors_origin", access, "origins whose pages may call the server"},
                     "ORIGIN,...", "origins as browsers say them, as in https://shop.example",
                     is_origin, [](Config& c) -> auto& { return c.server.cors_origins; }),

        quota({"token_leases", quotas, "live leases at once"}, Quota::leases),
        quota({"token_grants_per_day", quotas,
               "leases granted in a day, each of which becomes a row of the history"},
              Quota::grants_per_day),
        quota({"token_bytes_per_day", quotas,
               "bytes that the store keeps of these leases: keys, owners, notes, and 256 for each"},
              Quota::bytes_per_day),
        quota({"token_waiters", quotas, "tries that wait for a key at once"}, Quota::waiters),
        quota({"token_event_streams", quotas, "event streams at once"}, Quota::event_streams),
        quota({"token_delayed_releases", quotas, "delayed releases at once"},
              Quota::delayed_releases),
        quota({"token_connections", quotas,
               "connections at once; further ones are served like those without a valid token"},
              Quota::connections),
        number({"owner_share", quotas, "percent of its token's quotas that one owner may use"}, 1,
               100, [](Config& c) -> auto& { return c.server.owner_share; }),

        choice({"log_level", logs, "the lowest level that is logged; debug logs every request"},
               "debug|info|warning|error",
               Choices<LogLevel>{{"debug", LogLevel::debug},
                                 {"info", LogLevel::info},
                                 {"warning", LogLevel::warning},
                                 {"error", LogLevel::error}},
               [](Config& c) -> auto& { return c.log_level; }),
        choice({"log_format", logs, "auto means text on a terminal and JSON elsewhere"},
               "auto|text|json",
               Choices<LogFormat>{{"auto", LogFormat::automatic},
                                  {"text", LogFormat::text},
                                  {"json", LogFormat::json}},
               [](Config& c) -> auto& { return c.log_format; }),

        duration({"default_ttl", leases, "the ttl of a lease when the client gives none"}, 1ms,
                 century, [](Config& c) -> auto& { return c.limits.default_ttl; }),
        duration({"min_ttl", leases, "the shortest ttl that a client may ask for"}, 1ms, century,
                 [](Config& c) -> auto& { return c.limits.min_ttl; }),
        duration({"max_ttl", leases, "the longest ttl, and how far ahead of now an expiry may be"},
                 1ms, century, [](Config& c) -> auto& { return c.limits.max_ttl; }),
        duration_or_none(
            {"max_hold", leases, "the longest time that one lease is held, renewals included"}, 1ms,
            century, [](Config& c) -> auto& { return c.limits.max_hold; }),
        yes_or_no({"allow_endless", leases, "whether a lease may last until it is released"},
                  [](Config& c) -> auto& { return c.limits.allow_endless; }),
        duration(
            {"busy_patience", leases,
             "how long to retry while a transaction guards the key, before the answer is busy"},
            0ms, 1min, [](Config& c) -> auto& { return c.limits.busy_patience; }),

        number({"header_bytes", sizes, "bytes of a request's line and header fields"}, 1024,
               million, [](Config& c) -> auto& { return c.server.header_bytes; }),
        number({"body_bytes", sizes, "bytes of a request's body"}, 1024, 64 * million,
               [](Config& c) -> auto& { return c.server.body_bytes; }),
        number({"bodies_bytes", sizes, "bytes of all bodies above 16 KiB together"}, 1024,
               64'000 * million, [](Config& c) -> auto& { return c.server.bodies_bytes; }),
        number({"batch_requests", sizes, "requests in one POST /v1/batch"}, 1, 100'000,
               [](Config& c) -> auto& { return c.server.batch_requests; }),
        number({"batches_bytes", sizes,
                "bytes of all batches that are being answered; a request counts as 4 KiB"},
               1024, 64'000 * million, [](Config& c) -> auto& { return c.server.batches_bytes; }),
        number({"answer_bytes", sizes, "bytes of rows and holders in the answer to a batch"},
               65'536, 64 * million, [](Config& c) -> auto& { return c.server.answer_bytes; }),
        number({"answers_bytes", sizes, "bytes of all answers above 16 KiB that are not sent yet"},
               1024, 64'000 * million, [](Config& c) -> auto& { return c.server.answers_bytes; }),
        number({"answers_bytes_per_token", sizes, "the same of clients with the same token"}, 1024,
               64'000 * million,
               [](Config& c) -> auto& { return c.server.answers_bytes_per_token; }),
        number({"send_buffer_bytes", sizes, "bytes that the system keeps for a slow reader"}, 4096,
               64 * million, [](Config& c) -> auto& { return c.server.send_buffer_bytes; }),
        number({"keys_at_once", sizes, "keys in one request that takes all or none"}, 1, 10'000,
               [](Config& c) -> auto& { return c.limits.keys_at_once; }),
        number({"page_rows", sizes, "rows in one page of a list"}, 1, 100'000,
               [](Config& c) -> auto& { return c.limits.page_rows; }),
        number({"connections", sizes,
                "connections at once; one more takes the place of a silent client, or is answered "
                "503. Where fewer files may be open (ulimit -n), the default is lower"},
               1, million, [](Config& c) -> auto& { return c.server.connections; }),
        number_or_auto({"connections_per_address", sizes,
                        "connections at once from one address that have shown no valid token; 0 "
                        "means no limit; auto means 1000, and no limit for this machine"},
                       0, million,
                       [](Config& c) -> auto& { return c.server.connections_per_address; }),
        number({"handshakes_per_address", sizes,
                "TLS handshakes a second from one address, and ten times as many at once; 0 means "
                "no limit"},
               0, million, [](Config& c) -> auto& { return c.handshakes_per_address; }),
        number({"requests_under_way", sizes, "requests at the store at once; others queue"}, 1,
               million, [](Config& c) -> auto& { return c.server.requests_under_way; }),
        number({"queued_tries", sizes, "tries in that queue; one more is answered 503"}, 0, million,
               [](Config& c) -> auto& { return c.server.queued_tries; }),
        number({"waiters", sizes, "clients that wait for a key at once"}, 0, million,
               [](Config& c) -> auto& { return c.server.waiters; }),
        number({"events_clients", sizes, "clients that listen to events at once"}, 0, million,
               [](Config& c) -> auto& { return c.server.events_clients; }),
        number({"events_kept", sizes, "latest events kept for clients that are slow or reconnect"},
               1, million, [](Config& c) -> auto& { return c.server.events_kept; }),
        number({"events_leases", sizes,
                "leases that are watched for changes by other servers, for events"},
               1, million, [](Config& c) -> auto& { return c.server.events_leases; }),
        number({"store_batch_requests", sizes, "requests in one batch to the store"}, 1, 65'536,
               [](Config& c) -> auto& { return c.limits.batch_requests; }),
        number({"store_queued_requests", sizes, "requests that wait for such a batch"}, 1,
               10 * million, [](Config& c) -> auto& { return c.limits.queued_requests; }),

        duration({"longest_wait", times, "how long a client may wait for a key"}, 0s, 60s,
                 [](Config& c) -> auto& { return c.server.longest_wait; }),
        duration({"wait_poll", times,
                  "how often a waiter asks, in case its store did not tell it of a release"},
                 10ms, 1min, [](Config& c) -> auto& { return c.server.wait_poll; }),
        duration({"events_poll", times, "how soon events show what other servers did on the store"},
                 10ms, 1min, [](Config& c) -> auto& { return c.server.events_poll; }),
        duration({"events_heartbeat", times, "the longest silence of an event stream"}, 100ms,
                 10min, [](Config& c) -> auto& { return c.server.events_heartbeat; }),
        duration({"handshake_deadline", times, "for the TLS handshake of a new connection"}, 100ms,
                 10min, [](Config& c) -> auto& { return c.server.handshake_deadline; }),
        duration({"first_byte", times,
                  "how long a connection may be silent that has shown no valid token"},
                 100ms, 24h, [](Config& c) -> auto& { return c.server.first_byte; }),
        duration({"idle", times, "how long a connection may be silent between two requests"}, 100ms,
                 24h, [](Config& c) -> auto& { return c.server.idle; }),
        duration({"header_deadline", times, "for a request's header, from its first byte"}, 100ms,
                 10min, [](Config& c) -> auto& { return c.server.header_deadline; }),
        duration({"body_deadline", times, "for a request's body, from the end of its header"},
                 100ms, 10min, [](Config& c) -> auto& { return c.server.body_deadline; }),
        duration({"write_deadline", times, "for a client to read an answer"}, 100ms, 10min,
                 [](Config& c) -> auto& { return c.server.write_deadline; }),
        duration({"drain_deadline", times, "for requests under way when the server stops"}, 0s,
                 10min, [](Config& c) -> auto& { return c.server.drain_deadline; }),
    };
}

}  // namespace

std::string Setting::option() const {
    std::string text = "--" + std::string{name};
    std::ranges::replace(text, '_', '-');
    return text;
}

std::string Setting::variable() const {
    std::string text = "LEASEHOLD_" + std::string{name};
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return text;
}

const std::vector<Setting>& settings() {
    static const std::vector<Setting> all = all_settings();
    return all;
}

}  // namespace leasehold::cli
