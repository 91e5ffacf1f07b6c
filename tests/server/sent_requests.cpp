#include "server/sent_requests.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/text.hpp"

namespace leasehold::testing {
namespace {

constexpr std::string_view line_end = "\r\n";

// The value of a field; the header is in lower case.
std::optional<std::string_view> field(std::string_view header, std::string_view name) {
    const std::size_t at = header.find(std::string{line_end}.append(name).append(":"));
    if (at == header.npos) return std::nullopt;
    std::string_view value = header.substr(at + line_end.size() + name.size() + 1);
    value = value.substr(0, value.find(line_end));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
}

std::optional<std::size_t> length_in(std::string_view text, int base) {
    std::size_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

void SentRequests::add(std::string_view bytes) {
    const std::size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    if (!lost_) unread_.append(bytes.substr(skipped));
}

DescribedRequest SentRequests::unreadable() {
    lost_ = true;
    unread_.clear();
    return {};
}

DescribedRequest SentRequests::next() {
    const std::size_t end = unread_.find("\r\n\r\n");
    if (end == unread_.npos) return unreadable();
    const std::string header = unread_.substr(0, end);
    unread_.erase(0, end + 4);
    const std::string_view line = std::string_view{header}.substr(0, header.find(line_end));
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == line.npos || first == last || !line.substr(last + 1).starts_with("HTTP/1.")) {
        return unreadable();
    }
    DescribedRequest request{.method = std::string{line.substr(0, first)},
                             .target = std::string{line.substr(first + 1, last - first - 1)},
                             .body = {}};
    take_body(lower(header), request);
    return request;
}

void SentRequests::take_body(std::string_view header, DescribedRequest& request) {
    if (field(header, "transfer-encoding")) return take_chunks(request);
    const auto length = field(header, "content-length");
    if (!length) return;
    const auto bytes = length_in(*length, 10);
    if (!bytes) {
        lost_ = true;
        return;
    }
    if (*bytes <= unread_.size()) request.body = unread_.substr(0, *bytes);
    const std::size_t sent = std::min(*bytes, unread_.size());
    unread_.erase(0, sent);
    skip_ = *bytes - sent;
}

void SentRequests::take_chunks(DescribedRequest& request) {
    std::string body;
    for (;;) {
        const std::size_t end = unread_.find(line_end);
        const auto bytes =
            length_in(std::string_view{unread_}.substr(0, std::min(end, unread_.size())), 16);
        if (!bytes || unread_.size() - end < 2 * line_end.size() + *bytes) {
            lost_ = true;
            return;
        }
        body.append(unread_, end + line_end.size(), *bytes);
        unread_.erase(0, end + 2 * line_end.size() + *bytes);
        if (*bytes == 0) break;
    }
    request.body = std::move(body);
}

}  // namespace leasehold::testing
