#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <leasehold/web/http.hpp>

namespace customers::web {

// A template of a page: a literal of this program, never input. Its attributes are in double
// quotes.
class Template {
public:
    template <std::size_t Size>
    consteval explicit(false) Template(const char (&text)[Size]) : text_{text, Size - 1} {}

    [[nodiscard]] constexpr std::string_view text() const { return text_; }

private:
    std::string_view text_;
};

// A piece of a page. Input becomes one only by being escaped.
class Html {
public:
    Html() = default;

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] bool is_empty() const { return text_.empty(); }
    Html& operator+=(const Html& more) {
        text_ += more.text_;
        return *this;
    }

private:
    friend class Filling;
    explicit Html(std::string text) : text_{std::move(text)} {}

    std::string text_;
};

// Puts values into the {} of a template, each escaped unless it is Html already.
class Filling {
public:
    template <class... Values>
    [[nodiscard]] static Html fill(std::string_view page_template, const Values&... values) {
        return Html{fmt::format(fmt::runtime(page_template), fit(values)...)};
    }

private:
    static const std::string& fit(const Html& piece) { return piece.text(); }
    static std::string fit(std::string_view text) { return leasehold::web::escape_html(text); }
    template <std::integral Number>
    static std::string fit(Number number) {
        return std::to_string(number);
    }
};

template <class... Values>
[[nodiscard]] Html html(Template page_template, const Values&... values) {
    return Filling::fill(page_template.text(), values...);
}

}  // namespace customers::web
