#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

// One value for each enumerator, looked up by the enumerator. The number of enumerators is counted
// by the compiler, so a table that misses a new enumerator does not compile.
//
// An enum that is used here has a fixed underlying type, and its values are 0, 1, 2 … without gaps.
namespace leasehold {
namespace detail {

// Whether an enumerator has this value. The compiler prints the value's name if there is one, and a
// cast such as "(leasehold::Mode)7" otherwise.
template <auto value>
consteval bool is_enumerator() {
    const std::string_view text = __PRETTY_FUNCTION__;
    constexpr std::string_view before = "value = ";
    return text[text.find(before) + before.size()] != '(';
}

template <class Enum, std::size_t size = 0>
consteval std::size_t count_enumerators() {
    if constexpr (is_enumerator<static_cast<Enum>(size)>()) {
        return count_enumerators<Enum, size + 1>();
    } else {
        return size;
    }
}

}  // namespace detail

// The number of enumerators.
template <class Enum>
inline constexpr std::size_t enum_size = detail::count_enumerators<Enum>();

// A changeable value for each enumerator, for example a counter.
template <class Enum, class T>
class EnumArray {
public:
    [[nodiscard]] constexpr T& operator[](Enum key) noexcept {
        return values_[static_cast<std::size_t>(key)];
    }
    [[nodiscard]] constexpr const T& operator[](Enum key) const noexcept {
        return values_[static_cast<std::size_t>(key)];
    }

    // Calls the function with each enumerator and its value, in the order of the enum.
    template <class Function>
    constexpr void for_each(Function function) const {
        for (std::size_t i = 0; i < values_.size(); ++i) {
            function(static_cast<Enum>(i), values_[i]);
        }
    }

    [[nodiscard]] static constexpr std::size_t size() noexcept { return enum_size<Enum>; }

private:
    std::array<T, enum_size<Enum>> values_{};
};

// A constant for each enumerator:
//
//     constexpr EnumTable<Mode, std::string_view> names{
//         {{Mode::exclusive, "exclusive"}, {Mode::shared, "shared"}}};
//
// The rows name every enumerator, in the order of the enum.
template <class Enum, class T>
class EnumTable {
public:
    struct Row {
        Enum key;
        T value;
    };

    // The table needs one row for each enumerator.
    template <std::size_t rows>
        requires(rows == enum_size<Enum>)
    consteval EnumTable(const Row (&table)[rows]) {  // NOLINT(*-explicit-*): a list of rows
        for (std::size_t i = 0; i < rows; ++i) {
            if (static_cast<std::size_t>(table[i].key) != i) throw "the rows are out of order";
            rows_[i] = table[i];
        }
    }

    [[nodiscard]] constexpr const T& operator[](Enum key) const noexcept {
        return rows_[static_cast<std::size_t>(key)].value;
    }

    // The enumerator of the first row with this value.
    [[nodiscard]] constexpr std::optional<Enum> find(const T& value) const noexcept {
        for (const Row& row : rows_) {
            if (row.value == value) return row.key;
        }
        return std::nullopt;
    }

    [[nodiscard]] static constexpr std::size_t size() noexcept { return enum_size<Enum>; }
    [[nodiscard]] constexpr auto begin() const noexcept { return rows_.begin(); }
    [[nodiscard]] constexpr auto end() const noexcept { return rows_.end(); }

private:
    std::array<Row, enum_size<Enum>> rows_{};
};

}  // namespace leasehold
