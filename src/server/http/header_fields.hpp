#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leasehold::server {

// The header fields of a request that HTTP itself does not need. A protocol reads the fields that
// it knows by their names. Kept in one text, whose memory is used again for the next request.
class HeaderFields {
public:
    // The value has no line break.
    void add(std::string_view name, std::string_view value);
    void clear() noexcept { text_.clear(); }

    // The value of a field; the case of the name does not matter. Nothing if the field is absent.
    // Throws Refused, and ends the connection, if it is given twice.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;

    friend bool operator==(const HeaderFields&, const HeaderFields&) = default;

private:
    std::string text_;  // "name:value", one line for each field
};

}  // namespace leasehold::server
