#include <boost/json/array.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "server/statistics/statistics.hpp"
#include "server/v1/native.hpp"
#include "server/v1/query.hpp"
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

template <class T>
json::array list_of(const std::deque<Point>& points, T Point::* what) {
    json::array list;
    list.reserve(points.size());
    for (const Point& point : points) list.emplace_back(point.*what);
    return list;
}

json::array held_in(const std::deque<Point>& points) {
    json::array list;
    list.reserve(points.size());
    for (const Point& point : points) {
        list.emplace_back(point.held ? json::value(*point.held) : json::value(nullptr));
    }
    return list;
}

// Converts a time of the steady clock to this machine's calendar.
Time calendar(Series::Clock::time_point moment, Series::Clock::time_point now) {
    using namespace std::chrono;
    return time_point_cast<microseconds>(system_clock::now()) -
           duration_cast<microseconds>(now - moment);
}

json::object object_of(const Series& series, Series::Clock::time_point now) {
    json::object object;
    object["step_ms"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(series.step()).count();
    object["last_at"] = wire::to_json(calendar(series.last_begun(), now));
    object["grants"] = list_of(series.points(), &Point::grants);
    object["refusals"] = list_of(series.points(), &Point::refusals);
    object["waits"] = list_of(series.points(), &Point::waits);
    object["waiters"] = list_of(series.points(), &Point::waiters);
    object["lost"] = list_of(series.points(), &Point::lost);
    object["held"] = held_in(series.points());
    return object;
}

json::object object_of(const HotKeys::Heat& heat) {
    json::object object;
    object["type"] = heat.key.type();
    object["id"] = heat.key.id();
    object["tries"] = heat.tries;
    object["refusals"] = heat.refusals;
    return object;
}

json::object object_of(const Statistics::Summary& summary) {
    json::array hot;
    for (const HotKeys::Heat& heat : summary.hot_keys) hot.emplace_back(object_of(heat));
    json::object object;
    object["series"] = object_of(summary.series, summary.now);
    object["hot_keys"] = std::move(hot);
    object["waiting"] = summary.waiting;
    object["uptime_ms"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(summary.uptime).count();
    return object;
}

json::object object_of(const RefusedTries::Entry& entry) {
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
    const bool complete = co_await backend_.count_is_complete(request);
    const auto time = co_await backend_.store_time(request);
    const Statistics::Summary summary = co_await backend_.statistics(request, over);
    json::object body = object_of(summary);
    body["held_complete"] = complete;
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
    const auto key = key_in(request.query);
    const std::size_t most = std::min(limit_in(request.query, usual), limits_.page_rows);
    backend_.reserve_answer(request, room_for(most));
    json::array entries;
    for (const auto& entry : backend_.refused_tries(request, key, most)) {
        entries.emplace_back(object_of(entry));
    }
    json::object body;
    body["refused"] = std::move(entries);
    co_return json_reply(200, body);
}

}  // namespace leasehold::server::v1
