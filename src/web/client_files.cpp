#include <leasehold/web/client_files.hpp>

#include <algorithm>

#include "web/embedded_files.hpp"

namespace leasehold::web {

std::optional<Response> client_file(std::string_view path) {
    const auto found = std::ranges::find(embedded_files, path, &EmbeddedFile::path);
    if (found == embedded_files.end()) return std::nullopt;
    Response response{.content_type = std::string{found->content_type},
                      .body = std::string{found->body}};
    // The files change with the library: browsers ask whether theirs is current.
    response.headers.emplace_back("Cache-Control", "no-cache");
    return response;
}

std::string guarded_form(const Visitor& who, const LockKey& key, std::string_view action,
                         std::string_view fields) {
    const auto attribute = [](std::string_view name, std::string_view value) {
        return ' ' + std::string{name} + "=\"" + escape_html(value) + '"';
    };
    return "<script type=module src=/client/leasehold-guard.js></script>"
           "<leasehold-guard" +
           attribute("key-type", key.type()) + attribute("key-id", key.id()) +
           attribute("owner", who.user()) + attribute("session", who.session()) +
           "><form method=post" + attribute("action", action) + '>' + std::string{fields} +
           "</form></leasehold-guard>";
}

std::string sign_in_form() {
    return "<form method=post action=/sign-in><label>Name <input name=name required "
           "pattern=\"[^\\/]+\"></label> <button>Sign in</button></form>";
}

}  // namespace leasehold::web
