#include "server/access/tokens.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace leasehold::server {

Digest digest_of(std::string_view token) {
    static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    Digest digest{};
    if (EVP_Digest(token.data(), token.size(), digest.data(), nullptr, sha256, nullptr) != 1) {
        throw std::runtime_error{"SHA-256 cannot be computed"};
    }
    return digest;
}

std::string hex_of(const Digest& digest) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : digest) text.append({digits[byte >> 4U], digits[byte & 15U]});
    return text;
}

bool speaks_for(const Token& token, std::string_view owner) noexcept {
    if (token.owner == any_owner) return true;
    if (token.owner.empty() || !owner.starts_with(token.owner)) return false;
    return owner.size() == token.owner.size() || owner[token.owner.size()] == '/';
}

const Token* Tokens::find(std::string_view token) const {
    return find(digest_of(token));
}

const Token* Tokens::find(const Digest& digest) const {
    const Token* found = nullptr;
    for (const Token& known : tokens_) {
        const bool same = CRYPTO_memcmp(known.digest.data(), digest.data(), digest.size()) == 0;
        found = same ? &known : found;
    }
    return found;
}

}  // namespace leasehold::server
