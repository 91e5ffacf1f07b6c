#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "server/access/rules.hpp"
#include "server/access/scheme.hpp"
#include "server/http/client_connection.hpp"
#include "server/http/message.hpp"
#include "server/http/target.hpp"
#include "server/tasks.hpp"

// The rows of a protocol's route table. A route is stated once: method, path, access rule, query,
// body and handler.
namespace leasehold::server {

class Protocol;

// A path as a route has it: "/v1/locks/{type}/{id}". A segment in braces matches any text. A last
// segment like "{file...}" matches all segments from there on, even none.
class PathPattern {
public:
    consteval PathPattern(const char* text) : text_{text} {  // NOLINT(*-explicit-*): a literal
        if (!text_.starts_with('/')) throw "a path begins with a slash";
        std::string_view rest = text_ == "/" ? "" : text_;
        while (!rest.empty()) {
            rest.remove_prefix(1);
            const std::size_t end = rest.find('/');
            const std::size_t length = end == std::string_view::npos ? rest.size() : end;
            segments_.at(size_++) = rest.substr(0, length);
            rest.remove_prefix(length);
        }
        open_ended_ = text_.ends_with("...}");
    }

    [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
    [[nodiscard]] constexpr bool matches(const Path& path) const noexcept {
        const std::size_t fixed = open_ended_ ? size_ - 1 : size_;
        if (open_ended_ ? path.size < fixed : path.size != fixed) return false;
        for (std::size_t i = 0; i < fixed; ++i) {
            if (!is_name(i) && segments_[i] != path.segments[i]) return false;
        }
        return true;
    }
    // Whether this segment is in braces.
    [[nodiscard]] constexpr bool is_name(std::size_t i) const noexcept {
        return segments_[i].starts_with('{');
    }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

    friend constexpr bool operator==(const PathPattern& a, const PathPattern& b) noexcept {
        return a.text_ == b.text_;
    }

private:
    std::string_view text_;
    std::array<std::string_view, Path::most_segments> segments_{};
    std::size_t size_ = 0;
    bool open_ended_ = false;
};

// The query parameters that a route takes.
class QueryNames {
public:
    consteval QueryNames() = default;
    consteval QueryNames(std::initializer_list<std::string_view> names) {
        for (const std::string_view name : names) names_.at(size_++) = name;
    }
    // Parameters are ignored, for example because the script of a page reads them.
    static consteval QueryNames any() {
        QueryNames names;
        names.any_ = true;
        return names;
    }

    [[nodiscard]] constexpr bool takes_any() const noexcept { return any_; }
    [[nodiscard]] constexpr std::span<const std::string_view> names() const noexcept {
        return {names_.data(), size_};
    }

private:
    std::array<std::string_view, 8> names_{};
    std::size_t size_ = 0;
    bool any_ = false;
};

enum class TakesBody : std::uint8_t { no, yes };

// A request that matches a route.
struct RoutedRequest {
    HttpRequest& http;
    // The segments that the pattern has in braces; what "{file...}" matches is one name, with its
    // slashes. There is room for every pattern.
    std::array<std::string, Path::most_segments> names{};
    Query query{};
    ClientConnection& connection;
    const Rule& rule;          // of the route
    const Scheme& scheme;      // of the protocol
    bool waited = false;       // set by the backend if the request waits for a key
    bool asked_store = false;  // set by the backend if it asks the store to change something

    // The key that the first two names make. Throws BadRequest if they make none.
    [[nodiscard]] LockKey key() const { return {names[0], names[1]}; }
};

struct Route {
    // Throws Refused, BadRequest or StoreFault to refuse the request.
    using Handler = Task<Reply> (*)(Protocol& protocol, RoutedRequest& request);

    std::string_view method;  // a route for GET also answers HEAD
    PathPattern path;
    Rule rule;
    QueryNames query;
    TakesBody body;
    Handler handler;
    // A route with a condition precedes the one for all other requests of this method and path.
    bool (*applies)(const HttpRequest&) = nullptr;
};

// Makes a handler of a member function of a protocol: handler<&Native::try_lock>.
template <auto member>
inline constexpr Route::Handler handler = []<class P>(Task<Reply> (P::*)(RoutedRequest&)) {
    return +[](Protocol& protocol, RoutedRequest& request) {
        return (static_cast<P&>(protocol).*member)(request);
    };
}(member);

// The methods of the routes with this path, as an Allow field lists them.
[[nodiscard]] std::string methods_of(std::span<const Route> routes, const PathPattern& path);
// The methods of all routes.
[[nodiscard]] std::string methods_of(std::span<const Route> routes);

}  // namespace leasehold::server
