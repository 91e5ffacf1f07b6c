#include "server/http/target.hpp"

#include <boost/url/grammar/parse.hpp>
#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/pchars.hpp>
#include <boost/url/rfc/pct_encoded_rule.hpp>
#include <boost/url/url_view.hpp>

#include <algorithm>
#include <array>
#include <charconv>

#include <leasehold/errors.hpp>

#include "wire/url.hpp"

namespace leasehold::server {
namespace {

namespace urls = boost::urls;

std::int64_t integer_of(std::string_view what, std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
        throw BadRequest{std::string{what} + " must be an integer"};
    }
    return value;
}

// A part of a path as a pattern has it: a word, or the name of something in braces.
struct Pattern {
    Resource resource;
    std::array<std::string_view, 5> parts;
};

constexpr std::string_view any = "{}";
constexpr std::array patterns{
    Pattern{Resource::lock, {"v1", "locks", any, any}},
    Pattern{Resource::batch, {"v1", "batch"}},
    Pattern{Resource::locks, {"v1", "locks"}},
    Pattern{Resource::lock_break, {"v1", "locks", any, any, "break"}},
    Pattern{Resource::lock_knock, {"v1", "locks", any, any, "knock"}},
    Pattern{Resource::owner_locks, {"v1", "owners", any, "locks"}},
    Pattern{Resource::history, {"v1", "history"}},
    Pattern{Resource::statistics, {"v1", "statistics"}},
    Pattern{Resource::refused, {"v1", "refused"}},
    Pattern{Resource::token, {"v1", "token"}},
    Pattern{Resource::events, {"v1", "events"}},
    Pattern{Resource::health, {"healthz"}},
    Pattern{Resource::readiness, {"readyz"}},
    Pattern{Resource::description, {"openapi.json"}},
    Pattern{Resource::console, {}},
    Pattern{Resource::console_file, {"console", any}},
    Pattern{Resource::client_file, {"client", any}},
    Pattern{Resource::metrics, {"metrics"}},
};

// The parts of a path, still encoded: a slash within a name is %2F.
struct Path {
    std::array<std::string_view, 5> parts;
    std::size_t size = 0;
};

// Nothing where there are too many. The text begins with a slash.
std::optional<Path> path_of(std::string_view text) {
    Path path;
    if (text == "/") return path;
    while (!text.empty()) {
        if (path.size == path.parts.size()) return std::nullopt;
        const std::size_t end = std::min(text.find('/', 1), text.size());
        path.parts[path.size++] = text.substr(1, end - 1);
        text.remove_prefix(end);
    }
    return path;
}

bool matches(const Pattern& pattern, const Path& path) {
    for (std::size_t i = 0; i < pattern.parts.size(); ++i) {
        if (pattern.parts[i].empty() != (i >= path.size)) return false;
        if (pattern.parts[i] != any && pattern.parts[i] != path.parts[i]) return false;
    }
    return true;
}

constexpr std::size_t most_parameters = 16;
constexpr auto not_a_target = "the request's target is not a path, perhaps with a query";

bool is_path(std::string_view text) {
    constexpr auto encoded = urls::pct_encoded_rule(urls::pchars + '/');
    return text.starts_with('/') && urls::grammar::parse({text.data(), text.size()}, encoded);
}

// Nothing where an escape is broken.
std::optional<std::string> decoded(std::string_view text) {
    if (!text.contains('%')) return std::string{text};
    const auto view = urls::make_pct_string_view({text.data(), text.size()});
    if (!view) return std::nullopt;
    return view->decode();
}

// Throws BadRequest where it is no URL.
urls::params_encoded_view parameters_in(std::string_view target) {
    const auto url = urls::parse_origin_form({target.data(), target.size()});
    if (!url) throw BadRequest{not_a_target};
    return url->encoded_params();
}

}  // namespace

void Query::add(std::string name, std::string value) {
    if (parameters_.size() == most_parameters)
        throw BadRequest{"the query has too many parameters"};
    const bool twice = std::ranges::any_of(
        parameters_, [&](const auto& parameter) { return parameter.first == name; });
    if (twice) throw BadRequest{"a parameter of the query is given twice"};
    parameters_.emplace_back(std::move(name), std::move(value));
}

std::optional<std::string> Query::text(std::string_view name) const {
    for (const auto& [known, value] : parameters_) {
        if (known == name) return value;
    }
    return std::nullopt;
}

std::optional<std::int64_t> Query::integer(std::string_view name) const {
    const auto value = text(name);
    if (!value) return std::nullopt;
    return integer_of('"' + std::string{name} + '"', *value);
}

