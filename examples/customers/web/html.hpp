#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include <leasehold/web/http.hpp>

#include "web/language.hpp"

namespace customers::web {

// A template of a page: a literal of this program, never input. {} is a value, and [[Save]] is the
// text "Save" in the reader's language. Attributes are in double quotes.
class Template {
public:
    template <std::size_t Size>
    consteval explicit(false) Template(const char (&text)[Size]) : text_{text, Size - 1} {}

    [[nodiscard]] std::string in(Language language) const {
        std::string translated;
        std::string_view rest = text_;
        for (std::size_t begin = 0; (begin = rest.find("[[")) != std::string_view::npos;) {
            const std::size_t end = rest.find("]]", begin);
            translated += rest.substr(0, begin);
            translated += web::in(language, rest.substr(begin + 2, end - begin - 2));
            rest.remove_prefix(end + 2);
        }
        return translated.append(rest);
    }

private:
    std::string_view text_;
};

// A piece of a page. Input becomes one only by being escaped.
class Html {
public:
    Html() = default;
    // Puts values into the {} of the template, each escaped unless it is Html already.
    template <class... Values>
    Html(Language language, Template page, const Values&... values)
        : text_{fmt::format(fmt::runtime(page.in(language)), fit(values)...)} {}

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] bool is_empty() const { return text_.empty(); }
    Html& operator+=(const Html& more) {
        text_ += more.text_;
        return *this;
    }

private:
    static const std::string& fit(const Html& piece) { return piece.text_; }
    static std::string fit(std::string_view text) { return leasehold::web::escape_html(text); }
    template <std::integral Number>
    static std::string fit(Number number) {
        return std::to_string(number);
    }

    std::string text_;
};

template <class... Values>
[[nodiscard]] Html html(Language language, Template page, const Values&... values) {
    return {language, page, values...};
}
// For a template without texts.
template <class... Values>
[[nodiscard]] Html html(Template page, const Values&... values) {
    return {Language::english, page, values...};
}

}  // namespace customers::web
