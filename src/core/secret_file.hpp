#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

// The one policy for files that hold secrets: tokens, keys, lock ids, databases.
//
// 1. Leasehold creates such a file with the mode 0600.
// 2. It writes a secret only to a regular file of this user, never through a symbolic link.
// 3. It reads regular files only, up to a size.
// 4. If other users can read or change the file, `serve` and `doctor` warn: see exposures_of().
namespace leasehold {

// The content of a regular file, or why it cannot be read. Never waits for a pipe or a device.
[[nodiscard]] std::expected<std::string, std::string> read_regular_file(const std::string& path,
                                                                        std::size_t most_bytes);

// Creates the file, empty and with the mode 0600, if it does not exist. Follows symbolic links. An
// existing file is not opened: closing it would end the locks that SQLite has on it.
void create_private_file(const std::string& path) noexcept;

// Opens a log that only this user reads, to append to it. Creates it with the mode 0600. Refuses a
// symbolic link, a file of another user, and anything but a regular file.
[[nodiscard]] std::expected<int, std::string> open_private_log(const std::string& path);

// A file that holds a secret, or that others must not change.
struct NamedFile {
    std::string what;  // "the token file"
    std::string path;
    bool is_public = false;  // everybody may read it
};

// One way in which other users can reach the secret.
struct Exposure {
    std::string text;    // "everybody on this host can read or change the token file"
    std::string path;    // of the file or its folder
    std::string advice;  // "chmod o-rw it"
};

// Nothing if only this user, the file's group and root can reach the file, or if there is no file.
[[nodiscard]] std::vector<Exposure> exposures_of(const NamedFile& file);

// A file to write one secret to. Construct it before the secret exists: if that fails, no secret is
// lost. The file is replaced as a whole, so a refused request leaves the secret that it held.
class SecretFile {
public:
    // With an empty path there is no file. Throws BadRequest if the secret could not be written.
    explicit SecretFile(NamedFile file);

    // Replaces the content with this line. Throws BadRequest.
    void write(std::string_view secret) const;

private:
    class Draft;
    void require_ours() const;
    [[noreturn]] void fail(const std::string& why) const;

    NamedFile file_;
};

}  // namespace leasehold
