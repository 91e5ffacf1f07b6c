#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/tokens.hpp"

struct evp_pkey_st;

// The public keys of an issuer of JWTs, as a JSON Web Key Set (RFC 7517) has them.
namespace leasehold::server {

// The bytes that base64url (RFC 4648) encodes; nothing if the text has padding, another character,
// or bits that no encoder writes. So no two texts stand for the same bytes.
[[nodiscard]] std::optional<std::string> decoded_base64url(std::string_view text);

// A public key, and the one algorithm that it is for. Thread-safe.
class VerificationKey {
public:
    struct Free {
        void operator()(evp_pkey_st* key) const noexcept;
    };
    using Handle = std::unique_ptr<evp_pkey_st, Free>;

    // `algorithm` is "RS256", "ES256" or "EdDSA", and lives as long as the program.
    VerificationKey(std::string id, std::string_view algorithm, Handle key);

    [[nodiscard]] const std::string& id() const noexcept { return id_; }  // "kid"; may be empty
    [[nodiscard]] std::string_view algorithm() const noexcept { return algorithm_; }
    // Of the public key itself.
    [[nodiscard]] const Digest& digest() const noexcept { return digest_; }

    // Whether this key's private half made the signature for the message.
    [[nodiscard]] bool verifies(std::string_view message, std::string_view signature) const;

private:
    std::string id_;
    std::string_view algorithm_;
    Handle key_;
    Digest digest_;
};

class VerificationKeys {
public:
    static constexpr std::size_t most_keys = 100;
    static constexpr std::size_t most_bytes = 1 << 20;

    // Reads a key set: RSA keys of 2048 to 8192 bits for RS256, P-256 keys for ES256, Ed25519 keys
    // for EdDSA. Leaves out keys of other kinds and keys that are not for signatures. Throws
    // BadRequest if there is a private or a symmetric key, if two keys have one id, or if no key is
    // left.
    [[nodiscard]] static VerificationKeys parse(std::string_view text);
    // The same with a file, which the message names.
    [[nodiscard]] static VerificationKeys read(const std::string& path);

    // The key that a JWT names by its id. Without an id: the only key, if there is only one.
    [[nodiscard]] const VerificationKey* find(const std::optional<std::string>& id) const;
    [[nodiscard]] bool has(const Digest& digest) const;
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

private:
    std::vector<VerificationKey> keys_;
};

}  // namespace leasehold::server
