#include "core/secret_file.hpp"

#include <leasehold/errors.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace leasehold {
namespace {

namespace fs = std::filesystem;

constexpr mode_t open_to_everybody = S_IROTH | S_IWOTH;
constexpr int most_links = 40;

std::string reason_of(int error) {
    return std::generic_category().message(error);
}

// Closes a file at the end of a scope.
class OpenFile {
public:
    explicit OpenFile(int file) : file_{file} {}
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() {
        if (file_ >= 0) ::close(file_);
    }
    [[nodiscard]] int get() const noexcept { return file_; }

private:
    int file_;
};

// The folder that holds the file itself, or the symbolic link of that name.
fs::path folder_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

// The folders in which a file of this path can be replaced: of its name, and of what a link names.
std::vector<std::string> folders_of(const std::string& path) {
    std::vector<std::string> folders{folder_of(path).string()};
    std::error_code error;
    if (!fs::is_symlink(path, error)) return folders;
    const fs::path target = fs::canonical(path, error);
    if (!error) folders.push_back(folder_of(target).string());
    return folders;
}

}  // namespace

std::expected<std::string, std::string> read_regular_file(const std::string& path,
                                                          std::size_t most_bytes) {
    const OpenFile file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    struct stat about{};
    if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
        return std::unexpected{reason_of(errno)};
    }
    if (!S_ISREG(about.st_mode)) return std::unexpected{"it is not a regular file"};
    std::string content;
    std::array<char, 4096> some{};
    for (;;) {
        const ssize_t got = ::read(file.get(), some.data(), some.size());
        if (got == 0) return content;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::unexpected{reason_of(errno)};
        content.append(some.data(), static_cast<std::size_t>(got));
        if (content.size() > most_bytes) {
            return std::unexpected{"it has more than " + std::to_string(most_bytes) + " bytes"};
        }
    }
}

void create_private_file(const std::string& path) noexcept {
    try {
        fs::path target{path};
        for (int links = 0; links < most_links; ++links) {
            const OpenFile created{
                ::open(target.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
            if (created.get() >= 0 || errno != EEXIST || !fs::is_symlink(target)) return;
            target = folder_of(target) / fs::read_symlink(target);
        }
    } catch (const std::exception&) {
        // The store opens the file next, and reports why it cannot.
    }
}

std::expected<int, std::string> open_private_log(const std::string& path) {
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int file = ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return std::unexpected{errno == ELOOP ? "it is a symbolic link" : reason_of(errno)};
    }
    struct stat about{};
    std::string problem;
    if (::fstat(file, &about) != 0) {
        problem = reason_of(errno);
    } else if (!S_ISREG(about.st_mode)) {
        problem = "it is not a regular file";
    } else if (about.st_uid != ::geteuid()) {
        problem = "it belongs to another user";
    }
    if (problem.empty()) return file;
    ::close(file);
    return std::unexpected{problem};
}

std::vector<Exposure> exposures_of(const NamedFile& file) {
    struct stat about{};
    if (file.path.empty() || ::stat(file.path.c_str(), &about) != 0) return {};
    std::vector<Exposure> found;
    if (file.is_public && (about.st_mode & S_IWOTH) != 0) {
        found.push_back(
            {"everybody on this host can change " + file.what, file.path, "chmod o-w it"});
    }
    if (!file.is_public && (about.st_mode & open_to_everybody) != 0) {
        found.push_back(
            {"everybody on this host can read or change " + file.what, file.path, "chmod o-rw it"});
    }
    if (about.st_uid != ::geteuid() && about.st_uid != 0) {
        found.push_back({"another user owns " + file.what + " and can read and change it",
                         file.path, "chown it to the user that runs this program"});
    }
    for (const std::string& folder : folders_of(file.path)) {
        struct stat around{};
        if (::stat(folder.c_str(), &around) != 0 || (around.st_mode & S_IWOTH) == 0) continue;
        found.push_back({"everybody on this host can put files into the folder of " + file.what,
                         folder,
                         "move " + file.what +
                             " to a folder that only its owner can "
                             "change"});
    }
    return found;
}

// A new file beside the one that it will replace; removed unless it has replaced it.
class SecretFile::Draft {
public:
    explicit Draft(const std::string& path)
        : name_{path + ".XXXXXX"}, file_{::mkostemp(name_.data(), O_CLOEXEC)} {}
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft() {
        if (file_.get() >= 0 && !replaced_) ::unlink(name_.c_str());
    }

    [[nodiscard]] bool exists() const { return file_.get() >= 0; }
    [[nodiscard]] bool write(std::string_view text) const {
        return ::write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    }
    [[nodiscard]] bool replace(const std::string& path) {
        return replaced_ = ::rename(name_.c_str(), path.c_str()) == 0;
    }

private:
    std::string name_;
    OpenFile file_;
    bool replaced_ = false;
};

SecretFile::SecretFile(NamedFile file) : file_{std::move(file)} {
    if (file_.path.empty()) return;
    require_ours();
    if (!Draft{file_.path}.exists()) fail(reason_of(errno));
}

void SecretFile::write(std::string_view secret) const {
    require_ours();
    Draft draft{file_.path};
    if (!draft.exists() || !draft.write(std::string{secret} + "\n") || !draft.replace(file_.path)) {
        fail(reason_of(errno));
    }
}

void SecretFile::require_ours() const {
    struct stat existing{};
    if (::lstat(file_.path.c_str(), &existing) != 0) {
        if (errno == ENOENT) return;
        fail(reason_of(errno));
    }
    if (!S_ISREG(existing.st_mode)) fail("it exists and is not a regular file");
    if (existing.st_uid != ::geteuid()) fail("it exists and belongs to another user");
}

void SecretFile::fail(const std::string& why) const {
    throw BadRequest{file_.what + " '" + file_.path + "' cannot be written: " + why};
}

}  // namespace leasehold
