#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <leasehold/language.hpp>

#include "server/http/header_fields.hpp"
#include "server/http/memory_budget.hpp"

// A request and its reply, as HTTP has them.
namespace leasehold::server {

class BodyStream;
struct Token;  // access/tokens.hpp

struct HttpRequest {
    // A body of up to this size does not count as a large one.
    static constexpr std::size_t small_body_bytes = 16 * 1024;

    std::string method;  // as it was sent: "GET", "LOCK"
    std::string target;  // in origin form: "/path?query"
    std::string content_type;
    std::string if_none_match;
    std::string accept;
    std::string accept_encoding;
    std::string accept_language;
    std::string host;
    std::optional<std::string> authorization;
    std::optional<std::string> origin;  // of the web page that sends the request, if one does
    bool asks_permission = false;       // Access-Control-Request-Method was sent for that page
    HeaderFields fields;                // all others, for the protocols
    std::string body;
    std::size_t body_bytes = 0;          // received, even if drop_body() was called since
    MemoryBudget::Share body_share{};    // of a large body
    MemoryBudget::Share answer_share{};  // of a large answer, until it is sent
    bool keep_alive = true;
    bool let_in = false;                   // the header has been checked
    bool takes_body = true;                // false once the route is known to take none
    std::shared_ptr<const Token> token{};  // set once the client is identified
    std::string audit_id{};                // names the request in the audit, if it is recorded
    std::size_t refused_in_batch = 0;      // by the token's rate and quotas, for the audit

    // The language in which the client wants the sentences of the reply.
    [[nodiscard]] Language language() const noexcept { return preferred_language(accept_language); }
    // Frees the memory of a body that was read.
    void drop_body();
};

struct Reply {
    unsigned status = 200;
    std::string body{};
    // The rest of the body. Outlives the server, and is sent without a copy.
    std::string_view static_body{};
    std::string_view content_type = "application/json";
    std::string_view cache_control = "no-store";
    std::string_view etag{};
    // Of the sentences in the body, if another client would have got them in another language.
    std::optional<Language> language{};
    std::string fields{};               // further header fields, each a whole line
    unsigned retry_after_s = 0;         // 0: the reply has no Retry-After
    std::string_view route{};           // the pattern of the URL; empty: no route has this URL
    std::string_view method = "other";  // as the routes write it, if one of them has it
    bool waited = false;                // the request waited for its key
    bool last = false;                  // the connection ends with this reply
    std::function<void()> if_unsent{};  // called if the client did not receive the reply
    // The body ends with the connection.
    bool open_ended = false;
    std::shared_ptr<BodyStream> stream{};  // that body
};

[[nodiscard]] Reply json_reply(unsigned status, const boost::json::object& body);

enum class AfterReply : std::uint8_t { keep_open, close };
enum class WithBody : std::uint8_t { no, yes };

// Appends the whole message, except for its static body. Without a Date field if `date` is empty.
// `connection_fields` are header fields of every reply on the connection, each a whole line.
void print(std::string& out, const Reply& reply, std::string_view date, AfterReply after,
           WithBody with_body, std::string_view connection_fields = {});

// "Sun, 15 Nov 2026 09:20:00 GMT"
[[nodiscard]] std::string http_date(std::chrono::sys_seconds now);

}  // namespace leasehold::server
