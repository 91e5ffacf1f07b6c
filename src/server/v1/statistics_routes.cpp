#include <boost/json/array.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "server/v1/native.hpp"
#include "wire/json.hpp"

namespace leasehold::server::v1 {
namespace {

namespace json = boost::json;

Statistics::Span span_of(const Query& query) {
    const std::string over = query.text("over").value_or("hour");
    if (over == "hour") return Statistics::Span::hour;
    if (over == "day") return Statistics::Span::day;
    throw BadRequest{R"("over" must be one of "hour", "day")"};
}

json::object to_json(const RefusedTries::Entry& entry) {
    json::object object;
    object["type"] = entry.key.type();
    object["id"] = entry.key.id();
    object["owner"] = entry.owner;
    object["first_at"] = wire::to_json(entry.first);
    object["last_at"] = wire::to_json(entry.last);
    object["tries"] = entry.tries;
    return object;
}

}  // namespace

Task<Reply> Native::statistics(RoutedRequest& request) {
    const Statistics::Span over = span_of(request.query);
    const auto held = co_await backend_.count_leases();
    const auto time = co_await store_.store_time();
    json::object body = statistics_.summary(over);
    body["held_complete"] = !held || held->leases < HeldCount::most;
    body["store_now"] = nullptr;
    body["clock_offset_ms"] = nullptr;
    if (time) {
        const auto here = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
        body["store_now"] = wire::to_json(*time);
        body["clock_offset_ms"] = wire::to_json(*time - here);
    }
    co_return json_reply(200, body);
}

Task<Reply> Native::refused(RoutedRequest& request) {
    constexpr std::size_t usual = 100;
    json::array entries;
    for (const auto& entry : statistics_.refused(request.query.key(), request.query.limit(usual))) {
        entries.emplace_back(to_json(entry));
    }
    json::object body;
    body["refused"] = std::move(entries);
    co_return json_reply(200, body);
}

}  // namespace leasehold::server::v1
