#include "cli/secret_file.hpp"

#include <leasehold/errors.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace leasehold::cli {

SecretFile::SecretFile(std::string what, std::string path)
    : what_{std::move(what)}, path_{std::move(path)} {
    if (path_.empty()) return;
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (file_ < 0 || ::fchmod(file_, S_IRUSR | S_IWUSR) != 0) fail();
}

SecretFile::~SecretFile() {
    if (file_ >= 0) ::close(file_);
}

void SecretFile::write(std::string_view secret) const {
    const std::string line = std::string{secret} + "\n";
    const auto size = static_cast<ssize_t>(line.size());
    if (::ftruncate(file_, 0) != 0 || ::write(file_, line.data(), line.size()) != size) fail();
}

void SecretFile::fail() const {
    throw BadRequest{what_ + " '" + path_ + "' cannot be written: " + std::strerror(errno)};
}

}  // namespace leasehold::cli
