#pragma once

#include <string>
#include <string_view>

namespace leasehold::cli {

// A file that only its owner can read. Made before there is a secret, so that it has a place to go.
class SecretFile {
public:
    // `what` names it in messages: "the lock id file". No path: there is none. Throws BadRequest.
    SecretFile(std::string what, std::string path);
    SecretFile(const SecretFile&) = delete;
    SecretFile& operator=(const SecretFile&) = delete;
    ~SecretFile();

    // A line, instead of what it held. Throws BadRequest.
    void write(std::string_view secret) const;

private:
    [[noreturn]] void fail() const;

    std::string what_;
    std::string path_;
    int file_ = -1;
};

}  // namespace leasehold::cli
