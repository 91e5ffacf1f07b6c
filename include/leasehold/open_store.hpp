#pragma once

#include <memory>
#include <string_view>

#include <leasehold/protection.hpp>
#include <leasehold/store.hpp>

namespace leasehold {

// Opens a store by its URL, and makes or migrates its tables:
//   memory:                                   in this process, for tests and single programs
//   sqlite:path/to/file.db                    embedded
//   postgres://user:password@host:5432/db     with all parameters libpq knows
//   mysql://user:password@host:3306/db        ?tls=verify-full&ca_file=path, ?socket=path
//   mariadb://user:password@host:3306/db      the same parameters
//   etcd://host:2379,host:2379/prefix
//   http://host:7470, https://host            another Leasehold server
// postgres, mysql and mariadb also take ?adopt=locks&time_zone=+09:00, see StoreOptions.
// Every URL takes ?durability=strict, history=off, retention_s=N, max_clock_leap_ms=N,
// io_timeout_ms=N, which override `options`.
// Throws BadRequest if the URL is not understood, StoreFault if the store cannot be opened.
[[nodiscard]] std::unique_ptr<Store> open_store(std::string_view url, StoreOptions options = {});

// Protects tables in the database of a store: postgres:, sqlite:, mysql: and mariadb:. Makes or
// migrates the store's tables, too. Throws BadRequest for any other store, StoreFault if the
// database cannot be opened.
[[nodiscard]] std::unique_ptr<TableProtection> open_protection(std::string_view url,
                                                               StoreOptions options = {});

}  // namespace leasehold
