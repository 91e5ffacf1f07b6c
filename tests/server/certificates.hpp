#pragma once

#include <filesystem>
#include <string>

namespace leasehold::testing {

// A certificate with its key, made anew and signed by itself, so that it is its own authority.
struct Certificate {
    // `names` as a subjectAltName has them: "DNS:localhost,IP:127.0.0.1". Files in this folder.
    Certificate(const std::filesystem::path& folder, const std::string& name,
                const std::string& names);

    std::string file;
    std::string key;
};

}  // namespace leasehold::testing
