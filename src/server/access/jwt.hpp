#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/access/tokens.hpp"
#include "server/access/verification_keys.hpp"

namespace leasehold::server {

// What a JWT must say, and where it says who its bearer is.
struct JwtRules {
    std::string issuer{};    // "iss" must be this
    std::string audience{};  // "aud" must be or contain this
    // The claims with the owner that the bearer speaks for, with the bearer's roles, and with the
    // keys that it may touch. A dot leads into an object, "realm_access.roles", unless a claim has
    // exactly that name.
    std::string owner_claim = "sub";
    std::string roles_claim = "roles";
    std::string keys_claim = "keys";  // empty: every bearer may touch every key
    std::string owner_prefix{};       // if not empty: the owner is owner_prefix/CLAIM
    // How far the clock of the issuer may differ from ours.
    std::chrono::seconds leeway{30};
};

// Turns signed JSON Web Tokens (RFC 7519) of one issuer into tokens. Thread-safe.
//
// 1. A JWT has at most 8 KiB and three parts in strict base64url; its header and its claims are
//    JSON without duplicate names.
// 2. "kid" names a key of the issuer; without it the issuer has only one. The key decides the
//    algorithm, and "alg" must name that one: neither "none" nor HS256 nor another key's algorithm
//    can be chosen by the client. Extensions ("crit") are refused.
// 3. OpenSSL verifies the signature.
// 4. "iss", "aud", "exp" and "nbf" are checked.
// 5. The claims for owner, roles and keys are read. Roles that Leasehold does not know are ignored.
//    Without a claim for keys the bearer may touch every key.
//
// A JWT that was verified is remembered by its digest, so that each of them is verified about once.
class JwtVerifier {
public:
    static constexpr std::size_t longest_jwt = 8 * 1024;
    static constexpr std::size_t remembered = 20'000;

    // Remembers at most this many JWTs.
    JwtVerifier(VerificationKeys keys, JwtRules rules, std::size_t most = remembered);

    // The token of the JWT's bearer; nullptr if the JWT is not valid now. `digest` is of the JWT.
    [[nodiscard]] std::shared_ptr<const Token> find(
        std::string_view jwt, const Digest& digest,
        WallClock::time_point now = WallClock::now()) const;

    // The same, for a JWT that was verified before; nullptr for any other.
    [[nodiscard]] std::shared_ptr<const Token> find_remembered(
        const Digest& digest, WallClock::time_point now = WallClock::now()) const;

    // How many JWTs were read and verified so far, or refused.
    [[nodiscard]] std::size_t verifications() const noexcept { return verifications_; }

    // Whether the JWT behind the token would be accepted as the same token: its issuer still has
    // the key that signed it, and the rules are the same.
    [[nodiscard]] bool still_trusts(const Token& token) const {
        return token.jwt_rules == rules_digest_ && keys_.has(token.jwt_key);
    }

    [[nodiscard]] const JwtRules& rules() const noexcept { return rules_; }
    [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }

private:
    using Remembered = std::map<Digest, std::shared_ptr<const Token>>;

    // Steps 1 to 5. Throws BadRequest.
    [[nodiscard]] Token verified(std::string_view jwt, WallClock::time_point now) const;
    [[nodiscard]] std::shared_ptr<const Token> recall(const Digest& digest) const;
    void remember(const Digest& digest, std::shared_ptr<const Token> token) const;

    const VerificationKeys keys_;
    const JwtRules rules_;
    const Digest rules_digest_;
    const std::size_t most_;
    mutable std::atomic<std::size_t> verifications_{0};
    mutable std::mutex mutex_;
    // Two generations: when the young one is full, it becomes the old one, which is forgotten.
    mutable Remembered young_;  // guarded by mutex_
    mutable Remembered old_;    // guarded by mutex_
};

}  // namespace leasehold::server
