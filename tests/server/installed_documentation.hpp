#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/process.hpp"

namespace leasehold::testing {

// A folder with documentation, as it is installed: a page, and a script below a folder.
class InstalledDocumentation {
public:
    InstalledDocumentation() {
        add("index.html.gz", page);
        add("assets/deep/page.js.gz", script);
    }

    // As gzip has made them: `printf '<p>Hello' | gzip -n`, and the same of 'go()'.
    static constexpr std::string_view page{
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\xb0\xf3\x48\xcd\xc9\xc9\x07\x00"
        "\x32\x51\xab\x54\x08\x00\x00\x00",
        28};
    static constexpr std::string_view script{
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xcf\xd7\xd0\x04\x00\x7d\xaa\xd1\xdb"
        "\x04\x00\x00\x00",
        24};

    void add(const std::string& name, std::string_view content) const {
        const std::filesystem::path path = folder_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream{path, std::ios::binary} << content;
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

}  // namespace leasehold::testing
