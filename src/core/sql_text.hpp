#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/columns.hpp"
#include "core/enum_names.hpp"
#include "core/refusal_phrases.hpp"

// How statements are written: as a pattern with {words} in it, filled in once when the program
// starts.
namespace leasehold {

// The number that a column keeps for an enumerator.
template <auto enumerator>
    requires(number_of(enumerator) < 10)
inline constexpr std::array<char, 1> sql_digit{static_cast<char>('0' + number_of(enumerator))};
template <auto enumerator>
inline constexpr std::string_view sql_number{sql_digit<enumerator>.data(), 1};

// The numbers of all enumerators from `first` on: "1,2,3,4".
template <auto first>
    requires(enum_size<decltype(first)> <= 10)
inline constexpr auto sql_digits = [] {
    constexpr auto count = enum_size<decltype(first)> - static_cast<std::size_t>(first);
    std::array<char, 2 * count - 1> digits{};
    digits.fill(',');
    for (std::size_t i = 0; i < count; ++i) {
        digits[2 * i] = static_cast<char>('0' + number_of(first) + static_cast<int>(i));
    }
    return digits;
}();
template <auto first>
inline constexpr std::string_view sql_numbers_from{sql_digits<first>.data(),
                                                   sql_digits<first>.size()};

// "when 0 then 'no such lease is known' when 1 then ...", for a CASE of a column that keeps a Gone.
[[nodiscard]] inline std::string sql_gone_sentences() {
    std::string cases;
    for (std::size_t i = 0; i < enum_size<Gone>; ++i) {
        const auto gone = static_cast<Gone>(i);
        cases += "when " + std::to_string(number_of(gone)) + " then '" +
                 std::string{phrases::gone[gone].in(Language::english)} + "' ";
    }
    return cases;
}

struct SqlWord {
    std::string_view name;
    std::string_view text;
};

// Every statement may use these.
inline constexpr std::array enum_words{SqlWord{"exclusive", sql_number<Mode::exclusive>},
                                       SqlWord{"shared", sql_number<Mode::shared>},
                                       SqlWord{"modes", sql_numbers_from<Mode::exclusive>},
                                       SqlWord{"not_ended", sql_number<Gone::unknown>},
                                       SqlWord{"released", sql_number<Gone::released>},
                                       SqlWord{"endings", sql_numbers_from<Gone::expired>}};
static_assert(number_of(Gone::unknown) == 0 && number_of(Gone::expired) == 1);

// The pattern with the texts of its words. Throws std::logic_error for a word that it does not
// know.
[[nodiscard]] inline std::string sql_text(std::string_view pattern,
                                          std::initializer_list<SqlWord> words = {}) {
    const auto text_of = [&](std::string_view name) {
        for (const auto& known :
             {std::span{words.begin(), words.size()}, std::span<const SqlWord>{enum_words}}) {
            for (const SqlWord& word : known) {
                if (word.name == name) return word.text;
            }
        }
        throw std::logic_error{"no text for {" + std::string{name} +
                               "} in: " + std::string{pattern}};
    };
    std::string sql;
    for (std::size_t at = 0;;) {
        const std::size_t open = pattern.find('{', at);
        sql += pattern.substr(at, open - at);
        if (open == std::string_view::npos) return sql;
        const std::size_t close = pattern.find('}', open);
        sql += text_of(pattern.substr(open + 1, close - open - 1));
        at = close + 1;
    }
}

}  // namespace leasehold
