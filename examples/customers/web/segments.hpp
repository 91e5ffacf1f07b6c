#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace customers::web {

// "a/b" as "a", "b".
[[nodiscard]] inline std::vector<std::string> segments_of(std::string_view path) {
    std::vector<std::string> segments;
    for (;;) {
        const std::size_t slash = path.find('/');
        segments.emplace_back(path.substr(0, slash));
        if (slash == std::string_view::npos) return segments;
        path.remove_prefix(slash + 1);
    }
}

}  // namespace customers::web
