#include "store_url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "core/text.hpp"

namespace leasehold {
namespace {

std::optional<unsigned> hex_value(char c) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(&c, &c + 1, value, 16);
    return error == std::errc{} ? std::optional{value} : std::nullopt;
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        const auto high = i + 1 < text.size() ? hex_value(text[i + 1]) : std::nullopt;
        const auto low = i + 2 < text.size() ? hex_value(text[i + 2]) : std::nullopt;
        if (!high || !low)
            throw BadRequest{"the store's URL has a '%' without two hexadecimal digits"};
        plain += static_cast<char>(*high << 4 | *low);
        i += 2;
    }
    return plain;
}

constexpr std::chrono::hours hundred_years{24 * 365 * 100};

template <class Unit>
std::optional<Duration> number_of(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    constexpr auto most = std::chrono::duration_cast<Unit>(hundred_years).count();
    if (error != std::errc{} || end != text.data() + text.size() || number <= 0 || number > most) {
        return std::nullopt;
    }
    return Unit{number};
}

using Names = std::span<const std::string_view>;

// The parameters of one store, in addition to the common ones. PostgreSQL's are its driver's.
Names parameters_of(std::string_view scheme) {
    static constexpr auto mariadb =
        std::to_array<std::string_view>({"socket", "tls", "ca_file", "adopt", "time_zone"});
    static constexpr auto etcd =
        std::to_array<std::string_view>({"tls", "ca_file", "cert_file", "key_file"});
    static constexpr auto http =
        std::to_array<std::string_view>({"token_file", "ca_file", "cert_file", "key_file"});
    if (scheme == "mariadb" || scheme == "mysql") return mariadb;
    if (scheme == "etcd") return etcd;
    if (scheme == "http" || scheme == "https") return http;
    return {};
}

bool shares_the_patterns_table(std::string_view scheme) {
    return scheme == "postgres" || scheme == "postgresql" || scheme == "mysql" ||
           scheme == "mariadb";
}

// "+09:00": the minutes east of UTC.
std::optional<std::chrono::minutes> zone_from(std::string_view text) {
    const auto digits = [&](std::size_t at) -> std::optional<int> {
        int number = 0;
        const char* begin = text.data() + at;
        const auto [end, error] = std::from_chars(begin, begin + 2, number);
        return error == std::errc{} && end == begin + 2 && number >= 0 ? std::optional{number}
                                                                       : std::nullopt;
    };
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return {};
    const auto hours = digits(1);
    const auto minutes = digits(4);
    if (!hours || !minutes || *hours > 14 || *minutes > 59) return {};
    const std::chrono::minutes zone{*hours * 60 + *minutes};
    return text[0] == '-' ? -zone : zone;
}

std::string with_common(Names own) {
    std::string known = "durability, history, retention_s, max_clock_leap_ms, io_timeout_ms";
    for (const std::string_view one : own) known.append(", ").append(one);
    return known;
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool is_scheme(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
    return !text.empty() && lower(text).find_first_not_of(letters) == std::string::npos;
}

// Hosts, ports and prefixes end up in the header of a request.
std::string plain(std::string text) {
    if (std::ranges::any_of(text, is_control)) {
        throw BadRequest{"the store's URL has a control character in its host or path"};
    }
    return text;
}

constexpr std::string_view how_to_encode =
    "; in a user, a password or a parameter write '@' as %40, '/' as %2F and '?' as %3F";

// Throws unless a driver would read the same user and password as this parser does: a part of an
// unencoded password must not be taken for a host, a database or a parameter.
void require_sound_authority(std::string_view rest) {
    rest.remove_prefix(2);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    const std::size_t at = rest.find('@');
    if (at == std::string_view::npos) return;
    if (at >= authority.size() || rest.find('@', at + 1) != std::string_view::npos) {
        throw BadRequest{
            std::string{"the store's URL has an '@' that does not end its user and password"}
                .append(how_to_encode)};
    }
}

// user:password@host:port/name, still encoded
struct Authority {
    explicit Authority(std::string_view rest) {
        if (!rest.starts_with("//")) {
            throw BadRequest{"the store's URL needs '//' and a host: scheme://user@host/database"};
        }
        rest.remove_prefix(2);
        const std::size_t slash = rest.find('/');
        std::string_view place = rest.substr(0, slash);
        if (slash != std::string_view::npos) name = rest.substr(slash + 1);
        if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
            const std::string_view who = place.substr(0, at);
            is_somebody = true;
            place.remove_prefix(at + 1);
            const std::size_t colon = who.find(':');
            user = who.substr(0, colon);
            if (colon != std::string_view::npos) password = who.substr(colon + 1);
        }
        places = place;
        const Place only{place};
        host = only.host;
        port = only.port;
    }

    // host:port, [::1]:port
    struct Place {
        explicit Place(std::string_view place) {
            const std::size_t bracket = place.starts_with('[') ? place.find(']') : 0;
            const std::size_t colon =
                place.find(':', bracket == std::string_view::npos ? 0 : bracket);
            host = place.substr(0, colon);
            if (colon != std::string_view::npos) port = place.substr(colon + 1);
            if (host.starts_with('[') && host.ends_with(']')) {
                host = host.substr(1, host.size() - 2);
            }
        }
        std::string_view host, port;
    };

    std::string_view user, password, places, host, port, name;
    bool is_somebody = false;  // a user or a password is given
};

