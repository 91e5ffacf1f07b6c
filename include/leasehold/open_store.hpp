#pragma once

#include <memory>
#include <string_view>

#include <leasehold/store.hpp>

namespace leasehold {

// Opens a store by its URL, and makes or migrates its tables:
//   memory:                                   in this process, for tests and single programs
//   sqlite:path/to/file.db                    embedded
//   postgres://user:password@host:5432/db     with all parameters libpq knows
//   mariadb://user:password@host:3306/db      ?tls=verify-full&ca_file=path, ?socket=path
//   etcd://host:2379,host:2379/prefix
//   http://host:7470, https://host            another Leasehold server
// Every URL takes ?durability=strict, history=off, retention_s=N, max_clock_leap_ms=N,
// io_timeout_ms=N, which override `options`.
// Throws BadRequest if the URL is not understood, StoreFault if the store cannot be opened.
[[nodiscard]] std::unique_ptr<Store> open_store(std::string_view url, StoreOptions options = {});

}  // namespace leasehold
