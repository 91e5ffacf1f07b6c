#pragma once

#include <string>
#include <string_view>

#include "core/columns.hpp"
#include "core/lock_tables.hpp"

// The column `expiration_time` of table `locks` is a DATETIME(6), because the pattern's own
// programs read and write it. It is local time in the zone of the store: a fixed number of
// microseconds east of UTC, in table `leasehold`. All other times are microseconds since 1970, UTC.
namespace leasehold::mariadb {

// The zone in SQL: on connections of the store, which set the variable, and on a caller's.
inline constexpr std::string_view own_zone = "@leasehold_zone";
inline constexpr std::string_view callers_zone =
    "(select value from leasehold where name = 'zone')";

// A lease without an end.
inline constexpr std::string_view date_of_never = "timestamp'9999-12-31 23:59:59.999999'";

// The microseconds of a date, and the date of microseconds that are not `never`.
[[nodiscard]] inline std::string micros_of(std::string_view date, std::string_view zone) {
    const std::string text{date};
    return "if(" + text + " >= timestamp'9999-12-31 00:00:00', " + std::to_string(micros(never)) +
           ", timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', " + text + ") - " +
           std::string{zone} + ")";
}
[[nodiscard]] inline std::string date_of(std::string_view micros, std::string_view zone) {
    return "timestampadd(microsecond, " + std::string{micros} + " + " + std::string{zone} +
           ", timestamp'1970-01-01 00:00:00')";
}
[[nodiscard]] inline std::string date_of(Time time, std::string_view zone) {
    return time == never ? std::string{date_of_never} : date_of(std::to_string(micros(time)), zone);
}

// The same as a literal, for a zone that is known. The server reads it much faster.
[[nodiscard]] std::string date_literal(Time time, Duration zone);

// The columns of `locks` to be read, with the expiry in microseconds.
template <class Columns>
[[nodiscard]] std::string lock_names(const Columns& columns, std::string_view zone,
                                     const std::string& prefix = "") {
    return listed(columns, [&](const std::string& name) {
        return name == "expiration_time" ? micros_of(prefix + name, zone) : prefix + name;
    });
}

}  // namespace leasehold::mariadb
