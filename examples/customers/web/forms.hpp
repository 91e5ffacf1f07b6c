#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/records.hpp"
#include "web/html.hpp"
#include "web/http.hpp"

// Records as their forms have them: name, email, ..., address.1.street, or item.1, price.1, ...,
// and the version.
namespace customers::web {

[[nodiscard]] Fields fields_of(const Customer& customer);
[[nodiscard]] Fields fields_of(const PriceList& list);

// What a person typed.
template <class T>
struct Typed {
    T record{};
    Fields fields{};                           // trimmed, without empty lines
    std::vector<std::string_view> problems{};  // why it cannot be saved, in words for the person
};
template <class T>
[[nodiscard]] Typed<T> read_form(const Fields& form, const std::string& id);
template <>
[[nodiscard]] Typed<Customer> read_form(const Fields& form, const std::string& id);
template <>
[[nodiscard]] Typed<PriceList> read_form(const Fields& form, const std::string& id);

// The name of a field in words, also of "address.2.street".
[[nodiscard]] Html label_of(Language language, std::string_view field);

// Digits and nothing else.
[[nodiscard]] std::optional<std::int64_t> integer_from(std::string_view text);
// 450 as "4.50".
[[nodiscard]] std::string price_text(std::int64_t cents);

}  // namespace customers::web
