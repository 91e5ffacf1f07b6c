#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/lock_row.hpp"
#include "stores/etcd/txn.hpp"

namespace leasehold::etcd {

// A key's row, as it was at some moment.
struct KnownRow {
    LockRow row{};
    std::vector<Grant> shares{};
    Revision changed = 0;   // 0: there was no row
    Revision known_at = 0;  // the moment
};

// Rows that were used recently. They may have changed since, so a transaction that uses one also
// compares its revision. Thread-safe.
class KnownRows {
public:
    [[nodiscard]] std::optional<KnownRow> find(const LockKey& key) const {
        const std::lock_guard lock{mutex_};
        const auto found = rows_.find(key);
        return found != rows_.end() ? std::optional{found->second} : std::nullopt;
    }

    void learn(const LockKey& key, KnownRow row) {
        const std::lock_guard lock{mutex_};
        if (rows_.size() >= most) rows_.clear();
        KnownRow& known = rows_[key];
        if (known.known_at <= row.known_at) known = std::move(row);
    }

private:
    static constexpr std::size_t most = 4096;

    mutable std::mutex mutex_;
    std::unordered_map<LockKey, KnownRow> rows_;  // guarded by mutex_
};

}  // namespace leasehold::etcd
