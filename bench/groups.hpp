#pragma once

#include "comparison.hpp"
#include "report.hpp"

namespace leasehold::bench {

// A group starts the servers it needs, adds its rows to the report and ends the servers.
void run_memory(const Settings& settings, Report& report);
void run_sqlite(const Settings& settings, Report& report);
void run_postgres(const Settings& settings, Report& report);
void run_mysql(const Settings& settings, Report& report);
void run_mariadb(const Settings& settings, Report& report);
void run_server_memory(const Settings& settings, Report& report);
void run_server_sqlite(const Settings& settings, Report& report);
void run_server_postgres(const Settings& settings, Report& report);
void run_crowd(const Settings& settings, Report& report);
void run_hostile(const Settings& settings, Report& report);
// Every store that was built.
void run_protect(const Settings& settings, Report& report);
void run_waiting(const Settings& settings, Report& report);
void run_holding(const Settings& settings, Report& report);
// PostgreSQL, MySQL and MariaDB at a distance.
void run_distance(const Settings& settings, Report& report);
void run_growth(const Settings& settings, Report& report);
void run_million(const Settings& settings, Report& report);

}  // namespace leasehold::bench
