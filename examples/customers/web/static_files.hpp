#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "web/http.hpp"

namespace customers::web {

// Scripts, styles and pictures, read once at the start. Thread-safe after that.
class StaticFiles {
public:
    // The files of a folder, under this path. Throws where the folder cannot be read.
    void add(const std::string& path, const std::filesystem::path& folder);

    // Nothing where there is no such file.
    [[nodiscard]] const Response* find(const std::string& path) const;

private:
    std::map<std::string, Response> files_;
};

}  // namespace customers::web
