#include "web/static_files.hpp"

#include <fstream>
#include <iterator>

namespace customers::web {
namespace {

std::string type_of(const std::filesystem::path& file) {
    if (file.extension() == ".js") return "text/javascript; charset=utf-8";
    if (file.extension() == ".css") return "text/css; charset=utf-8";
    if (file.extension() == ".svg") return "image/svg+xml";
    return {};
}

}  // namespace

void StaticFiles::add(const std::string& path, const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        const std::string type = type_of(entry.path());
        if (type.empty()) continue;
        std::ifstream file{entry.path(), std::ios::binary};
        Response response{.content_type = type};
        response.body.assign(std::istreambuf_iterator<char>{file}, {});
        response.headers.emplace_back("Cache-Control", "no-cache");
        files_[path + '/' + entry.path().filename().string()] = std::move(response);
    }
}

const Response* StaticFiles::find(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : &found->second;
}

}  // namespace customers::web
