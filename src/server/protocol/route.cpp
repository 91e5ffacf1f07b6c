#include "server/protocol/route.hpp"

#include <algorithm>
#include <ranges>

namespace leasehold::server {
namespace {

bool lists(std::string_view methods, std::string_view method) {
    return std::ranges::any_of(methods | std::views::split(std::string_view{", "}),
                               [&](const auto& one) { return std::ranges::equal(one, method); });
}

void add(std::string& methods, std::string_view method) {
    if (lists(methods, method)) return;
    methods.append(methods.empty() ? "" : ", ").append(method);
    if (method == "GET") methods.append(", HEAD");
}

}  // namespace

std::string methods_of(std::span<const Route> routes, const PathPattern& path) {
    std::string methods;
    for (const Route& route : routes) {
        if (route.path == path) add(methods, route.method);
    }
    return methods;
}

std::string methods_of(std::span<const Route> routes) {
    std::string methods;
    for (const Route& route : routes) add(methods, route.method);
    return methods;
}

}  // namespace leasehold::server
