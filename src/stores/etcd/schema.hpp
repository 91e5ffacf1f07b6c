#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/stores/etcd.hpp>

#include "core/schema.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/txn.hpp"

// The versions of the store's keys. The key PREFIX/format holds the version, and "2 from 1" while
// step 1 is under way: from then on no process of version 1 reads or writes.
namespace leasehold::etcd {

// How a migration reads and writes keys, whatever their version is.
struct KeyAccess {
    std::function<Page(const KeyRange& range, std::size_t limit)> read;
    // Whether the transaction was carried out.
    std::function<bool(const Txn& txn)> send;
};

// Several processes may run a step at once, and it may run again where it was interrupted: it
// writes only what it has compared.
using KeyStep = std::function<void(const KeyAccess& keys, const Names& names)>;
using KeySteps = std::vector<KeyStep>;

// The steps that were released.
[[nodiscard]] const KeySteps& schema_steps();

// Makes or migrates the keys. Refuses a newer version.
void migrate(const KeyAccess& keys, const Names& names, const KeySteps& steps);

// What PREFIX/format holds in this version.
[[nodiscard]] inline std::string format_of(std::size_t version) {
    return std::to_string(version);
}
// The version that this value of PREFIX/format demands of a process.
[[nodiscard]] std::size_t version_in(std::string_view format);

// open() with other steps than the released ones, as a later version has them.
[[nodiscard]] std::unique_ptr<Store> open_with(
    const KeySteps& steps, const Cluster& target, const StoreOptions& options,
    std::function<SteadyClock::time_point()> steady = {});

}  // namespace leasehold::etcd
