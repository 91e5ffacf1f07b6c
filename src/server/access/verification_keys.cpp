#include "server/access/verification_keys.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <leasehold/errors.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/secret_file.hpp"
#include "wire/json.hpp"

namespace leasehold::server {
namespace {

namespace json = boost::json;
using Handle = VerificationKey::Handle;

constexpr std::string_view rs256 = "RS256";
constexpr std::string_view es256 = "ES256";
constexpr std::string_view eddsa = "EdDSA";

constexpr int fewest_rsa_bits = 2048;
constexpr int most_rsa_bits = 8192;
constexpr std::size_t p256_bytes = 32;
constexpr std::size_t ed25519_bytes = 32;

template <auto free_object>
struct FreeWith {
    template <class Object>
    void operator()(Object* object) const noexcept {
        free_object(object);
    }
};
using BigNumber = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeWith<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, FreeWith<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, FreeWith<ECDSA_SIG_free>>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

BigNumber number_of(std::string_view big_endian) {
    return BigNumber{BN_bin2bn(bytes_of(big_endian), static_cast<int>(big_endian.size()), nullptr)};
}

// nullptr if OpenSSL does not accept the parameters as a public key.
Handle key_of(const char* type, const Builder& builder) {
    const Parameters parameters{OSSL_PARAM_BLD_to_param(builder.get())};
    const KeyContext context{EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
    EVP_PKEY* key = nullptr;
    if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
        ERR_clear_error();
        return nullptr;
    }
    return Handle{key};
}

// Odd and at least 3. A long one would only make verifying slow.
bool is_rsa_exponent(std::string_view big_endian) {
    constexpr std::size_t most_bytes = 8;
    const BigNumber number = number_of(big_endian);
    return number && big_endian.size() <= most_bytes && BN_is_odd(number.get()) == 1 &&
           BN_is_one(number.get()) == 0;
}

Handle rsa_key(std::string_view modulus, std::string_view exponent) {
    const BigNumber n = number_of(modulus);
    const BigNumber e = number_of(exponent);
    const Builder builder{OSSL_PARAM_BLD_new()};
    if (!n || !e || !builder ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
        return nullptr;
    }
    return key_of("RSA", builder);
}

Handle p256_key(const std::string& x, const std::string& y) {
    constexpr char uncompressed = 4;
    const std::string point = std::string(1, uncompressed) + x + y;
    const Builder builder{OSSL_PARAM_BLD_new()};
    if (!builder ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) !=
            1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
        return nullptr;
    }
    Handle key = key_of("EC", builder);
    const KeyContext context{key ? EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr)
                                 : nullptr};
    // The point must be on the curve.
    if (context && EVP_PKEY_public_check(context.get()) == 1) return key;
    ERR_clear_error();
    return nullptr;
}

Digest digest_of_key(const EVP_PKEY* key) {
    unsigned char* encoded = nullptr;
    const int size = i2d_PUBKEY(key, &encoded);
    if (size <= 0) throw BadRequest{"a key cannot be encoded"};
    const Digest digest =
        digest_of({reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(size)});
    OPENSSL_free(encoded);
    return digest;
}

// One key of the set.
class Jwk {
public:
    explicit Jwk(const json::value& value) : fields_{value, "a key of the key set"} {}

    // Nothing if the key is of a kind, or for a purpose, that is not for us.
    [[nodiscard]] std::optional<VerificationKey> read() {
        const std::string type = fields_.text("kty");
        const std::string id = fields_.optional_text("kid").value_or("");
        if (type == "oct" || fields_.has("k")) {
            throw BadRequest{"the key '" + id +
                             "' is symmetric: who can check such a JWT can also make one"};
        }
        if (fields_.has("d")) {
            throw BadRequest{"the key '" + id +
                             "' has its private part, which does not belong here"};
        }
        if (fields_.optional_text("use").value_or("sig") != "sig" || !may_verify()) return {};
        const std::string curve = fields_.optional_text("crv").value_or("");
        if (type == "RSA") return made(id, rs256, rsa(id));
        if (type == "EC" && curve == "P-256") return made(id, es256, p256());
        if (type == "OKP" && curve == "Ed25519") return made(id, eddsa, ed25519());
        return {};
    }

private:
    [[nodiscard]] std::optional<VerificationKey> made(const std::string& id,
                                                      std::string_view algorithm, Handle key) {
        if (!key) throw BadRequest{"the key '" + id + "' is not a public key"};
        const auto named = fields_.optional_text("alg");
        if (named && *named != algorithm) return {};  // PS256, say
        return VerificationKey{id, algorithm, std::move(key)};
    }

    [[nodiscard]] bool may_verify() {
        const json::value* const operations = fields_.optional("key_ops");
        if (operations == nullptr || !operations->is_array()) return true;
        return std::ranges::any_of(operations->get_array(),
                                   [](const json::value& one) { return one == "verify"; });
    }

    [[nodiscard]] std::string bytes(std::string_view name) {
        const auto decoded = decoded_base64url(fields_.text(name));
        if (!decoded) fields_.refuse(name, "must be base64url without padding");
        return *decoded;
    }

    [[nodiscard]] Handle rsa(const std::string& id) {
        const std::string exponent = bytes("e");
        Handle key = rsa_key(bytes("n"), exponent);
        if (!key || !is_rsa_exponent(exponent)) return nullptr;
        const int bits = EVP_PKEY_get_bits(key.get());
        if (bits < fewest_rsa_bits || bits > most_rsa_bits) {
            throw BadRequest{"the RSA key '" + id + "' has " + std::to_string(bits) +
                             " bits; 2048 to 8192 are accepted"};
        }
        return key;
    }

