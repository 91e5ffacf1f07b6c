#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_table.hpp"
#include "server/options.hpp"
#include "server/quota.hpp"

// The tokens of clients. A client sends its token; the server knows only the token's digest.
namespace leasehold::server {

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

// SHA-256. A token has 256 random bits, so it cannot be guessed from its digest.
using Digest = std::array<unsigned char, 32>;
[[nodiscard]] Digest digest_of(std::string_view token);
[[nodiscard]] std::string hex_of(const Digest& digest);

// The owner of a token that may act for every owner.
inline constexpr std::string_view any_owner = "*";

struct Token {
    std::string name{};  // shown to people
    // Remembered with the leases that the token takes; empty: the name, see id_of(). The old and
    // the new token of a program have the same id, so that the new one goes on with the leases.
    std::string id{};
    Digest digest{};
    Roles roles{};
    // May act for this owner and for owners below it; `any_owner`: for every owner; empty: for
    // none.
    std::string owner{};
    std::optional<Rate> rate{};  // instead of ServerOptions::rate
    OwnQuotas quotas{};          // instead of ServerOptions::quotas
};

[[nodiscard]] inline const std::string& id_of(const Token& token) noexcept {
    return token.id.empty() ? token.name : token.id;
}

// Whether the token may take and end leases in this owner's name.
[[nodiscard]] bool speaks_for(const Token& token, std::string_view owner) noexcept;

class Tokens {
public:
    explicit Tokens(std::vector<Token> tokens) : tokens_{std::move(tokens)} {}

    // nullptr if it is unknown. Takes the same time for every token, known or not.
    [[nodiscard]] const Token* find(std::string_view token) const;
    [[nodiscard]] const Token* find(const Digest& digest) const;
    [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

private:
    std::vector<Token> tokens_;
};

}  // namespace leasehold::server
