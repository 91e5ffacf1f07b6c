#include <leasehold/stores/mysql.hpp>

#include "stores/mariadb/guard.hpp"
#include "stores/mariadb/protection.hpp"
#include "stores/mariadb/schema.hpp"

// MySQL is served by the code for MariaDB; stores/mariadb/dialect.hpp has the differences.
namespace leasehold::mysql {

std::unique_ptr<Store> open(const Login& connection, StoreOptions options) {
    return mariadb::open_with(mariadb::mysql_dialect, mariadb::schema_steps(mariadb::mysql_dialect),
                              connection, options);
}

Result<Lease> guard(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                    Duration busy_patience) {
    return mariadb::guard(mariadb::mysql_dialect, transaction, key, lock_id, busy_patience);
}

Result<Lease> release(::st_mysql* transaction, const LockKey& key, LockId lock_id,
                      Duration busy_patience) {
    return mariadb::release(mariadb::mysql_dialect, transaction, key, lock_id, busy_patience);
}

std::unique_ptr<TableProtection> open_protection(const Login& connection,
                                                 const StoreOptions& options) {
    return mariadb::open_protection(mariadb::mysql_dialect, connection, options);
}

}  // namespace leasehold::mysql