    [[nodiscard]] Handle p256() {
        const std::string x = bytes("x");
        const std::string y = bytes("y");
        if (x.size() != p256_bytes || y.size() != p256_bytes) return nullptr;
        return p256_key(x, y);
    }

    [[nodiscard]] Handle ed25519() {
        const std::string x = bytes("x");
        if (x.size() != ed25519_bytes) return nullptr;
        return Handle{
            EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size())};
    }

    wire::Fields fields_;
};

// A JWT has the two numbers of the signature one after the other. OpenSSL takes them as ASN.1.
std::optional<std::string> as_asn1(std::string_view signature) {
    if (signature.size() != 2 * p256_bytes) return std::nullopt;
    const Signature pair{ECDSA_SIG_new()};
    BigNumber r = number_of(signature.substr(0, p256_bytes));
    BigNumber s = number_of(signature.substr(p256_bytes));
    if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return std::nullopt;
    (void)r.release();
    (void)s.release();
    unsigned char* encoded = nullptr;
    const int size = i2d_ECDSA_SIG(pair.get(), &encoded);
    if (size <= 0) return std::nullopt;
    std::string text{reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(size)};
    OPENSSL_free(encoded);
    return text;
}

}  // namespace

std::optional<std::string> decoded_base64url(std::string_view text) {
    static constexpr auto values = [] {
        std::array<signed char, 256> all{};
        all.fill(-1);
        constexpr std::string_view alphabet =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        for (std::size_t i = 0; i < alphabet.size(); ++i) {
            all[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
        }
        return all;
    }();
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    unsigned pending = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const int value = values[static_cast<unsigned char>(c)];
        if (value < 0) return std::nullopt;
        pending = (pending << 6U | static_cast<unsigned>(value)) & 0xFFFFU;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes += static_cast<char>(pending >> bits & 0xFFU);
    }
    const bool whole = bits < 6 && (pending & ((1U << bits) - 1)) == 0;
    return whole ? std::optional{std::move(bytes)} : std::nullopt;
}

void VerificationKey::Free::operator()(evp_pkey_st* key) const noexcept {
    EVP_PKEY_free(key);
}

VerificationKey::VerificationKey(std::string id, std::string_view algorithm, Handle key)
    : id_{std::move(id)},
      algorithm_{algorithm},
      key_{std::move(key)},
      digest_{digest_of_key(key_.get())} {}

bool VerificationKey::verifies(std::string_view message, std::string_view signature) const {
    std::string asn1;
    if (algorithm_ == es256) {
        auto encoded = as_asn1(signature);
        if (!encoded) return false;
        asn1 = *std::move(encoded);
        signature = asn1;
    }
    const DigestContext context{EVP_MD_CTX_new()};
    if (!context) throw std::bad_alloc{};
    // Ed25519 hashes by itself.
    const EVP_MD* const hash = algorithm_ == eddsa ? nullptr : EVP_sha256();
    const bool verified =
        EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key_.get()) == 1 &&
        EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message),
                         message.size()) == 1;
    const bool lacks_memory = ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE;
    ERR_clear_error();
    if (!verified && lacks_memory) throw std::bad_alloc{};
    return verified;
}

VerificationKeys VerificationKeys::parse(std::string_view text) {
    if (text.size() > most_bytes) throw BadRequest{"a key set has at most 1 MiB"};
    const json::value value = wire::parse(text);
    wire::Fields fields{value, "the key set"};
    const json::value& list = fields.required("keys");
    if (!list.is_array()) fields.refuse("keys", "must be an array");
    if (list.get_array().size() > most_keys) {
        throw BadRequest{"a key set has at most " + std::to_string(most_keys) + " keys"};
    }
    VerificationKeys all;
    for (const json::value& one : list.get_array()) {
        auto key = Jwk{one}.read();
        if (!key) continue;
        const auto same = std::ranges::find(all.keys_, key->id(), &VerificationKey::id);
        if (same != all.keys_.end()) {
            throw BadRequest{"two keys have the id '" + key->id() + "'"};
        }
        all.keys_.push_back(*std::move(key));
    }
    if (all.keys_.empty()) {
        throw BadRequest{
            "there is no key for RS256, ES256 (P-256) or EdDSA (Ed25519) in the key set"};
    }
    return all;
}

VerificationKeys VerificationKeys::read(const std::string& path) {
    const auto text = read_regular_file(path, most_bytes);
    if (!text) throw BadRequest{"the key set '" + path + "' cannot be read: " + text.error()};
    try {
        return parse(*text);
    } catch (const BadRequest& bad) {
        throw BadRequest{path + ": " + bad.what()};
    }
}

const VerificationKey* VerificationKeys::find(const std::optional<std::string>& id) const {
    if (!id) return keys_.size() == 1 ? &keys_.front() : nullptr;
    const auto found = std::ranges::find(keys_, *id, &VerificationKey::id);
    return found != keys_.end() ? &*found : nullptr;
}

bool VerificationKeys::has(const Digest& digest) const {
    return std::ranges::find(keys_, digest, &VerificationKey::digest) != keys_.end();
}

}  // namespace leasehold::server
