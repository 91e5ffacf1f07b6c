#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "server/http/message.hpp"

namespace leasehold::server {

// The documentation that is installed beside the server. It is in memory, because a slow disk must
// not delay the clients of a worker, and compressed, because it is large. Immutable.
class Documentation {
public:
    // Reads every file NAME.gz below the folder, and serves it as NAME. Leaves out a file that
    // cannot be read. If there is no such folder, there is no documentation.
    explicit Documentation(const std::filesystem::path& folder);

    // Answers with the file at this path below the folder, compressed even if the client did not
    // say that it reads gzip. The path of a folder is that of its index.html. Throws Refused if
    // there is no such file.
    [[nodiscard]] Reply reply(std::string_view path, const HttpRequest& request) const;

private:
    struct File {
        std::string_view content_type;
        std::string etag;
        std::string gzip;
    };

    std::map<std::string, File, std::less<>> files_;  // by their paths: "tutorials/index.html"
};

}  // namespace leasehold::server
