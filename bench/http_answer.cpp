#include "http_answer.hpp"

#include <charconv>
#include <stdexcept>
#include <string>

namespace leasehold::bench {
namespace {

std::size_t number_at(std::string_view text, std::size_t at) {
    std::size_t number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    return number;
}

}  // namespace

std::optional<HttpAnswer> read_http_answer(std::string_view in) {
    constexpr std::string_view protocol = "HTTP/1.1 ";
    constexpr std::string_view length_field = "\r\nContent-Length: ";
    constexpr std::string_view end = "\r\n\r\n";
    const std::size_t header = in.find(end);
    if (header == std::string_view::npos) return std::nullopt;
    const std::size_t length = in.substr(0, header).find(length_field);
    if (!in.starts_with(protocol) || length == std::string_view::npos) {
        throw std::runtime_error{"not an answer with a Content-Length: " +
                                 std::string{in.substr(0, header)}};
    }
    const std::size_t body = header + end.size();
    const std::size_t size = number_at(in, length + length_field.size());
    if (in.size() < body + size) return std::nullopt;
    return HttpAnswer{.status = static_cast<unsigned>(number_at(in, protocol.size())),
                      .body = in.substr(body, size),
                      .size = body + size};
}

void print_http_request(std::string& out, std::string_view method, std::string_view target,
                        std::string_view fields, std::string_view json_body) {
    out.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    out.append(fields);
    if (!json_body.empty()) {
        out.append("Content-Type: application/json\r\nContent-Length: ");
        out.append(std::to_string(json_body.size())).append("\r\n");
    }
    out.append("\r\n").append(json_body);
}

}  // namespace leasehold::bench