OwnerScope Query::scope() const {
    const auto value = text("scope");
    if (!value || *value == "exact") return OwnerScope::exact;
    if (*value == "below") return OwnerScope::below;
    throw BadRequest{R"("scope" must be one of "exact", "below")"};
}

std::optional<LockKey> Query::key() const {
    const auto type = text("type");
    const auto id = text("id");
    if (type.has_value() != id.has_value()) {
        throw BadRequest{R"("type" and "id" name a key only together)"};
    }
    if (!type) return std::nullopt;
    return LockKey{*type, *id};
}

std::size_t Query::limit(std::size_t otherwise) const {
    const auto value = integer("limit");
    if (value && *value < 1) throw BadRequest{"\"limit\" must be at least 1"};
    return value ? static_cast<std::size_t>(*value) : otherwise;
}

void Query::refuse_all_but(std::initializer_list<std::string_view> known) const {
    const bool fine = std::ranges::all_of(parameters_, [&](const auto& parameter) {
        return std::ranges::find(known, parameter.first) != known.end();
    });
    if (fine) return;
    if (known.size() == 0) throw BadRequest{"this URL takes no query"};
    std::string names;
    for (const std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
    throw BadRequest{"the query has a parameter that is not known here; known are " + names};
}

LockKey Target::key() const {
    return {names.at(0), names.at(1)};
}

std::optional<Target> read_target(std::string_view text) {
    const std::string_view path_text = text.substr(0, text.find('?'));
    if (!is_path(path_text)) throw BadRequest{not_a_target};
    urls::params_encoded_view parameters;
    if (path_text.size() < text.size()) parameters = parameters_in(text);
    const auto path = path_of(path_text);
    if (!path) return std::nullopt;
    const auto* pattern =
        std::ranges::find_if(patterns, [&](const Pattern& one) { return matches(one, *path); });
    if (pattern == patterns.end()) return std::nullopt;

    Target target{.resource = pattern->resource};
    for (std::size_t i = 0; i < path->size; ++i) {
        if (pattern->parts[i] == any) target.names.push_back(*decoded(path->parts[i]));
    }
    urls::encoding_opts as_form;
    as_form.space_as_plus = true;
    for (const auto& parameter : parameters) {
        target.query.add(parameter.key.decode(as_form), parameter.value.decode(as_form));
    }
    return target;
}

std::string_view route_of(Resource resource) noexcept {
    switch (resource) {
        case Resource::health: return "/healthz";
        case Resource::readiness: return "/readyz";
        case Resource::description: return "/openapi.json";
        case Resource::batch: return "/v1/batch";
        case Resource::lock: return "/v1/locks/{type}/{id}";
        case Resource::lock_break: return "/v1/locks/{type}/{id}/break";
        case Resource::lock_knock: return "/v1/locks/{type}/{id}/knock";
        case Resource::locks: return "/v1/locks";
        case Resource::owner_locks: return "/v1/owners/{owner}/locks";
        case Resource::history: return "/v1/history";
        case Resource::statistics: return "/v1/statistics";
        case Resource::refused: return "/v1/refused";
        case Resource::token: return "/v1/token";
        case Resource::events: return "/v1/events";
        case Resource::console: return "/";
        case Resource::console_file: return "/console/{file}";
        case Resource::client_file: return "/client/{file}";
        case Resource::metrics: return "/metrics";
    }
    return {};
}

std::string_view methods_of(Resource resource) noexcept {
    switch (resource) {
        case Resource::batch:
        case Resource::lock_break:
        case Resource::lock_knock: return "POST";
        case Resource::lock: return "GET, HEAD, POST, PATCH, DELETE";
        case Resource::owner_locks: return "DELETE";
        default: return "GET, HEAD";
    }
}

std::string cursor_of(const Holder& last) {
    std::string cursor = std::to_string(last.fence) + '/';
    wire::append_encoded(cursor, last.key.type());
    cursor.push_back('/');
    wire::append_encoded(cursor, last.key.id());
    return cursor;
}

Holder holder_at(std::string_view cursor) {
    const BadRequest refusal{"\"after\" must be the \"next\" of the page before"};
    const std::size_t slash = cursor.find('/');
    const std::size_t next = cursor.find('/', slash + 1);
    if (slash == std::string_view::npos || next == std::string_view::npos) throw refusal;
    const auto type = decoded(cursor.substr(slash + 1, next - slash - 1));
    const auto id = decoded(cursor.substr(next + 1));
    if (!type || !id) throw refusal;
    return {.key = {*type, *id},
            .fence = integer_of("the fence in \"after\"", cursor.substr(0, slash))};
}

}  // namespace leasehold::server
