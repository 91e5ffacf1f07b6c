#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/lock_tables.hpp"
#include "stores/postgres/connection.hpp"

// The columns of Leasehold's tables as PostgreSQL's parameters and answers.
namespace leasehold::postgres {

template <class T>
concept StoredAsTime = std::same_as<T, Time>;
template <class T>
concept StoredAsInteger = std::integral<T> || std::is_enum_v<T>;

template <class T>
inline constexpr std::string_view sql_type = StoredAsTime<T>      ? "timestamptz"
                                             : StoredAsInteger<T> ? "bigint"
                                                                  : "text";

// A parameter with the field, or with an array of the fields of all rows.
template <class T>
void add_field(Parameters& parameters, const T& field) {
    if constexpr (StoredAsTime<T>) {
        parameters.time(field);
    } else if constexpr (std::integral<T>) {
        parameters.integer(field);
    } else if constexpr (StoredAsInteger<T>) {
        parameters.integer(number_of(field));
    } else if constexpr (std::same_as<T, LockId>) {
        parameters.text(field.to_string());
    } else {
        parameters.text(field);
    }
}

template <class Rows, class FieldOf>
void add_fields(Parameters& parameters, const Rows& rows, FieldOf field_of) {
    using T = std::remove_cvref_t<std::invoke_result_t<FieldOf, decltype(*rows.begin())>>;
    if constexpr (StoredAsTime<T>) {
        parameters.times(rows, field_of);
    } else if constexpr (std::integral<T>) {
        parameters.integers(rows, field_of);
    } else if constexpr (StoredAsInteger<T>) {
        parameters.integers(rows,
                            [&](const auto& row) { return number_of(std::invoke(field_of, row)); });
    } else if constexpr (std::same_as<T, LockId>) {
        parameters.texts(rows,
                         [&](const auto& row) { return std::invoke(field_of, row).to_string(); });
    } else {
        parameters.texts(rows, field_of);
    }
}

// Arrays of the rows' types and ids. `key_of` gives a row's key.
template <class Rows, class KeyOf>
[[nodiscard]] Parameters keys_of(const Rows& rows, KeyOf key_of) {
    Parameters parameters;
    parameters.texts(rows, [&](const auto& row) { return std::invoke(key_of, row).type(); });
    parameters.texts(rows, [&](const auto& row) { return std::invoke(key_of, row).id(); });
    return parameters;
}

// The same with an array for each column. `part_of` gives the part of a row that has its fields.
template <class Rows, class KeyOf, class Columns, class PartOf>
[[nodiscard]] Parameters fields_of(const Rows& rows, KeyOf key_of, const Columns& columns,
                                   PartOf part_of) {
    Parameters parameters = keys_of(rows, key_of);
    for_each_column(columns, [&](const auto& column) {
        add_fields(parameters, rows, [&](const auto& row) -> const auto& {
            return std::invoke(column.field, std::invoke(part_of, row));
        });
    });
    return parameters;
}

// "$1::text[], $2::text[], $3::text[], ...": the parameters of fields_of(), for columns of a Row.
template <class Row, class Columns>
[[nodiscard]] std::string array_parameters(const Columns& columns) {
    std::string list = "$1::text[], $2::text[]";
    int number = 2;
    for_each_column(columns, [&]<class Field>(const Column<Field>& /*column*/) {
        using T = std::remove_cvref_t<std::invoke_result_t<Field, Row&>>;
        list += ", $" + std::to_string(++number) + "::" + std::string{sql_type<T>} + "[]";
    });
    return list;
}

// One row of an answer.
struct RowAt {
    [[nodiscard]] std::string_view text(int column) const { return rows.text(row, column); }
    [[nodiscard]] std::int64_t integer(int column) const { return rows.integer(row, column); }
    [[nodiscard]] Time time(int column) const { return rows.time(row, column); }

    const Rows& rows;
    int row;
};

[[nodiscard]] inline LockKey key_at(const Rows& rows, int row, int column) {
    return {rows.text(row, column), rows.text(row, column + 1)};
}

// A row of lock_history: the key is at column 0.
[[nodiscard]] inline Ended ended_at(const Rows& rows, int row) {
    return {key_at(rows, row, 0), ending_at(RowAt{rows, row}, 2)};
}
inline constexpr int sequence_column = 2 + count_of(history_columns);

}  // namespace leasehold::postgres
