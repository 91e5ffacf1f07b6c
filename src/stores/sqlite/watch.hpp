#pragma once

#include <memory>
#include <string>

#include <leasehold/store.hpp>

namespace leasehold::sqlite {

// Notices releases by other processes: SQLite tells nobody of a commit, so the watch looks at the
// file's data version every few milliseconds, on a connection of its own that only reads. It reads
// the rows of its keys when the version has changed. `version` is the version of the schema that
// this process knows.
[[nodiscard]] std::unique_ptr<StoreWatch> make_watch(const std::string& path, std::size_t version);

}  // namespace leasehold::sqlite
