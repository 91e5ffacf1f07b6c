#pragma once

#include <string>
#include <string_view>

namespace leasehold::cli {

// A file that only its owner can read. Create it before the secret exists: if that fails, no secret
// is lost.
class SecretFile {
public:
    // `what` names the file in messages: "the lock id file". With an empty path there is no file.
    // Throws BadRequest.
    SecretFile(std::string what, std::string path);
    SecretFile(const SecretFile&) = delete;
    SecretFile& operator=(const SecretFile&) = delete;
    ~SecretFile();

    // Replaces the content with this line. Throws BadRequest.
    void write(std::string_view secret) const;

private:
    [[noreturn]] void fail() const;

    std::string what_;
    std::string path_;
    int file_ = -1;
};

}  // namespace leasehold::cli
