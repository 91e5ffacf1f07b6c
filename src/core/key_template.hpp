#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold {

// How the key of a row is made from its columns: "Order/{id}", "{tenant}:Order/{order_no}". The
// first '/' outside braces separates the type from the id. A template that exists is valid.
class KeyTemplate {
public:
    [[nodiscard]] static std::expected<KeyTemplate, std::string> parse(std::string_view text);

    // A part of the type or of the id.
    struct Part {
        enum class Kind { text, column };
        Kind kind;
        std::string text;  // of the key, or the name of the column
    };
    using Parts = std::vector<Part>;

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] const Parts& type() const { return type_; }
    [[nodiscard]] const Parts& id() const { return id_; }

    // The names of all columns, each once.
    [[nodiscard]] std::vector<std::string> columns() const;

    // The same template with the columns' names as the database spells them.
    [[nodiscard]] KeyTemplate with_columns(
        const std::function<std::string(const std::string&)>& spelled) const;

private:
    std::string text_;
    Parts type_;
    Parts id_;
};

// An SQL expression for the parts: `text` makes a literal, `column` an expression of type text, and
// `between` concatenates them.
[[nodiscard]] std::string sql_expression(
    const KeyTemplate::Parts& parts, std::string_view between,
    const std::function<std::string(const std::string&)>& text,
    const std::function<std::string(const std::string&)>& column);

}  // namespace leasehold
