#include "stores/postgres/adoption.hpp"

#include <array>
#include <chrono>
#include <string>

#include <leasehold/limits.hpp>

namespace leasehold::postgres {
namespace {

struct TextColumn {
    std::string name;
    std::size_t most_bytes;
};

const std::array<TextColumn, 3>& text_columns() {
    static const std::array<TextColumn, 3> columns{
        {{"type", Limits::type_bytes}, {"id", Limits::id_bytes}, {"lockid", 255}}};
    return columns;
}

constexpr const char* with_zone = "timestamp with time zone";
constexpr const char* without_zone = "timestamp without time zone";

[[noreturn]] void cannot_adopt(const std::string& why) {
    refuse("the table `locks` cannot be adopted: " + why + "; nothing was changed");
}

std::string type_of(Conversation& talk, const std::string& column) {
    return talk
        .value_of(
            "select format_type(atttypid, null) from pg_attribute where attrelid = "
            "to_regclass('locks') and attname = '" +
            column + "'")
        .value_or("");
}

void require_types(Conversation& talk) {
    for (const TextColumn& column : text_columns()) {
        const std::string type = type_of(talk, column.name);
        if (type != "text" && type != "character varying" && type != "character") {
            cannot_adopt("`" + column.name + "` is " + type + ", not a text or a varchar");
        }
    }
}

void require_key(Conversation& talk) {
    const std::string key =
        talk.value_of(
                "select string_agg(a.attname, ',' order by array_position(c.conkey, a.attnum)) "
                "from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum "
                "= any (c.conkey) where c.conrelid = to_regclass('locks') and c.contype = 'p'")
            .value_or("");
    if (key != "type,id") cannot_adopt("its primary key is (" + key + "), not (type, id)");
}

void require_values(Conversation& talk) {
    const auto some_row = [&](const std::string& condition) {
        return talk.value_of("select 1 from locks where " + condition + " limit 1").has_value();
    };
    for (const auto& [name, most_bytes] : text_columns()) {
        if (some_row(name + " is null")) cannot_adopt("`" + name + "` is null in some rows");
        if (some_row("octet_length(" + name + ") > " + std::to_string(most_bytes))) {
            cannot_adopt("`" + name + "` has values of more than " + std::to_string(most_bytes) +
                         " bytes");
        }
    }
    if (talk.value_of("select 1 from locks group by lockid collate \"C\" having count(*) > 1")) {
        cannot_adopt("some rows have the same lockid");
    }
    if (some_row("expiration_time is null")) {
        cannot_adopt("`expiration_time` has no date in some rows");
    }
}

// Read as milliseconds, times in seconds or microseconds would make every lock long expired or
// endless.
void require_milliseconds(Conversation& talk) {
    const auto wrong = talk.value_of(
        "select expiration_time from locks where expiration_time not between "
        "extract(epoch from timestamp '1975-01-01') * 1000 and "
        "extract(epoch from timestamp '9999-12-31') * 1000 limit 1");
    if (!wrong) return;
    cannot_adopt("`expiration_time` has the value " + *wrong +
                 ", which is not in milliseconds since 1970");
}

void convert_times(Conversation& talk, const std::string& type, const StoreOptions& options) {
    std::string converted = "to_timestamp(expiration_time / 1000.0)";
    if (type == without_zone) {
        const auto minutes = options.time_zone.value_or(std::chrono::minutes{0}).count();
        converted =
            "expiration_time at time zone interval '" + std::to_string(minutes) + " minutes'";
    } else {
        require_milliseconds(talk);
    }
    talk.execute("alter table locks alter column expiration_time type timestamptz using " +
                 converted);
}

}  // namespace

void adopt_the_patterns_table(Conversation& talk, const StoreOptions& options) {
    constexpr const char* pattern = "expiration_time,id,lockid,type";
    const auto columns = talk.value_of(
        "select string_agg(attname, ',' order by attname collate \"C\") from pg_attribute "
        "where attrelid = to_regclass('locks') and attnum > 0 and not attisdropped");
    if (!columns) return;
    if (*columns != pattern) {
        refuse(
            "there is a table `locks` that is neither Leasehold's nor the pattern's (type, id, "
            "lockid, expiration_time); give Leasehold a schema of its own: "
            "?options=-csearch_path%3Dleasehold");
    }
    const std::string type = type_of(talk, "expiration_time");
    if (type != with_zone && type != without_zone && type != "bigint") {
        cannot_adopt("`expiration_time` is " + type +
                     ", not a timestamp or a bigint with milliseconds");
    }
    // A time with its zone keeps its meaning. Of the others the zone or the unit must be known.
    if (type != with_zone && options.adopt != StoreOptions::Adopt::pattern_table) {
        refuse("the table `locks` was made by another program, and its `expiration_time` is " +
               type +
               "; to take it over, open the store with adopt=locks, and with time_zone if the "
               "program does not write UTC");
    }
    // No program changes a row between the comparison and the conversion.
    talk.execute("lock table locks in access exclusive mode");
    require_types(talk);
    require_key(talk);
    require_values(talk);
    if (type != with_zone) convert_times(talk, type, options);
}

}  // namespace leasehold::postgres
