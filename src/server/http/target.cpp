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
#include <utility>

#include <leasehold/errors.hpp>

#include "core/text.hpp"
#include "server/http/message.hpp"

namespace leasehold::server {
namespace {

namespace urls = boost::urls;

// Nothing if there are too many segments. The text begins with a slash.
std::optional<Path> path_of(std::string_view text) {
    Path path;
    if (text == "/") return path;
    while (!text.empty()) {
        if (path.size == path.segments.size()) return std::nullopt;
        const std::size_t end = std::min(text.find('/', 1), text.size());
        path.segments[path.size++] = text.substr(1, end - 1);
        text.remove_prefix(end);
    }
    return path;
}

constexpr std::size_t most_parameters = 16;
constexpr auto not_a_target = "the request's target is not a path, optionally with a query";

bool is_path(std::string_view text) {
    constexpr auto encoded = urls::pct_encoded_rule(urls::pchars + '/');
    return text.starts_with('/') && urls::grammar::parse({text.data(), text.size()}, encoded);
}

// Throws BadRequest if the target is not a URL.
urls::params_encoded_view parameters_in(std::string_view target) {
    const auto url = urls::parse_origin_form({target.data(), target.size()});
    if (!url) throw BadRequest{not_a_target};
    return url->encoded_params();
}

}  // namespace

void Query::add(std::string name, std::string value) {
    if (parameters_.size() == most_parameters) {
        throw BadRequest{"the query has too many parameters; the limit is " +
                         std::to_string(most_parameters)};
    }
    const bool twice = std::ranges::any_of(
        parameters_, [&](const auto& parameter) { return parameter.first == name; });
    if (twice) throw BadRequest{"the query's parameter \"" + name + "\" is given twice"};
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

void Query::refuse_all_but(std::span<const std::string_view> known) const {
    const bool fine = std::ranges::all_of(parameters_, [&](const auto& parameter) {
        return std::ranges::find(known, parameter.first) != known.end();
    });
    if (fine) return;
    if (known.empty()) throw BadRequest{"this URL takes no query"};
    std::string names;
    for (const std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
    throw BadRequest{"the query has a parameter that is not known here; known are " + names};
}

Target read_target(std::string_view text) {
    const std::string_view path_text = text.substr(0, text.find('?'));
    if (!is_path(path_text)) throw BadRequest{not_a_target};
    Target target{.path = path_of(path_text)};
    if (path_text.size() < text.size()) target.parameters = parameters_in(text);
    return target;
}

Query read_query(const Target& target) {
    Query query;
    urls::encoding_opts as_form;
    as_form.space_as_plus = true;
    for (const auto& parameter : target.parameters) {
        query.add(parameter.key.decode(as_form), parameter.value.decode(as_form));
    }
    return query;
}

std::int64_t integer_of(std::string_view what, std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
        throw BadRequest{std::string{what} + " must be an integer"};
    }
    return value;
}

std::optional<std::string> decoded(std::string_view text) {
    if (!text.contains('%')) return std::string{text};
    const auto view = urls::make_pct_string_view({text.data(), text.size()});
    if (!view) return std::nullopt;
    return view->decode();
}

bool take_absolute_form(HttpRequest& request) {
    std::string_view rest = request.target;
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (lower(rest.substr(0, scheme.size())) != scheme) continue;
        rest.remove_prefix(scheme.size());
        const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
        if (host.empty() || host.contains('@')) return false;
        rest.remove_prefix(host.size());
        request.host.assign(host);
        std::string path{rest};
        if (!path.starts_with('/')) path.insert(path.begin(), '/');
        request.target = std::move(path);
        return true;
    }
    return true;
}

}  // namespace leasehold::server
