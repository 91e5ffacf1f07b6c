#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The statuses of replies. The status line and the metrics know them from here.
namespace leasehold::server {

struct Status {
    unsigned code;
    std::string_view reason;
};

// The final statuses of HTTP (RFC 9110) and its extensions (RFC 4918, 6585) that a protocol of this
// server may answer.
inline constexpr auto statuses = std::to_array<Status>({
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
});

// The index of a status in `statuses`, and their number for another status.
[[nodiscard]] constexpr std::size_t index_of_status(unsigned code) noexcept {
    constexpr auto indices = [] {
        std::array<std::uint8_t, 600> all{};
        all.fill(statuses.size());
        for (std::size_t i = 0; i < statuses.size(); ++i) {
            all.at(statuses.at(i).code) = static_cast<std::uint8_t>(i);
        }
        return all;
    }();
    return code < indices.size() ? indices[code] : statuses.size();
}

// The standard name of a status: "Not Found". Empty for another one.
[[nodiscard]] constexpr std::string_view reason_of(unsigned code) noexcept {
    const std::size_t index = index_of_status(code);
    return index < statuses.size() ? statuses[index].reason : std::string_view{};
}

}  // namespace leasehold::server
