#pragma once

#include <optional>
#include <string_view>

namespace leasehold::bench {

// An HTTP answer with a Content-Length.
struct HttpAnswer {
    unsigned status = 0;
    std::string_view body;
    std::size_t size = 0;  // with its header
};

// std::nullopt while the answer is incomplete. Throws std::runtime_error if it is not HTTP.
std::optional<HttpAnswer> read_http_answer(std::string_view in);

// Appends a request; `fields` are further lines of its header, each with its end.
void print_http_request(std::string& out, std::string_view method, std::string_view target,
                        std::string_view fields, std::string_view json_body);

}  // namespace leasehold::bench
