#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
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

// A fault of one request. The other requests of the transaction are answered normally.
class FaultOfOneRequest : public StoreFault {
public:
    using StoreFault::StoreFault;
    explicit FaultOfOneRequest(const StoreFault& fault) : StoreFault{fault} {}
};

// The store has a row that this Leasehold cannot read: the database is damaged, or another program
// wrote the row. Only the requests that need the row get this fault.
class UnreadableRow : public FaultOfOneRequest {
public:
    explicit UnreadableRow(const std::string& problem)
        : FaultOfOneRequest{Effect::none, Cause::internal,
                            "the store's data about this lock cannot be read: " + problem} {}
};

// Gone::unknown, 0, is kept for a lease that has not ended.
template <class Enum>
    requires std::same_as<Enum, Mode> || std::same_as<Enum, Gone>
[[nodiscard]] constexpr std::int64_t number_of(Enum value) {
    return static_cast<std::int64_t>(value);
}

// Throws UnreadableRow, which names the column, for a number that no enumerator has.
template <class Enum>
[[nodiscard]] Enum enumerator_from(std::int64_t number, std::string_view column) {
    if (number >= 0 && static_cast<std::size_t>(number) < enum_size<Enum>) {
        return static_cast<Enum>(number);
    }
    throw UnreadableRow{"unknown \"" + std::string{column} + "\" " + std::to_string(number)};
}
[[nodiscard]] inline Mode mode_from(std::int64_t number) {
    return enumerator_from<Mode>(number, "mode");
}
[[nodiscard]] inline Gone gone_from(std::int64_t number) {
    return enumerator_from<Gone>(number, "ended");
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
