// JWTs and key sets, made up by anybody who reaches the port or the file. The first byte chooses:
//
// - a JWT as it is: nothing is accepted, because nobody here has the private key;
// - claims, which are signed: what is accepted names an owner, and has not expired;
// - a key set.
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <leasehold/errors.hpp>
#include <leasehold/limits.hpp>

#include "core/text.hpp"
#include "server/access/jwt.hpp"

namespace leasehold::server {
namespace {

// 2026-11-16T00:00:00Z, as the seeds have it.
constexpr WallClock::time_point now{std::chrono::seconds{1'794'787'200}};

std::string base64url(std::string_view bytes) {
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    unsigned pending = 0;
    unsigned bits = 0;
    for (const char c : bytes) {
        pending = (pending << 8U | static_cast<unsigned char>(c)) & 0xFFFFU;
        for (bits += 8; bits >= 6;) text += alphabet[pending >> (bits -= 6) & 63U];
    }
    if (bits > 0) text += alphabet[pending << (6 - bits) & 63U];
    return text;
}

void require(bool holds, std::string_view what, std::string_view text) {
    if (holds) return;
    std::cerr << what << ": " << text << '\n';
    std::abort();
}

// An Ed25519 key that is the same in every run.
class Issuer {
public:
    [[nodiscard]] std::string key_set() const {
        std::array<unsigned char, 32> raw{};
        std::size_t size = raw.size();
        EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &size);
        return R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"one","x":")" +
               base64url({reinterpret_cast<const char*>(raw.data()), size}) + "\"}]}";
    }

    [[nodiscard]] std::string jwt(std::string_view claims) const {
        const std::string message =
            base64url(R"({"alg":"EdDSA","kid":"one"})") + '.' + base64url(claims);
        const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                              EVP_MD_CTX_free};
        EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get());
        std::array<unsigned char, 64> signature{};
        std::size_t size = signature.size();
        EVP_DigestSign(context.get(), signature.data(), &size,
                       reinterpret_cast<const unsigned char*>(message.data()), message.size());
        return message + '.' + base64url({reinterpret_cast<const char*>(signature.data()), size});
    }

private:
    static EVP_PKEY* made() {
        const std::array<unsigned char, 32> secret{1};
        return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.data(),
                                            secret.size());
    }

    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_{made(), EVP_PKEY_free};
};

void read_claims(const Issuer& issuer, const JwtVerifier& verifier, std::string_view claims) {
    const std::string jwt = issuer.jwt(claims);
    const auto token = verifier.find(jwt, digest_of(jwt), now);
    if (!token) return;
    require(token->owner != any_owner && !token->owner.empty(), "no owner", claims);
    require(!text_problem("", token->owner, Limits::owner_bytes, Lines::one), "bad owner", claims);
    require(!text_problem("", token->name, 100, Lines::one), "bad name", claims);
    require(token->id.find('/') == std::string::npos, "an id with a slash", claims);
    require(token->expires && !is_expired(*token, now), "expired", claims);
    require(verifier.find(jwt, digest_of(jwt), now) == token, "not remembered", claims);
    require(!verifier.find(jwt + "A", digest_of(jwt + "A"), now), "accepted with more", claims);
}

void read_keys(std::string_view text) {
    try {
        const VerificationKeys keys = VerificationKeys::parse(text);
        require(keys.size() > 0, "no key", text);
    } catch (const BadRequest&) {
        // The usual answer.
    }
}

void run(std::string_view input) {
    static const Issuer issuer;
    const JwtVerifier verifier{VerificationKeys::parse(issuer.key_set()),
                               {.issuer = "i", .audience = "a"}};
    if (input.empty()) return;
    const char choice = input.front();
    input.remove_prefix(1);
    if (choice == 'c') {
        read_claims(issuer, verifier, input);
    } else if (choice == 'k') {
        read_keys(input);
    } else {
        require(!verifier.find(input, digest_of(input), now), "accepted", input);
    }
}

}  // namespace
}  // namespace leasehold::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    leasehold::server::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
