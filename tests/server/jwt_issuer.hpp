#pragma once

#include <boost/json/object.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

namespace leasehold::testing {

[[nodiscard]] std::string base64url(std::string_view bytes);

// A key that signs JWTs, made anew.
class JwtKey {
public:
    // `algorithm`: RS256, ES256 or EdDSA.
    JwtKey(std::string algorithm, std::string id);

    [[nodiscard]] const std::string& algorithm() const { return algorithm_; }
    [[nodiscard]] const std::string& id() const { return id_; }

    // The public key for a key set.
    [[nodiscard]] boost::json::object jwk() const;
    [[nodiscard]] std::string signature_of(std::string_view message) const;

    // {"alg": ..., "kid": ...}
    [[nodiscard]] boost::json::object header() const;
    [[nodiscard]] std::string jwt(const boost::json::object& claims) const {
        return jwt(header(), claims);
    }
    // Signed as this key signs, whatever the header says.
    [[nodiscard]] std::string jwt(const boost::json::object& header,
                                  const boost::json::object& claims) const;

private:
    std::string algorithm_;
    std::string id_;
    std::shared_ptr<evp_pkey_st> key_;
};

// {"keys": [...]}
[[nodiscard]] std::string key_set(const std::vector<const JwtKey*>& keys);

// Claims of alice that everybody accepts for the next hour, with these roles.
[[nodiscard]] boost::json::object claims_of(std::string_view owner,
                                            const std::vector<std::string>& roles);
// Seconds since 1970.
[[nodiscard]] std::int64_t seconds_from_now(std::int64_t seconds);

}  // namespace leasehold::testing
