#include "web/http_server.hpp"

#include <leasehold/web/httplib.hpp>

#include <array>
#include <chrono>
#include <utility>

namespace customers::web {
namespace {

// A connection that is kept open keeps a thread.
constexpr std::size_t threads = 64;
constexpr std::chrono::seconds read_timeout{10};
constexpr std::size_t requests_per_connection = 1'000;
constexpr std::time_t idle_seconds = 5;

// No scripts, styles or frames from other sites, and no inline ones.
constexpr std::array<std::pair<const char*, const char*>, 6> headers{
    {{"Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
      "frame-ancestors 'none'"},
     {"X-Content-Type-Options", "nosniff"},
     {"X-Frame-Options", "DENY"},
     {"Referrer-Policy", "same-origin"},
     {"Cross-Origin-Opener-Policy", "same-origin"},
     {"Cross-Origin-Resource-Policy", "same-origin"}}};

void complete(const httplib::Request&, httplib::Response& to) {
    for (const auto& [name, value] : headers) to.set_header(name, value);
    if (!to.has_header("Cache-Control")) to.set_header("Cache-Control", "no-store");
}

// Says why the application did not see the request.
void refuse(const httplib::Request& from, httplib::Response& to) {
    const bool is_unread = to.status == 413 || to.status == 414 || to.status == 415;
    if (to.has_header("Content-Type") && !is_unread) return;
    std::string_view why = "The application cannot read this request.";
    if (to.status == 413) why = "The request is too large.";
    if (to.status == 414) why = "The address is too long.";
    leasehold::web::send(plain_refusal(to.status, why, from.get_header_value("Accept-Language")),
                         to);
}

}  // namespace

void set_up(httplib::Server& server, const std::filesystem::path& static_files,
            std::function<Response(const leasehold::web::Request&)> handler) {
    leasehold::web::use_port_alone(server);
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server.set_tcp_nodelay(true);
    server.set_read_timeout(read_timeout);
    server.set_keep_alive_max_count(requests_per_connection);
    server.set_keep_alive_timeout(idle_seconds);
    server.set_post_routing_handler(complete);
    server.set_error_handler(refuse);
    server.set_mount_point("/static", static_files.string(), {{"Cache-Control", "no-cache"}});
    server.set_file_extension_and_mimetype_mapping("css", "text/css; charset=utf-8");
    server.set_file_extension_and_mimetype_mapping("js", "text/javascript; charset=utf-8");

    leasehold::web::add_handler(server, std::move(handler),
                                {.longest_target = longest_target, .largest_body = largest_body});
}

}  // namespace customers::web
