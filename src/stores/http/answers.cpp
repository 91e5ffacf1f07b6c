#include "stores/http/answers.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <variant>

#include "core/dots.hpp"
#include "core/request_traits.hpp"
#include "wire/json.hpp"
#include "wire/url.hpp"

namespace leasehold::http {
namespace {

namespace json = boost::json;

json::value parsed(const std::string& server, const std::string& body, StoreFault::Effect effect) {
    try {
        return wire::parse(body);
    } catch (const BadRequest& bad) {
        throw not_understood(server, effect, bad.what());
    }
}

StoreFault::Cause cause_of(unsigned status) {
    switch (status) {
        case 401:
        case 403: return StoreFault::Cause::not_allowed;
        case 408:
        case 429: return StoreFault::Cause::unavailable;
        default:
            // Any other refusal would be repeated.
            return status >= 300 && status < 500 ? StoreFault::Cause::configuration
                                                 : StoreFault::Cause::unavailable;
    }
}

}  // namespace

std::string path_of(const LockKey& key) {
    if (has_dots(key)) throw BadRequest{"a URL cannot name a key whose type or id is '.' or '..'"};
    std::string path = "/v1/locks/";
    wire::append_encoded(path, key.type());
    path += '/';
    wire::append_encoded(path, key.id());
    return path;
}

std::string field_of(const json::value& problem, std::string_view field) {
    const json::value* value =
        problem.is_object() ? problem.get_object().if_contains(field) : nullptr;
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

json::value problem_in(const Response& response) {
    try {
        return wire::parse(response.body);
    } catch (const BadRequest&) {
        return nullptr;
    }
}

json::value understood(const std::string& server, const Response& response,
                       StoreFault::Effect effect) {
    if (response.status >= 200 && response.status < 300) {
        return parsed(server, response.body, effect);
    }
    const json::value problem = problem_in(response);
    std::string said =
        "the Leasehold server at " + server + " says " + std::to_string(response.status);
    if (const std::string detail = field_of(problem, "detail"); !detail.empty()) {
        said += ": " + detail;
    }
    // A refused request was not started. If it was started, the server says so. An interim answer
    // (1xx) of a proxy says nothing about it.
    const bool refused = response.status >= 300 && response.status < 500;
    const bool untouched = refused || field_of(problem, "effect") == "none" ||
                           field_of(problem, "code") == "overloaded";
    throw StoreFault{untouched ? StoreFault::Effect::none : effect, cause_of(response.status),
                     said};
}

void require_fit(const Request& request, const Outcome& outcome) {
    const auto keys = keys_of(request);
    const LockId* const lock_id = lock_id_of(request);
    const auto asked_for = [&](const LockKey& key) {
        return !keys || std::ranges::find(*keys, key) != keys->end();
    };
    const auto fits = [&](const Lease& lease) {
        return asked_for(lease.key) && (lock_id == nullptr || lease.lock_id == *lock_id);
    };
    bool fine = true;
    if (const auto* lease = std::get_if<Lease>(&outcome)) {
        fine = fits(*lease);
    } else if (const auto* leases = std::get_if<std::vector<Lease>>(&outcome)) {
        fine = std::ranges::all_of(*leases, fits) &&
               (!keys || std::ranges::is_permutation(*leases, *keys, {}, &Lease::key));
    } else if (const auto* page = std::get_if<HolderPage>(&outcome)) {
        fine = std::ranges::all_of(page->items, asked_for, &Holder::key);
    } else if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        fine = std::ranges::all_of(refusal->holders, asked_for, &Holder::key);
    }
    if (!fine) throw BadRequest{"a lease of another key or lock id than was asked for"};
}

StoreFault not_understood(const std::string& server, StoreFault::Effect effect,
                          const std::string& problem) {
    return {effect, StoreFault::Cause::internal,
            "the Leasehold server at " + server +
                " answered something that was not understood: " + problem};
}

}  // namespace leasehold::http