std::string host_from(std::string_view encoded) {
    std::string host = plain(decoded(encoded));
    return host.empty() ? "127.0.0.1" : host;
}

std::uint16_t port_from(std::string_view text, std::uint16_t otherwise) {
    if (text.empty()) return otherwise;
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size() || port == 0) {
        throw BadRequest{"the store's URL has a port that is not a number from 1 to 65535"};
    }
    return port;
}

}  // namespace

StoreUrl StoreUrl::parse(std::string_view text, const StoreOptions& defaults) {
    if (std::ranges::any_of(text, is_control)) {
        throw BadRequest{"the store's URL has a control character"};
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon))) {
        throw BadRequest{
            "a store's URL begins with its kind: memory:, sqlite:path, postgres://..., "
            "mysql://..., mariadb://..., etcd://..., http://..."};
    }
    StoreUrl url;
    url.scheme = text.substr(0, colon);
    url.may_hold_a_secret_ = text.contains('@') || lower(text).contains("pass");
    url.options = defaults;
    const std::string_view rest = text.substr(colon + 1);
    if (rest.starts_with("//")) require_sound_authority(rest);
    const std::size_t question = rest.find('?');
    url.rest_ = rest.substr(0, question);
    if (question != std::string_view::npos) url.take_parameters(rest.substr(question + 1));
    return url;
}

void StoreUrl::take_parameters(std::string_view query) {
    while (!query.empty()) {
        const std::size_t end = query.find('&');
        const std::string_view parameter = query.substr(0, end);
        const std::size_t equals = parameter.find('=');
        if (equals == std::string_view::npos) {
            throw BadRequest{"the store's URL has a parameter without '='"};
        }
        const std::string name{parameter.substr(0, equals)};
        const std::string_view value = parameter.substr(equals + 1);
        if (!take_option(name, decoded(value))) parameters_.emplace_back(name, value);
        query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
    }
    if (scheme == "postgres" || scheme == "postgresql") return;
    const Names own = parameters_of(scheme);
    for (const auto& [name, value] : parameters_) {
        if (std::ranges::find(own, name) != own.end()) continue;
        throw BadRequest{"the store's URL has an unknown parameter" +
                         (may_hold_a_secret_ ? "" : " '" + name + "'") + "; known are " +
                         with_common(own)};
    }
}

void StoreUrl::refuse_value(std::string_view name, const std::string& value,
                            std::string_view right) const {
    std::string said = "the store's URL ";
    if (may_hold_a_secret_)
        said.append("has a wrong value for ").append(name);
    else
        said.append("says ").append(name).append("=").append(value);
    throw BadRequest{said.append("; it takes ").append(right)};
}

template <class Unit>
Duration StoreUrl::duration(std::string_view name, const std::string& value) const {
    if (const auto read = number_of<Unit>(value)) return *read;
    refuse_value(name, value,
                 "a whole number from 1 to " +
                     std::to_string(std::chrono::duration_cast<Unit>(hundred_years).count()));
}

bool StoreUrl::take_option(std::string_view name, const std::string& value) {
    if (name == "durability") {
        if (value == "strict")
            options.require = StoreOptions::Require::strict_durability;
        else if (value == "any")
            options.require = StoreOptions::Require::any_durability;
        else
            refuse_value(name, value, "strict or any");
    } else if (name == "history") {
        if (value == "on")
            options.history = StoreOptions::KeepHistory::on;
        else if (value == "off")
            options.history = StoreOptions::KeepHistory::off;
        else
            refuse_value(name, value, "on or off");
    } else if (name == "adopt" && shares_the_patterns_table(scheme)) {
        if (value != "locks") refuse_value(name, value, "locks");
        options.adopt = StoreOptions::Adopt::pattern_table;
    } else if (name == "time_zone" && shares_the_patterns_table(scheme)) {
        options.time_zone = zone_from(value);
        if (!options.time_zone) refuse_value(name, value, "a zone as +09:00 or -03:30");
    } else if (name == "retention_s") {
        options.retention = duration<std::chrono::seconds>(name, value);
    } else if (name == "max_clock_leap_ms") {
        options.max_clock_leap = duration<std::chrono::milliseconds>(name, value);
    } else if (name == "io_timeout_ms") {
        options.io_timeout = duration<std::chrono::milliseconds>(name, value);
    } else {
        return false;
    }
    return true;
}

