#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <leasehold/store.hpp>

#include "server/http/body_budget.hpp"

// What a client asks and what it is answered, as HTTP has it.
namespace leasehold::server {

class EventStream;
enum class Resource : std::uint8_t;  // target.hpp
struct Token;                        // tokens.hpp

enum class Method : std::uint8_t { get, head, post, patch, del, options, other };

[[nodiscard]] std::string_view name_of(Method method) noexcept;

struct HttpRequest {
    // A connection that had a larger body gives the memory back.
    static constexpr std::size_t kept_body_bytes = 16 * 1024;

    Method method = Method::other;
    std::string target;
    std::string content_type;
    std::optional<std::string> lock_token;
    std::string if_none_match;
    std::string accept;
    std::string accept_encoding;
    std::optional<std::string> last_event_id;
    std::string host;
    std::optional<std::string> authorization;
    std::optional<std::string> origin;  // the site of the page that asks, where it is one
    bool asks_permission = false;       // for that page: Access-Control-Request-Method is there
    std::string body;
    std::size_t body_bytes = 0;      // that came, whether or not they are still here
    BodyBudget::Share body_share{};  // where it is large
    bool keep_alive = true;
    bool let_in = false;                   // what the header decides is decided
    std::shared_ptr<const Token> token{};  // whose request it is, once that is known

    // Nobody reads it any more: its memory is for others.
    void drop_body();
};

struct Reply {
    unsigned status = 200;
    std::string body{};
    std::string_view content_type = "application/json";
    std::string_view cache_control = "no-store";
    std::string_view etag{};
    std::string fields{};                // more of them, each a whole line
    unsigned retry_after_s = 0;          // 0: not said
    std::optional<Resource> resource{};  // what was asked for, as Served has it
    bool waited = false;                 // for a key, as Served has it
    std::string_view allow{};            // the methods this resource has, for a 405
    bool last = false;                   // the connection ends with it
    std::function<void()> if_unsent{};   // undoes what the client will never know of
    // The body has no end of its own: it ends with the connection.
    bool open_ended = false;
    std::shared_ptr<EventStream> events{};  // that body
};

[[nodiscard]] Reply json_reply(unsigned status, const boost::json::object& body);

[[nodiscard]] Reply not_found();
// Nothing was done; asking again in a moment may help.
[[nodiscard]] Reply overloaded(std::string_view detail);
[[nodiscard]] Reply too_often(std::string_view detail, std::chrono::duration<double> wait);

// An RFC 9457 problem document; `fields` are added to it.
[[nodiscard]] Reply problem(unsigned status, std::string_view code, std::string_view detail,
                            boost::json::object fields = {});
[[nodiscard]] Reply problem(const Refusal& refusal);
[[nodiscard]] Reply problem(const StoreFault& fault);

// Which request of a batch is meant, in front of what is wrong with it; nothing where it is alone.
[[nodiscard]] std::string which_of(std::size_t index, std::size_t requests);

enum class AfterReply : std::uint8_t { keep_open, close };
enum class WithBody : std::uint8_t { no, yes };

// Appends the whole message.
void print(std::string& out, const Reply& reply, std::string_view date, AfterReply after,
           WithBody with_body);

// "Sun, 15 Nov 2026 09:20:00 GMT"
[[nodiscard]] std::string http_date(std::chrono::sys_seconds now);

}  // namespace leasehold::server
