#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/columns.hpp"
#include "core/grant.hpp"
#include "core/lock_row.hpp"
#include "core/schema.hpp"
#include "core/sql_text.hpp"

// The columns of Leasehold's tables, and the fields they keep, for every SQL store. Statements,
// parameters, readers and schema steps are made from these lists. The fields of a lease come from
// core/grant.hpp.
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

template <class Field>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<Field, Grant&>>;

// The columns of these fields. The mode is left out, because only some tables have it.
template <class... Of>
constexpr auto columns_of(const std::tuple<LeaseField<Of>...>& fields) {
    const auto column_of = []<class F>(const LeaseField<F>& field) {
        if constexpr (std::same_as<ValueOf<F>, Mode>) {
            return std::tuple{};
        } else {
            return std::tuple{Column{field.column, field.of}};
        }
    };
    return std::apply([&](const auto&... field) { return std::tuple_cat(column_of(field)...); },
                      fields);
}

// A lease, without its secret.
inline constexpr auto public_columns = columns_of(public_fields);

inline constexpr auto private_columns = columns_of(private_fields);

// The fields of a lease that a try brings.
inline constexpr auto requested_columns = std::tuple_cat(
    std::tuple{Column{"owner", &TryLock::owner}}, columns_of(requested_texts), private_columns);

inline constexpr auto lease_columns =
    std::tuple_cat(std::tuple{Column{"lockid", &Grant::lock_id}}, public_columns, private_columns);
inline constexpr std::tuple mode_column{Column{"mode", &Grant::mode}};

// The state of a key, beside its lease.
inline constexpr std::tuple state_columns{
    Column{"touched_at", &LockRow::touched_at}, Column{"ended", &LockRow::ended},
    Column{"ended_at", &LockRow::ended_at}, Column{"ended_by", &LockRow::ended_by},
    Column{"ended_why", &LockRow::ended_why}};

// Table `locks`, after type and id.
inline constexpr auto lock_columns = std::tuple_cat(lease_columns, mode_column, state_columns);

// A row of a list, after type and id: of a row of `locks` or `lock_shares`.
inline constexpr auto listed_columns =
    std::tuple_cat(public_columns, mode_column, std::tuple{Column{"ended", &LockRow::ended}});

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
[[nodiscard]] Grant listed_at(const auto& row, Index first) {
    LockRow read;
    read_columns(listed_columns, row, first, read);
    return static_cast<const Grant&>(read);
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

// The key at two columns. Nothing if it cannot be a key: another program that shares the database
// may have written anything.
template <class Index>
[[nodiscard]] std::optional<LockKey> key_at(const auto& row, Index column) {
    auto key = LockKey::parse(row.text(column), row.text(column + 1));
    return key ? std::optional{*std::move(key)} : std::nullopt;
}

// A row of the history: type, id, history_columns.
template <class Index>
[[nodiscard]] std::optional<Ended> ended_at(const auto& row, Index first) {
    auto key = key_at(row, first);
    if (!key) return std::nullopt;
    return Ended{*std::move(key), ending_at(row, first + 2)};
}

// How a database writes the columns that a schema step adds. `text` may contain {bytes}.
struct ColumnTypes {
    std::string_view add = "add column";
    std::string_view text;
    std::string_view integer;
    std::string_view time;
    // Follows the type in table `locks`, of which the pattern's programs see four columns only.
    // Version 3 hid the columns of versions 1 and 2.
    std::string_view hidden = "";
};

// The statements that add the fields of a schema version to all tables with leases.
template <class... Of>
[[nodiscard]] std::vector<std::string> schema_step(const std::tuple<LeaseField<Of>...>& fields,
                                                   std::size_t version, const ColumnTypes& types) {
    std::vector<std::string> statements;
    for_each_field(fields, [&]<class F>(const LeaseField<F>& field) {
        if (field.since != version) return;
        const std::string_view type = std::same_as<ValueOf<F>, std::string> ? types.text
                                      : std::same_as<ValueOf<F>, Time>      ? types.time
                                                                            : types.integer;
        for (const std::string_view table : {"locks", "lock_shares", "lock_history"}) {
            statements.push_back(
                sql_text("alter table {table} {add} {column} {type}{hidden}",
                         {{"table", table},
                          {"add", types.add},
                          {"column", field.column},
                          {"hidden", table == "locks" && version > 3 ? types.hidden : ""},
                          {"type", sql_text(type, {{"bytes", std::to_string(field.max_bytes)}})}}));
        }
    });
    return statements;
}

// The schema of a SQL store: its first step, and the steps that added fields.
[[nodiscard]] inline SchemaSteps steps_from(std::vector<std::string> first_step,
                                            const ColumnTypes& types) {
    SchemaSteps steps{std::move(first_step)};
    for (std::size_t version = 2; version <= schema_version; ++version) {
        steps.push_back(schema_step(stored_fields, version, types));
    }
    return steps;
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