std::string StoreUrl::path() const {
    if (rest_.starts_with("//") && may_hold_a_secret_ && Authority{rest_}.is_somebody) {
        throw BadRequest{"sqlite: takes the path of a file, not a user and a host"};
    }
    std::string path = decoded(rest_);
    if (path.starts_with("//")) path.erase(0, 2);
    if (path.empty()) throw BadRequest{"the store's URL names no file: sqlite:path/to/file.db"};
    if (path.contains('\0')) throw BadRequest{"the store's URL has a zero byte in its path"};
    return path;
}

std::string StoreUrl::user() const {
    return decoded(Authority{rest_}.user);
}
std::string StoreUrl::password() const {
    return decoded(Authority{rest_}.password);
}
std::string StoreUrl::database() const {
    return plain(decoded(Authority{rest_}.name));
}

std::string StoreUrl::host() const {
    return host_from(Authority{rest_}.host);
}

std::uint16_t StoreUrl::port(std::uint16_t otherwise) const {
    return port_from(Authority{rest_}.port, otherwise);
}

std::vector<std::pair<std::string, std::uint16_t>> StoreUrl::places(std::uint16_t otherwise) const {
    std::vector<std::pair<std::string, std::uint16_t>> all;
    std::string_view rest = Authority{rest_}.places;
    for (;;) {
        const std::size_t comma = rest.find(',');
        const Authority::Place place{rest.substr(0, comma)};
        all.emplace_back(host_from(place.host), port_from(place.port, otherwise));
        if (comma == std::string_view::npos) return all;
        rest.remove_prefix(comma + 1);
    }
}

bool StoreUrl::flag(std::string_view name) const {
    const std::string value = parameter(name);
    if (!value.empty() && value != "on" && value != "off") refuse_value(name, value, "on or off");
    return value == "on";
}

bool StoreUrl::verifies_tls() const {
    const std::string value = parameter("tls");
    if (value.empty() || value == "off") return false;
    if (value != "verify-full") refuse_value("tls", value, "verify-full or off");
    if (!parameter("socket").empty()) {
        throw BadRequest{"the store's URL has both socket and tls; TLS is for a host"};
    }
    return true;
}

std::string StoreUrl::parameter(std::string_view name) const {
    for (const auto& [known, value] : parameters_) {
        if (known == name) return decoded(value);
    }
    return {};
}

bool StoreUrl::names_a_user() const {
    return Authority{rest_}.is_somebody;
}

std::string StoreUrl::without_our_options() const {
    (void)Authority{rest_};  // a driver may take a text without '//' for a database's name
    std::string url = scheme + ':' + rest_;
    char separator = '?';
    for (const auto& [name, value] : parameters_) {
        url.append(1, separator).append(name).append(1, '=').append(value);
        separator = '&';
    }
    return url;
}

std::string without_secrets(std::string_view text) {
    constexpr std::string_view hidden = "***";
    std::string url{text};
    const bool is_path = url.starts_with("sqlite:/") &&
                         (!url.starts_with("sqlite://") || url.starts_with("sqlite:///"));
    if (is_path) return url;
    const std::size_t scheme = std::min(url.find(':'), url.size());
    const bool has_host = url.substr(scheme, 3) == "://";
    const std::size_t at = url.rfind('@');
    const std::size_t colon = has_host ? url.find(':', scheme + 1) : scheme;
    const bool has_password = at != std::string::npos && colon < at;
    const std::size_t query = std::min(url.find('?'), url.size());
    const std::size_t name = lower(url).find("pass", query);
    if (name != std::string::npos) {
        // The value may contain '&' or '@' by mistake: nothing after the parameter's name is shown.
        const std::size_t equals = std::min(url.find('=', name), url.size() - 1);
        const bool overlap = has_password && at > equals;
        url.erase((overlap ? std::min(colon, equals) : equals) + 1).append(hidden);
        if (overlap) return url;
    }
    if (has_password) url.replace(colon + 1, at - colon - 1, hidden);
    return url;
}

}  // namespace leasehold
