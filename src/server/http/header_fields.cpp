#include "server/http/header_fields.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "server/http/problem.hpp"

namespace leasehold::server {

void HeaderFields::add(std::string_view name, std::string_view value) {
    text_.append(name).append(":").append(value).append("\n");
}

std::optional<std::string_view> HeaderFields::find(std::string_view name) const {
    std::optional<std::string_view> found;
    for (std::string_view rest = text_; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(line.size() + 1);
        const std::size_t colon = line.find(':');
        if (!std::ranges::equal(line.substr(0, colon), name, {}, lower_letter, lower_letter)) {
            continue;
        }
        // Somebody between the client and this server may have read the other one.
        if (found) {
            throw Refused{{.status = 400,
                           .code = "bad_request",
                           .detail = std::string{name} + " is given twice",
                           .last = true}};
        }
        found = line.substr(colon + 1);
    }
    return found;
}

}  // namespace leasehold::server
