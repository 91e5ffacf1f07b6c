#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/reused_text.hpp"

namespace leasehold::server {

// The header fields of a request that HTTP itself does not need. A protocol reads the fields that
// it knows by their names. Kept in one text.
class HeaderFields {
public:
    // The value has no line break.
    void add(std::string_view name, std::string_view value);
    void clear() noexcept { empty_for_reuse(text_); }
    // The bytes of memory that it keeps.
    [[nodiscard]] std::size_t capacity() const noexcept { return text_.capacity(); }

    // The value of a field; the case of the name does not matter. Nothing if the field is absent.
    // Throws Refused, and ends the connection, if it is given twice.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;

    friend bool operator==(const HeaderFields&, const HeaderFields&) = default;

private:
    std::string text_;  // "name:value", one line for each field
};

}  // namespace leasehold::server
