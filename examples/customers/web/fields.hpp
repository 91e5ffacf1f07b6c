#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace customers::web {

// Names and values as a form sends them, in its order.
class Fields {
public:
    static constexpr std::size_t most = 200;

    // Parses "a=1&b=2". Nothing for another format, for invalid UTF-8 and for too many fields.
    [[nodiscard]] static std::optional<Fields> parse(std::string_view text);
    [[nodiscard]] std::string print() const;

    void add(std::string name, std::string value);
    // Empty where it was not sent.
    [[nodiscard]] std::string get(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const;

    [[nodiscard]] auto begin() const { return fields_.begin(); }
    [[nodiscard]] auto end() const { return fields_.end(); }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace customers::web
