#include "server/transport/header_lines.hpp"

#include <algorithm>

namespace leasehold::server {

void HeaderLines::read(std::string_view received) {
    while (size_ == 0 && ambiguity_.empty() && looked_at_ < received.size()) {
        const std::string_view rest = received.substr(looked_at_);
        const std::size_t end = rest.find('\n');
        const bool ended = end != std::string_view::npos;
        read_line(rest.substr(0, ended ? end + 1 : end), ended);
    }
}

void HeaderLines::read_line(std::string_view bytes, bool ended) {
    const bool first_line = line_begin_ == 0;
    const bool begins = looked_at_ == line_begin_;
    if (!first_line && begins && (bytes.front() == ' ' || bytes.front() == '\t')) {
        ambiguity_ = "a field of the header is folded over several lines";
        return;
    }
    looked_at_ += bytes.size();
    const std::string_view text = bytes.substr(0, bytes.size() - (ended ? 1 : 0));
    const std::size_t cr = std::min(text.find('\r'), text.size());
    const bool cr_within = (after_cr_ && !text.empty()) || cr + 1 < text.size();
    after_cr_ = text.empty() ? after_cr_ : cr < text.size();
    if (cr_within || (ended && !after_cr_)) {
        ambiguity_ = "a line of the header does not end in CR LF";
        return;
    }
    if (!ended) return;
    constexpr std::size_t empty_line = 2;
    if (!first_line && looked_at_ - line_begin_ == empty_line) size_ = looked_at_;
    line_begin_ = looked_at_;
    after_cr_ = false;
}

}  // namespace leasehold::server
