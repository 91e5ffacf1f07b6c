#include "server/http/message.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "server/http/status.hpp"
#include "wire/json.hpp"

namespace leasehold::server {

namespace json = boost::json;

void HttpRequest::drop_body() {
    empty_for_reuse(body);
    body_share.give_back();
}

Reply json_reply(unsigned status, const json::object& body) {
    return {.status = status, .body = wire::print(body)};
}

void print(std::string& out, const Reply& reply, std::string_view date, AfterReply after,
           WithBody with_body, std::string_view connection_fields) {
    const auto field = [&out](std::string_view name, std::string_view value) {
        out.append(name).append(": ").append(value).append("\r\n");
    };
    out.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ");
    out.append(reason_of(reply.status)).append("\r\n");
    field("Cache-Control", reply.cache_control);
    if (!date.empty()) field("Date", date);
    field("X-Content-Type-Options", "nosniff");  // no browser takes JSON for a page or a script
    out.append(connection_fields);
    const bool bodiless = reply.status == 204 || reply.status == 304;
    if (!bodiless) field("Content-Type", reply.content_type);
    if (reply.open_ended) {
        field("X-Accel-Buffering", "no");  // a proxy must pass it on at once
    } else if (!bodiless) {
        field("Content-Length", std::to_string(reply.body.size() + reply.static_body.size()));
    }
    if (!reply.etag.empty()) field("ETag", reply.etag);
    if (reply.language) {
        field("Content-Language", tag_of(*reply.language));
        field("Vary", "Accept-Language");
    }
    if (reply.retry_after_s > 0) field("Retry-After", std::to_string(reply.retry_after_s));
    out.append(reply.fields);
    if (after == AfterReply::close) field("Connection", "close");
    out.append("\r\n");
    if (with_body == WithBody::yes) out.append(reply.body);
}

std::string http_date(std::chrono::sys_seconds now) {
    static constexpr std::array weekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto day = std::chrono::floor<std::chrono::days>(now);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss time{now - day};
    return fmt::format(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
        weekdays[std::chrono::weekday{day}.c_encoding()], static_cast<unsigned>(date.day()),
        months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
        time.hours().count(), time.minutes().count(), time.seconds().count());
}

}  // namespace leasehold::server
