#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::web {

// The fields of a form or a query, in their order.
class Fields {
public:
    static constexpr std::size_t most = 200;

    // Parses "a=1&b=2". Nothing if it is not encoded as a form must be, if a field is not UTF-8 or
    // has control characters other than tabs and line ends, and if there are too many fields.
    [[nodiscard]] static std::optional<Fields> parse(std::string_view text);
    [[nodiscard]] std::string print() const;

    void add(std::string name, std::string value);
    // Empty if it was not sent.
    [[nodiscard]] std::string get(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const;

    [[nodiscard]] auto begin() const { return fields_.begin(); }
    [[nodiscard]] auto end() const { return fields_.end(); }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

// A form that could not be saved is shown again, with the typed text and with the changes of others
// since it was loaded. Send along the fields it was loaded with, Fields::print() in a
// hidden field, and compare. The field `version` is the record's version and does not count as a
// change.
struct Change {
    std::string field{};
    std::string before{};
    std::string after{};
};
[[nodiscard]] std::vector<Change> changes(const Fields& before, const Fields& after);

// The typed fields, with the changes of others in the fields that the person did not touch. Fields
// with a dot in their name, "address.2.street", are lines of lists. They are taken together, all as
// they were typed or all as they are now: a mixture would be a list that nobody wrote.
[[nodiscard]] Fields merged(const Fields& loaded, const Fields& typed, const Fields& now);

}  // namespace leasehold::web
