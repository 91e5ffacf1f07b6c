#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/key_set.hpp>

#include "core/enum_table.hpp"
#include "server/options.hpp"
#include "server/quota.hpp"

// The tokens of clients. Of a secret that a client sends, the server knows only the digest.
namespace leasehold::server {

class JwtVerifier;
struct ClientCertificate;

enum class Role : std::uint8_t {
    use,     // take, keep and end its own leases
    see,     // read leases, history and events
    break_,  // end the lease of another owner
};

inline constexpr EnumTable<Role, std::string_view> role_names{
    {{Role::use, "use"}, {Role::see, "see"}, {Role::break_, "break"}}};

class Roles {
public:
    Roles() = default;
    Roles(std::initializer_list<Role> roles) {
        for (const Role role : roles) add(role);
    }

    void add(Role role) noexcept { bits_ |= bit(role); }
    [[nodiscard]] bool has(Role role) const noexcept { return (bits_ & bit(role)) != 0; }
    [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }

private:
    static unsigned bit(Role role) noexcept { return 1U << static_cast<unsigned>(role); }

    unsigned bits_ = 0;
};

// The keys that a token may touch with each of its roles. By default every key.
class KeyRules {
public:
    void limit(Role role, KeySet keys) { keys_[static_cast<std::size_t>(role)] = std::move(keys); }
    [[nodiscard]] const KeySet& of(Role role) const noexcept {
        return keys_[static_cast<std::size_t>(role)];
    }

private:
    std::array<KeySet, enum_size<Role>> keys_;
};

// The keys that these patterns match; 1 to Limits::key_patterns of them. The error says what would
// be right.
[[nodiscard]] std::expected<KeySet, std::string> keys_from(const std::vector<std::string>& texts);

// SHA-256. A token has 256 random bits, so it cannot be guessed from its digest.
using Digest = std::array<unsigned char, 32>;
[[nodiscard]] Digest digest_of(std::string_view token);
[[nodiscard]] std::string hex_of(const Digest& digest);

// The owner of a token that may act for every owner.
inline constexpr std::string_view any_owner = "*";

// How a client proves that a token is its own.
enum class Proof : std::uint8_t {
    secret,       // it sends the secret that has the token's digest
    certificate,  // it has the key of a certificate of that name
    jwt,          // it sends a JWT that names its owner and its roles
};

// How the names in a client's certificate begin: of the subject's common name, and of alternative
// names.
inline constexpr auto certificate_name_kinds =
    std::to_array<std::string_view>({"CN=", "DNS:", "URI:", "email:"});

struct Token {
    std::string name{};  // shown to people
    // Remembered with the leases that the token takes; empty: the name, see id_of(). The old and
    // the new token of a program have the same id, so that the new one goes on with the leases.
    std::string id{};
    Digest digest{};  // of the secret or of the JWT
    Roles roles{};
    // May act for this owner and for owners below it; `any_owner`: for every owner; empty: for
    // none.
    std::string owner{};
    std::optional<Rate> rate{};  // instead of ServerOptions::rate
    OwnQuotas quotas{};          // instead of ServerOptions::quotas
    // The token is refused from this moment on.
    std::optional<std::chrono::sys_seconds> expires{};
    Proof proof = Proof::secret;
    std::string certificate{};  // the name in the client's certificate: "DNS:shop.example"
    Digest jwt_key{};           // of the key that signed the JWT
    Digest jwt_rules{};         // of the rules by which the JWT was accepted
    KeyRules keys{};
};

// Rates, quotas and unsent answers are counted by it, and leases belong to it.
[[nodiscard]] inline const std::string& id_of(const Token& token) noexcept {
    return token.id.empty() ? token.name : token.id;
}
// Empty for a client without a token.
[[nodiscard]] inline const std::string& id_of(const Token* token) noexcept {
    static const std::string none;
    return token == nullptr ? none : id_of(*token);
}

using WallClock = std::chrono::system_clock;
[[nodiscard]] bool is_expired(const Token& token, WallClock::time_point now = WallClock::now());
// How long the token is accepted from now on; at most a year. Negative if it has expired.
[[nodiscard]] std::chrono::microseconds time_left(const Token& token);

// Whether the token may take and end leases in this owner's name.
[[nodiscard]] bool speaks_for(const Token& token, std::string_view owner) noexcept;

// Identifies clients: by the entries of the token file, and by the JWTs of an issuer if there is
// one. A token that has expired is not found. Owned by a shared_ptr. Thread-safe.
class Tokens : public std::enable_shared_from_this<Tokens> {
public:
    explicit Tokens(std::vector<Token> entries, std::shared_ptr<const JwtVerifier> jwt = {});

    // The token that a client shows; nullptr if it is not accepted. Takes the same time for every
    // secret, known or not. A signature costs much more: `remembered` finds no JWT that was not
    // verified before.
    enum class Jwts : std::uint8_t { verified, remembered };
    [[nodiscard]] std::shared_ptr<const Token> find(std::string_view shown,
                                                    Jwts jwts = Jwts::verified) const;
    // The token of a client with this certificate.
    [[nodiscard]] std::shared_ptr<const Token> find(const ClientCertificate& certificate) const;
    // A token that was found earlier, as it is now; nullptr if it is no longer accepted.
    [[nodiscard]] std::shared_ptr<const Token> now(const Token& token) const;

    [[nodiscard]] const std::vector<Token>& entries() const noexcept { return entries_; }
    [[nodiscard]] const std::shared_ptr<const JwtVerifier>& jwt() const noexcept { return jwt_; }

private:
    // nullptr if no token has it.
    [[nodiscard]] std::shared_ptr<const Token> entry_with(const Digest& digest) const;
    [[nodiscard]] std::shared_ptr<const Token> entry_with(std::string_view certificate,
                                                          std::chrono::sys_seconds until) const;

    const std::vector<Token> entries_;
    const std::shared_ptr<const JwtVerifier> jwt_;
};

}  // namespace leasehold::server
