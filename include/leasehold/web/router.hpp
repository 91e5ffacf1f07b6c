#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/web/http.hpp>

namespace leasehold::web {

// Finds what answers a request, by its method and path, for applications with one entry point. A *
// in a pattern is one part of the path that is not empty: "/customers/*/edit". The first route that
// matches is found. Thread-safe once its routes are added.
template <class Handler>
class Router {
public:
    struct Found {
        const Handler* handler = nullptr;  // null: no such path, or not by this method
        std::vector<std::string> names{};  // the parts of the path at each *, decoded
        // If there is no handler: the methods of the path, for a header Allow. Empty: no such path.
        std::string allowed{};
    };

    // A route for GET answers HEAD as well.
    void add(std::string_view method, std::string_view pattern, Handler handler) {
        routes_.push_back({std::string{method}, parts_of(pattern), std::move(handler)});
    }

    // `path` is Request::path(), still encoded, so that a name may contain an encoded slash.
    [[nodiscard]] Found find(std::string_view method, std::string_view path) const {
        const auto parts = parts_of(path);
        Found found;
        for (const Route& route : routes_) {
            auto names = match(route.parts, parts);
            if (!names) continue;
            if (route.method == method || (method == "HEAD" && route.method == "GET")) {
                return {.handler = &route.handler, .names = *std::move(names)};
            }
            if (!found.allowed.empty()) found.allowed += ", ";
            found.allowed += route.method;
        }
        return found;
    }

private:
    using Parts = std::vector<std::string>;
    struct Route {
        std::string method;
        Parts parts;
        Handler handler;
    };

    static Parts parts_of(std::string_view path) {
        Parts parts;
        for (;;) {
            const std::size_t slash = path.find('/');
            parts.emplace_back(path.substr(0, slash));
            if (slash == std::string_view::npos) return parts;
            path.remove_prefix(slash + 1);
        }
    }

    static std::optional<std::vector<std::string>> match(const Parts& pattern, const Parts& path) {
        if (pattern.size() != path.size()) return std::nullopt;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            auto given = decode_url(path[i]);
            if (!given) return std::nullopt;
            if (pattern[i] == "*" && !given->empty()) {
                names.push_back(*std::move(given));
            } else if (pattern[i] != *given) {
                return std::nullopt;
            }
        }
        return names;
    }

    std::vector<Route> routes_;
};

}  // namespace leasehold::web
