#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "web/http.hpp"

namespace httplib {
class Server;
}

namespace customers::web {

inline constexpr std::size_t longest_target = 1'024;
inline constexpr std::size_t largest_body = 256 * 1'024;

// Lets cpp-httplib serve the application: the files of a folder below /static/, and every other
// request by the handler, which is called from many threads at once.
void set_up(httplib::Server& server, const std::filesystem::path& static_files,
            std::function<Response(const leasehold::web::Request&)> handler);

}  // namespace customers::web
