#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/access/tokens.hpp"
#include "server/http/problem.hpp"
#include "server/requests.hpp"

// Which role a request needs, and which rate counts it. The rules of URLs are in the protocols'
// route tables; the rules of requests to the store, which a batch carries, are here.
namespace leasehold::server {

// `use_or_see`: one of the two roles is enough.
enum class Need : std::uint8_t { nothing, a_token, use, use_or_see, see, break_ };

struct Rule {
    Need need;
    Pace pace;
};

// The rule of a request to the store.
[[nodiscard]] Rule rule_of(const Request& request);

// Why a token may not do something. The text goes to the client.
struct Denial {
    Detail detail;
    std::string_view role{};  // the missing role, if that is the reason
};
// Nothing if the token may.
[[nodiscard]] std::optional<Denial> denial(const Token& token, Need need);
// The same for acting in this owner's name.
[[nodiscard]] std::optional<Denial> denial(const Token& token, std::string_view owner);
// The same for doing what is needed with this key.
[[nodiscard]] std::optional<Denial> denial(const Token& token, Need need, const LockKey& key);
// The same for a request to the store: its rule, the owner and the keys that it names. Requests
// that list rows of several keys are allowed; their answers must be limited to visible_keys().
[[nodiscard]] std::optional<Denial> denial(const Token& token, const Request& request);
// The same for seeing numbers that count the leases of all keys.
[[nodiscard]] std::optional<Denial> denial_of_totals(const Token& token);

// The keys whose leases the client may see; every key without a token.
[[nodiscard]] const KeySet& visible_keys(const Token* token) noexcept;

// Writes the token into a request that takes or ends leases, before what the client wrote there: a
// server that passes on the requests of its own clients names their tokens. Limits a ReleaseAll to
// the keys that the token may use, and to the leases that it took unless it may break the others.
void sign(Request& request, const Token& token);

}  // namespace leasehold::server
