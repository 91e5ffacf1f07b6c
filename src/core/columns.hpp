#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/store.hpp>

#include "core/enum_table.hpp"

// How values are kept in the columns of a database, the same in every store.
namespace leasehold {

[[nodiscard]] inline Time time_from(std::int64_t micros) {
    return Time{Duration{micros}};
}
[[nodiscard]] inline std::int64_t micros(Time time) {
    return time.time_since_epoch().count();
}

[[nodiscard]] constexpr std::int64_t number_of(Mode mode) {
    return mode == Mode::shared ? 1 : 0;
}
[[nodiscard]] constexpr Mode mode_from(std::int64_t number) {
    return number == 1 ? Mode::shared : Mode::exclusive;
}

// 0 for a lease that has not ended.
[[nodiscard]] constexpr std::int64_t number_of(Gone gone) {
    return static_cast<std::int64_t>(gone);
}
[[nodiscard]] constexpr Gone gone_from(std::int64_t number) {
    const bool known = number >= 0 && static_cast<std::size_t>(number) < enum_size<Gone>;
    return known ? static_cast<Gone>(number) : Gone::unknown;
}

// Other programs that share the table may have written ids of another form. They read as the nil
// lock id, which no lease has.
[[nodiscard]] inline LockId lock_id_from(std::string_view text) {
    return LockId::parse(text).value_or(LockId{});
}

// The value of a field from a column of a row: anything with integer(column) and text(column), and
// with time(column) where the database has a type for times.
template <class Row, class Index>
void read_field(const Row& row, Index column, Time& field) {
    if constexpr (requires { row.time(column); }) {
        field = row.time(column);
    } else {
        field = time_from(row.integer(column));
    }
}
void read_field(const auto& row, auto column, LockId& field) {
    field = lock_id_from(row.text(column));
}
void read_field(const auto& row, auto column, std::string& field) {
    field = row.text(column);
}
void read_field(const auto& row, auto column, std::int64_t& field) {
    field = row.integer(column);
}
void read_field(const auto& row, auto column, Mode& field) {
    field = mode_from(row.integer(column));
}
void read_field(const auto& row, auto column, Gone& field) {
    field = gone_from(row.integer(column));
}

// The range of owners below a path, in byte order: from <= owner < before.
struct PathRange {
    explicit PathRange(const std::string& path) : from{path + '/'}, before{path + '0'} {}
    std::string from;
    std::string before;  // '0' follows '/'
};

inline void sort_and_unite(std::vector<LockKey>& keys) {
    std::ranges::sort(keys);
    const auto repeated = std::ranges::unique(keys);
    keys.erase(repeated.begin(), repeated.end());
}

}  // namespace leasehold
