#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/columns.hpp"
#include "core/lock_row.hpp"

// The columns of Leasehold's tables, and the fields they keep, for every SQL store. Statements,
// parameters and readers are made from these lists. A new field of a lease is a line in
// `public_columns`, and in `requested_columns` if a try brings it.
namespace leasehold {

// `field` is a member pointer, or a function that finds the field in a row.
template <class Field>
struct Column {
    std::string_view name;
    Field field;
};
template <class Field>
Column(std::string_view, Field) -> Column<Field>;

template <class Outer, class Inner>
struct FieldOfMember {
    Outer outer;
    Inner inner;
    constexpr auto& operator()(auto& row) const {
        return std::invoke(inner, std::invoke(outer, row));
    }
};

// The same columns for a row that has the fields in a member of its own.
template <class Member, class... Fields>
constexpr auto inside(Member member, const std::tuple<Column<Fields>...>& columns) {
    return std::apply(
        [&](const auto&... column) {
            return std::tuple{
                Column{column.name, FieldOfMember<Member, Fields>{member, column.field}}...};
        },
        columns);
}

// A lease, without its secret.
inline constexpr std::tuple public_columns{
    Column{"expiration_time", &Grant::expires_at}, Column{"owner", &Grant::owner},
    Column{"fence", &Grant::fence}, Column{"granted_at", &Grant::granted_at},
    Column{"note", &Grant::note}};

// The fields of a lease that a try brings. In a try of one's own live lease an empty text keeps the
// text that is there.
inline constexpr std::tuple requested_columns{Column{"owner", &TryLock::owner},
                                              Column{"note", &TryLock::note}};

inline constexpr auto lease_columns =
    std::tuple_cat(std::tuple{Column{"lockid", &Grant::lock_id}}, public_columns);
inline constexpr std::tuple mode_column{Column{"mode", &Grant::mode}};

// The state of a key, beside its lease.
inline constexpr std::tuple state_columns{
    Column{"touched_at", &LockRow::touched_at}, Column{"ended", &LockRow::ended},
    Column{"ended_at", &LockRow::ended_at}, Column{"ended_by", &LockRow::ended_by},
    Column{"ended_why", &LockRow::ended_why}};

// Table `locks`, after type and id.
inline constexpr auto lock_columns = std::tuple_cat(lease_columns, mode_column, state_columns);

// Table `lock_shares`, after type and id. The mode of its leases is shared.
inline constexpr auto share_columns = lease_columns;

// Table `lock_history`, after type and id.
inline constexpr auto history_columns =
    std::tuple_cat(inside(&Ending::grant, std::tuple_cat(lease_columns, mode_column)),
                   std::tuple{Column{"ended", &Ending::how}, Column{"ended_at", &Ending::at},
                              Column{"ended_by", &Ending::by}, Column{"ended_why", &Ending::why}});

template <class Columns>
[[nodiscard]] constexpr int count_of(const Columns& /*columns*/) {
    return static_cast<int>(std::tuple_size_v<Columns>);
}

template <class Columns, class Use>
constexpr void for_each_column(const Columns& columns, Use use) {
    std::apply([&](const auto&... column) { (use(column), ...); }, columns);
}

// The texts that `text_of` makes of the columns' names, with commas between them.
template <class Columns, class TextOf>
[[nodiscard]] std::string listed(const Columns& columns, TextOf text_of) {
    std::string list;
    for_each_column(columns, [&](const auto& column) {
        if (!list.empty()) list += ", ";
        list += text_of(std::string{column.name});
    });
    return list;
}

template <class Columns>
[[nodiscard]] std::string names_of(const Columns& columns, std::string_view prefix = "") {
    return listed(columns, [&](const std::string& name) { return std::string{prefix} + name; });
}

// Reads the columns of a database's row, the first of them at `first`, into `into`.
template <class Columns, class Index, class Row>
void read_columns(const Columns& columns, const auto& row, Index first, Row& into) {
    for_each_column(columns, [&](const auto& column) {
        read_field(row, first++, std::invoke(column.field, into));
    });
}

template <class Index>
[[nodiscard]] LockRow lock_row_at(const auto& row, Index first) {
    LockRow read;
    read_columns(lock_columns, row, first, read);
    return read;
}

template <class Index>
[[nodiscard]] Grant share_at(const auto& row, Index first) {
    Grant read{.mode = Mode::shared};
    read_columns(share_columns, row, first, read);
    return read;
}

template <class Index>
[[nodiscard]] Ending ending_at(const auto& row, Index first) {
    Ending read;
    read_columns(history_columns, row, first, read);
    return read;
}

// Rows to be written, with their keys, which outlive these.
struct KeyedRow {
    const LockKey* key;
    LockRow row;
};
struct KeyedShare {
    const LockKey* key;
    const Grant* grant;
};
struct KeyedId {
    const LockKey* key;
    LockId lock_id;
};

}  // namespace leasehold
