#pragma once

#include <cstddef>
#include <string_view>

namespace leasehold::server {

// Reads the lines of a request's header as they arrive. Looks at each byte once, however few of
// them arrive together: a client decides that.
class HeaderLines {
public:
    // `received` begins with the bytes of the calls before.
    void read(std::string_view received);

    // The bytes of the whole header, including the empty line at its end; 0 if it is incomplete.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    // Why two HTTP implementations could read the header differently; empty if they could not.
    [[nodiscard]] std::string_view ambiguity() const noexcept { return ambiguity_; }
    // How many bytes were looked at in all calls.
    [[nodiscard]] std::size_t looked_at() const noexcept { return looked_at_; }

private:
    // Reads the next bytes of the current line, of which the last is LF if `ended`.
    void read_line(std::string_view bytes, bool ended);

    std::size_t size_ = 0;
    std::string_view ambiguity_{};
    std::size_t looked_at_ = 0;
    std::size_t line_begin_ = 0;  // of the current line
    bool after_cr_ = false;       // the last byte that was looked at is CR
};

}  // namespace leasehold::server
