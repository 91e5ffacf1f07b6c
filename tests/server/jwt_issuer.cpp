#include "server/jwt_issuer.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace leasehold::testing {
namespace {

namespace json = boost::json;

void require_done(bool done) {
    if (!done) throw std::runtime_error{"a key for JWTs cannot be used"};
}

std::string number_in(const EVP_PKEY* key, const char* name, std::size_t bytes = 0) {
    BIGNUM* number = nullptr;
    require_done(EVP_PKEY_get_bn_param(key, name, &number) == 1);
    const std::unique_ptr<BIGNUM, decltype(&BN_free)> owned{number, BN_free};
    std::string text(bytes == 0 ? static_cast<std::size_t>(BN_num_bytes(number)) : bytes, '\0');
    require_done(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()),
                              static_cast<int>(text.size())) >= 0);
    return text;
}

EVP_PKEY* made(const std::string& algorithm) {
    if (algorithm == "RS256") return EVP_RSA_gen(2048);
    if (algorithm == "ES256") return EVP_EC_gen("P-256");
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
}

// The two numbers of an ASN.1 signature one after the other.
std::string plain_pair(const std::string& asn1) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(asn1.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair{
        d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(asn1.size())), ECDSA_SIG_free};
    require_done(pair != nullptr);
    std::string both(64, '\0');
    auto* const to = reinterpret_cast<unsigned char*>(both.data());
    require_done(BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), to, 32) == 32);
    require_done(BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), to + 32, 32) == 32);
    return both;
}

}  // namespace

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

JwtKey::JwtKey(std::string algorithm, std::string id)
    : algorithm_{std::move(algorithm)}, id_{std::move(id)}, key_{made(algorithm_), EVP_PKEY_free} {
    require_done(key_ != nullptr);
}

json::object JwtKey::jwk() const {
    json::object key;
    key["kid"] = id_;
    key["use"] = "sig";
    if (algorithm_ == "RS256") {
        key["kty"] = "RSA";
        key["n"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_RSA_N));
        key["e"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_RSA_E));
    } else if (algorithm_ == "ES256") {
        key["kty"] = "EC";
        key["crv"] = "P-256";
        key["x"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32));
        key["y"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32));
    } else {
        std::array<unsigned char, 32> raw{};
        std::size_t size = raw.size();
        require_done(EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &size) == 1);
        key["kty"] = "OKP";
        key["crv"] = "Ed25519";
        key["x"] = base64url({reinterpret_cast<const char*>(raw.data()), size});
    }
    return key;
}

std::string JwtKey::signature_of(std::string_view message) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free};
    const EVP_MD* const hash = algorithm_ == "EdDSA" ? nullptr : EVP_sha256();
    require_done(EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key_.get()) == 1);
    std::string signature(1024, '\0');
    std::size_t size = signature.size();
    require_done(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                &size, reinterpret_cast<const unsigned char*>(message.data()),
                                message.size()) == 1);
    signature.resize(size);
    return algorithm_ == "ES256" ? plain_pair(signature) : signature;
}

json::object JwtKey::header() const {
    return {{"alg", algorithm_}, {"kid", id_}, {"typ", "JWT"}};
}

std::string JwtKey::jwt(const json::object& header, const json::object& claims) const {
    const std::string message =
        base64url(json::serialize(header)) + '.' + base64url(json::serialize(claims));
    return message + '.' + base64url(signature_of(message));
}

std::string key_set(const std::vector<const JwtKey*>& keys) {
    json::array all;
    for (const JwtKey* const key : keys) all.emplace_back(key->jwk());
    return json::serialize(json::object{{"keys", std::move(all)}});
}

json::object claims_of(std::string_view owner, const std::vector<std::string>& roles) {
    return {{"iss", "https://login.example"},
            {"aud", "leasehold"},
            {"exp", seconds_from_now(3600)},
            {"sub", owner},
            {"roles", json::array(roles.begin(), roles.end())}};
}

std::int64_t seconds_from_now(std::int64_t seconds) {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
               .count() +
           seconds;
}

}  // namespace leasehold::testing
