#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <leasehold/store.hpp>

#include "server/access/tokens.hpp"
#include "server/http/message.hpp"
#include "server/http/target.hpp"

// Which role a request needs. Both tables are in access.cpp; what is in neither is not served.
namespace leasehold::server {

// `use_or_see`: either will do.
enum class Need : std::uint8_t { nothing, a_token, use, use_or_see, see, break_ };

// Renewals and releases are counted apart from the rest, so that many tries never cost a lease.
// `by_request`: when it is known what for.
enum class Pace : std::uint8_t { asks, keeps, by_request };

struct Rule {
    Need need;
    Pace pace;
};

// Of a URL and a method; nothing where the URL does not take it.
[[nodiscard]] std::optional<Rule> rule_of(Resource resource, Method method, bool with_lock_token);

// Of a request to the store, as a batch has it.
[[nodiscard]] Rule rule_of(const Request& request);

// Why this token may not do so; nothing where it may. The text goes to the client.
struct Denial {
    std::string detail;
    std::string_view role{};  // the one that is missing, where it is that
};
[[nodiscard]] std::optional<Denial> denial(const Token& token, Need need);
// The same for speaking in this owner's name.
[[nodiscard]] std::optional<Denial> denial(const Token& token, std::string_view owner);
// The same with the owner that the request speaks for.
[[nodiscard]] std::optional<Denial> denial(const Token& token, const Request& request);

// Who breaks a lease is written down: the token's name, whatever else the client says.
void sign(Request& request, const Token& token);

}  // namespace leasehold::server
