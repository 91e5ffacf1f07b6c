#pragma once

#include <memory>

#include <leasehold/store.hpp>
#include <leasehold/stores/etcd.hpp>

namespace leasehold::etcd {

// Notices releases by other processes with etcd's own watch, on a connection of its own. When keys
// are added, the watch begins anew, at the moment that it has seen last.
[[nodiscard]] std::unique_ptr<StoreWatch> make_watch(const Cluster& target, Duration io_timeout);

}  // namespace leasehold::etcd
