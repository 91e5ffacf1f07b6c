#include "server/access/tokens.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <leasehold/limits.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "server/access/jwt.hpp"
#include "server/http/client_connection.hpp"

namespace leasehold::server {

Digest digest_of(std::string_view token) {
    // SHA-256 fails for lack of memory only.
    static const EVP_MD* const sha256 = [] {
        const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
        return found != nullptr ? found : throw std::bad_alloc{};
    }();
    Digest digest{};
    if (EVP_Digest(token.data(), token.size(), digest.data(), nullptr, sha256, nullptr) != 1) {
        throw std::bad_alloc{};
    }
    return digest;
}

std::string hex_of(const Digest& digest) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : digest) text.append({digits[byte >> 4U], digits[byte & 15U]});
    return text;
}

std::expected<KeySet, std::string> keys_from(const std::vector<std::string>& texts) {
    if (texts.empty() || texts.size() > Limits::key_patterns) {
        return std::unexpected{"takes 1 to " + std::to_string(Limits::key_patterns) +
                               R"( patterns of keys, as in ["Order/*", "lfs:game/*"])"};
    }
    std::vector<KeyPattern> patterns;
    for (const std::string& text : texts) {
        auto pattern = KeyPattern::parse(text);
        if (!pattern) return std::unexpected{std::move(pattern.error())};
        patterns.push_back(*std::move(pattern));
    }
    return KeySet{std::move(patterns)};
}

// The wall clock's own unit, nanoseconds, ends in the year 2262, and a token may live longer.
bool is_expired(const Token& token, WallClock::time_point now) {
    return token.expires && std::chrono::floor<std::chrono::seconds>(now) >= *token.expires;
}

std::chrono::microseconds time_left(const Token& token) {
    constexpr std::chrono::hours longest{24 * 365};
    const auto now = std::chrono::floor<std::chrono::microseconds>(WallClock::now());
    if (!token.expires) return longest;
    return std::min<std::chrono::microseconds>(*token.expires - now, longest);
}

bool speaks_for(const Token& token, std::string_view owner) noexcept {
    if (token.owner == any_owner) return true;
    if (token.owner.empty() || !owner.starts_with(token.owner)) return false;
    return owner.size() == token.owner.size() || owner[token.owner.size()] == '/';
}

Tokens::Tokens(std::vector<Token> entries, std::shared_ptr<const JwtVerifier> jwt)
    : entries_{std::move(entries)}, jwt_{std::move(jwt)} {}

std::shared_ptr<const Token> Tokens::find(std::string_view shown, Jwts jwts) const {
    const Digest digest = digest_of(shown);
    if (auto entry = entry_with(digest)) return entry;
    if (!jwt_ || std::ranges::count(shown, '.') != 2) return nullptr;
    return jwts == Jwts::verified ? jwt_->find(shown, digest) : jwt_->find_remembered(digest);
}

std::shared_ptr<const Token> Tokens::find(const ClientCertificate& certificate) const {
    for (const std::string& name : certificate.names) {
        if (auto entry = entry_with(name, certificate.valid_until)) return entry;
    }
    return nullptr;
}

std::shared_ptr<const Token> Tokens::now(const Token& token) const {
    switch (token.proof) {
        case Proof::secret: return entry_with(token.digest);
        case Proof::certificate: return entry_with(token.certificate, *token.expires);
        case Proof::jwt: break;
    }
    if (!jwt_ || !jwt_->still_trusts(token) || is_expired(token)) return nullptr;
    return std::make_shared<const Token>(token);
}

std::shared_ptr<const Token> Tokens::entry_with(const Digest& digest) const {
    const Token* found = nullptr;
    for (const Token& entry : entries_) {
        const bool same = CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0;
        found = same && entry.proof == Proof::secret ? &entry : found;
    }
    if (found == nullptr || is_expired(*found)) return nullptr;
    return {shared_from_this(), found};
}

std::shared_ptr<const Token> Tokens::entry_with(std::string_view certificate,
                                                std::chrono::sys_seconds until) const {
    for (const Token& entry : entries_) {
        if (entry.proof != Proof::certificate || entry.certificate != certificate) continue;
        Token token = entry;
        // The certificate's own end, at the latest.
        token.expires = std::min(entry.expires.value_or(until), until);
        if (is_expired(token)) return nullptr;
        return std::make_shared<const Token>(std::move(token));
    }
    return nullptr;
}

}  // namespace leasehold::server
