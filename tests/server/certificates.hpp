#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace leasehold::testing {

// A certificate with its key, made anew.
struct Certificate {
    // Signed by itself, so that it is its own authority. `names` as a subjectAltName has them:
    // "DNS:localhost,IP:127.0.0.1". Files in this folder.
    Certificate(const std::filesystem::path& folder, const std::string& name,
                const std::string& names);

    // Signed by an authority; without names if they are empty. A negative life: it has expired.
    Certificate(const std::filesystem::path& folder, const std::string& name,
                const std::string& names, const Certificate& authority,
                std::chrono::seconds life = std::chrono::hours{24});

    // An authority, which signs others. Signed by another authority if one is given.
    [[nodiscard]] static Certificate authority(const std::filesystem::path& folder,
                                               const std::string& name,
                                               const Certificate* issuer = nullptr);
    // Signed by itself, with an RSA key instead of a key on an elliptic curve.
    [[nodiscard]] static Certificate with_rsa_key(const std::filesystem::path& folder,
                                                  const std::string& name,
                                                  const std::string& names);
    // Writes the list of the certificates that this authority has revoked; returns its path.
    [[nodiscard]] std::string revoke(const std::vector<const Certificate*>& revoked) const;

    std::string file;
    std::string key;

private:
    struct Contents;
    Certificate(const std::filesystem::path& folder, const std::string& name,
                const Contents& contents);
};

}  // namespace leasehold::testing
