#include "server/http/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "wire/messages.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;

std::string_view reason_of(unsigned status) {
    switch (status) {
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 304: return "Not Modified";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 406: return "Not Acceptable";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 413: return "Content Too Large";
        case 415: return "Unsupported Media Type";
        case 417: return "Expectation Failed";
        case 421: return "Misdirected Request";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 503: return "Service Unavailable";
        case 505: return "HTTP Version Not Supported";
        default: return "";
    }
}

// When it is worth asking again: when the first of the holders may be gone.
unsigned retry_after(const Refusal& refusal) {
    constexpr std::chrono::seconds shortest{1};
    constexpr std::chrono::seconds longest{60};
    if (refusal.holders.empty()) return static_cast<unsigned>(shortest.count());
    const Time first = std::ranges::min(refusal.holders, {}, &Holder::until).until;
    if (first == never) return static_cast<unsigned>(longest.count());
    const auto left = std::chrono::ceil<std::chrono::seconds>(first - refusal.store_now);
    return static_cast<unsigned>(std::clamp(left, shortest, longest).count());
}

}  // namespace

void HttpRequest::drop_body() {
    body.clear();
    if (body.capacity() > kept_body_bytes) body.shrink_to_fit();
    body_share.give_back();
}

std::string_view name_of(Method method) noexcept {
    switch (method) {
        case Method::get: return "GET";
        case Method::head: return "HEAD";
        case Method::post: return "POST";
        case Method::patch: return "PATCH";
        case Method::del: return "DELETE";
        case Method::options: return "OPTIONS";
        case Method::other: break;
    }
    return "other";
}

Reply json_reply(unsigned status, const json::object& body) {
    return {.status = status, .body = wire::print(body)};
}

Reply not_found() {
    return problem(404, "not_found", "there is nothing under this URL");
}

Reply overloaded(std::string_view detail) {
    Reply reply = problem(503, "overloaded", detail);
    reply.retry_after_s = 1;
    return reply;
}

Reply too_often(std::string_view detail, std::chrono::duration<double> wait) {
    constexpr double longest_s = 3600;
    Reply reply = problem(429, "too_many_requests", detail);
    reply.retry_after_s =
        static_cast<unsigned>(std::clamp(std::ceil(wait.count()), 1.0, longest_s));
    return reply;
}

Reply problem(unsigned status, std::string_view code, std::string_view detail,
              json::object fields) {
    fields["type"] = "urn:leasehold:" + std::string{code};
    fields["title"] = reason_of(status);
    fields["status"] = status;
    fields["detail"] = detail;
    fields["code"] = code;
    Reply reply = json_reply(status, fields);
    reply.content_type = "application/problem+json";
    return reply;
}

std::string which_of(std::size_t index, std::size_t requests) {
    return requests == 1 ? "" : "requests[" + std::to_string(index) + "]: ";
}

Reply problem(const Refusal& refusal) {
    const bool gone = refusal.kind == Refusal::Kind::gone;
    Reply reply = problem(gone ? 410 : 409, to_string(refusal.kind), refusal.message(),
                          wire::to_json(refusal));
    if (!gone) reply.retry_after_s = retry_after(refusal);
    return reply;
}

Reply problem(const StoreFault& fault) {
    if (fault.cause() == StoreFault::Cause::lock_id_in_use) {
        return problem(409, "lock_id_in_use", fault.what());
    }
    Reply reply = problem(503, "fault", fault.what(), wire::to_json(fault));
    reply.retry_after_s = 1;
    return reply;
}

void print(std::string& out, const Reply& reply, std::string_view date, AfterReply after,
           WithBody with_body) {
    const auto field = [&out](std::string_view name, std::string_view value) {
        out.append(name).append(": ").append(value).append("\r\n");
    };
    out.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ");
    out.append(reason_of(reply.status)).append("\r\n");
    field("Cache-Control", reply.cache_control);
    field("Date", date);
    const bool bodiless = reply.status == 204 || reply.status == 304;
    if (!bodiless) field("Content-Type", reply.content_type);
    if (reply.open_ended) {
        field("X-Accel-Buffering", "no");  // a proxy must not keep it back
    } else if (!bodiless) {
        field("Content-Length", std::to_string(reply.body.size()));
    }
    if (!reply.etag.empty()) field("ETag", reply.etag);
    if (reply.retry_after_s > 0) field("Retry-After", std::to_string(reply.retry_after_s));
    if (!reply.allow.empty()) field("Allow", reply.allow);
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
