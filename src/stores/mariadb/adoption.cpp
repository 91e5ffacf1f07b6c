#include "stores/mariadb/adoption.hpp"

#include <array>
#include <string>

#include "stores/mariadb/dates.hpp"
#include "stores/mariadb/rows.hpp"

namespace leasehold::mariadb {
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

std::string value_of(Link& link, const std::string& sql) {
    auto rows = link.run(sql);
    return rows.front().next() ? std::string{rows.front().text(0)} : "";
}

[[noreturn]] void cannot_adopt(Link& link, const std::string& why) {
    refuse(link.dialect(), "the table `locks` cannot be adopted: " + why + "; nothing was changed");
}

std::string type_of(Link& link, const std::string& column) {
    return value_of(link,
                    "select data_type from information_schema.columns where table_schema = "
                    "database() and table_name = 'locks' and column_name = '" +
                        column + "'");
}

void require_types(Link& link) {
    for (const TextColumn& column : text_columns()) {
        const std::string type = type_of(link, column.name);
        if (!type.ends_with("char") && !type.ends_with("binary")) {
            cannot_adopt(link, "`" + column.name + "` is " + type + ", not a varchar");
        }
    }
    const std::string type = type_of(link, "expiration_time");
    if (type != "datetime" && type != "timestamp") {
        cannot_adopt(link, "`expiration_time` is " + type + ", not a datetime or a timestamp");
    }
}

void require_key(Link& link) {
    const std::string key =
        value_of(link,
                 "select group_concat(column_name order by seq_in_index) from "
                 "information_schema.statistics where table_schema = database() and table_name = "
                 "'locks' and index_name = 'PRIMARY'");
    if (key != "type,id") {
        cannot_adopt(link, "its primary key is (" + key + "), not (type, id)");
    }
}

void require_values(Link& link) {
    for (const TextColumn& column : text_columns()) {
        const std::string text = "convert(" + column.name + " using utf8mb4)";
        if (value_of(link, "select count(*) from locks where " + column.name + " is null") != "0") {
            cannot_adopt(link, "`" + column.name + "` is null in some rows");
        }
        if (value_of(link, "select count(*) from locks where octet_length(" + text + ") > " +
                               std::to_string(column.most_bytes)) != "0") {
            cannot_adopt(link, "`" + column.name + "` has values of more than " +
                                   std::to_string(column.most_bytes) + " bytes");
        }
    }
    if (value_of(link, "select count(*) - count(distinct cast(lockid as binary)) from locks") !=
        "0") {
        cannot_adopt(link, "some rows have the same lockid");
    }
    if (value_of(link,
                 "select count(*) from locks where expiration_time is null or "
                 "year(expiration_time) < 1970") != "0") {
        cannot_adopt(link, "`expiration_time` has no date in some rows");
    }
}

// These keep a column from being changed.
void require_freedom(Link& link) {
    if (value_of(link,
                 "select count(*) from information_schema.partitions where table_schema = "
                 "database() and table_name = 'locks' and partition_name is not null") != "0") {
        cannot_adopt(link,
                     "it is partitioned, and a partitioned table cannot have a unique index "
                     "on `lockid` alone");
    }
    const std::string foreign_key = value_of(
        link,
        "select concat('the foreign key ', constraint_name, ' of table `', table_name, '`') from "
        "information_schema.key_column_usage where referenced_table_name is not null and "
        "((table_schema = database() and table_name = 'locks') or (referenced_table_schema = "
        "database() and referenced_table_name = 'locks')) order by 1 limit 1");
    if (!foreign_key.empty()) {
        cannot_adopt(link, foreign_key + " uses its columns; drop that foreign key");
    }
}

// The pattern's own table may have a unique index on the whole lock id, of any name.
std::string name_of_lock_id_index(Link& link) {
    return value_of(link,
                    "select index_name from information_schema.statistics s where table_schema = "
                    "database() and table_name = 'locks' and non_unique = 0 and column_name = "
                    "'lockid' and sub_part is null and (select count(*) from "
                    "information_schema.statistics o where o.table_schema = s.table_schema and "
                    "o.table_name = s.table_name and o.index_name = s.index_name) = 1 "
                    "order by index_name <> 'locks_lockid' limit 1");
}

// The names of Leasehold's own indexes must be free.
void require_index_names(Link& link) {
    const auto require_free = [&](const std::string& name) {
        if (value_of(link,
                     "select count(*) from information_schema.statistics where table_schema = "
                     "database() and table_name = 'locks' and index_name = '" +
                         name + "'") != "0") {
            cannot_adopt(link, "it has another index with the name " + name +
                                   ", which Leasehold needs; rename that index");
        }
    };
    if (name_of_lock_id_index(link) != "locks_lockid") require_free("locks_lockid");
    require_free("locks_owner");
}

std::string index_of_lock_ids(Link& link) {
    const std::string name = name_of_lock_id_index(link);
    if (name == "locks_lockid") return "";
    if (name.empty()) return "add unique key locks_lockid (lockid), ";
    std::string quoted;
    for (const char c : name) quoted.append(c == '`' ? 2 : 1, c);
    return "rename index `" + quoted + "` to locks_lockid, ";
}

void change_the_patterns_table(Link& link) {
    std::string utf8;
    std::string bytes;
    for (const TextColumn& column : text_columns()) {
        const std::string size = "(" + std::to_string(column.most_bytes) + ")";
        // A column of bytes stays as it is.
        if (!type_of(link, column.name).ends_with("binary")) {
            utf8 += "modify " + column.name + " varchar" + size +
                    " character set utf8mb4 collate utf8mb4_bin not null, ";
        }
        bytes += "modify " + column.name + " varbinary" + size + " not null, ";
    }
    // A lock whose date was written by its program has `touched_at` = 0, one whose date the server
    // writes here has not: see docs/decisions/pattern-programs.md on moving the zone.
    const std::string now = value_of(link, "select " + std::string{clock_us});
    const std::string touched = type_of(link, "expiration_time") == "timestamp" ? now : "0";
    // Other engines and row formats have no room for keys of this length.
    if (!utf8.empty()) {
        link.run("alter table locks " + utf8 + "engine = InnoDB, row_format = dynamic");
    }
    // MySQL adds no column whose default is a clock. Step 3 gives these columns that default.
    link.run("alter table locks " + bytes +
             "modify expiration_time datetime(6) not null, "
             "add column owner varbinary(512) not null default '' invisible, "
             "add column mode tinyint not null default 0 invisible, "
             "add column fence bigint not null default " +
             now +
             " invisible, "
             "add column granted_at bigint not null default " +
             now +
             " invisible, "
             "add column touched_at bigint not null default " +
             touched +
             " invisible, "
             "add column note varbinary(1024) not null default '' invisible, "
             "add column ended tinyint not null default 0 invisible, "
             "add column ended_at bigint not null default 0 invisible, "
             "add column ended_by varbinary(512) not null default '' invisible, "
             "add column ended_why varbinary(1024) not null default '' invisible, " +
             index_of_lock_ids(link) +
             "add key locks_owner (owner), "
             "engine = InnoDB, row_format = dynamic");
}

}  // namespace

bool has_the_patterns_table(Link& link) {
    return value_of(link,
                    "select lower(group_concat(column_name order by ordinal_position)) from "
                    "information_schema.columns where table_schema = database() and table_name = "
                    "'locks'") == "type,id,lockid,expiration_time";
}

void require_the_patterns_rows(Link& link) {
    require_types(link);
    require_key(link);
    require_freedom(link);
    require_values(link);
    require_index_names(link);
}

void adopt_the_patterns_table(Link& link) {
    // No program changes a row between the comparison and the last change.
    link.run("lock tables locks write");
    require_the_patterns_rows(link);
    change_the_patterns_table(link);
    link.run("unlock tables");
}

void date_the_adopted_locks(Link& link) {
    link.run("update locks set granted_at = least(granted_at, " +
             micros_of("expiration_time", "ifnull(" + std::string{callers_zone} + ", 0)") +
             ") where touched_at = 0 and granted_at > 0");
}

}  // namespace leasehold::mariadb
