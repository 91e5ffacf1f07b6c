#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/store.hpp>

#include "stores/etcd/txn.hpp"

namespace leasehold::etcd {

// The names of the store's keys in etcd. The parts of a name are separated by a zero byte, which no
// part contains, so that names sort by their parts.
//   PREFIX/clock                          the store's time
//   PREFIX/format                         the version of the keys, see schema.hpp
//   PREFIX/forgotten                      put whenever rows are erased
//   PREFIX/lock/TYPE.ID                   a key's row
//   PREFIX/lock/TYPE.ID.LOCKID            a share of the key
//   PREFIX/lease/LOCKID                   how the lease ended
//   PREFIX/lease/LOCKID.TYPE.ID           the key whose row has the lease
//   PREFIX/owner/OWNER.TYPE.ID.LOCKID     a lease of the owner
//   PREFIX/ended/LOCKID.TYPE.ID.FENCE     an ended lease that has no number yet
//   PREFIX/past/SEQUENCE                  an ended lease
//   PREFIX/past-of/TYPE.ID.SEQUENCE       the same of one key
class Names {
public:
    explicit Names(const std::string& prefix) : prefix_{prefix + '/'} {}

    [[nodiscard]] std::string clock() const { return prefix_ + "clock"; }
    [[nodiscard]] std::string format() const { return prefix_ + "format"; }
    [[nodiscard]] std::string nobody() const { return prefix_ + "nobody"; }
    [[nodiscard]] std::string forgotten() const { return prefix_ + "forgotten"; }

    [[nodiscard]] std::string row(const LockKey& key) const;
    [[nodiscard]] std::string share(const LockKey& key, LockId lock_id) const;
    [[nodiscard]] KeyRange row_and_shares(const LockKey& key) const;
    // The rows of one type or of all types, after a key or from the first.
    [[nodiscard]] KeyRange rows(const std::optional<std::string>& type,
                                const std::optional<LockKey>& after) const;

    [[nodiscard]] std::string lease(LockId lock_id) const;
    [[nodiscard]] std::string lease(LockId lock_id, const LockKey& key) const;
    [[nodiscard]] KeyRange leases(LockId lock_id) const;

    [[nodiscard]] std::string owned(const std::string& owner, const LockKey& key,
                                    LockId lock_id) const;
    [[nodiscard]] KeyRange owned_by(const std::string& owner) const;
    [[nodiscard]] KeyRange owned_below(const std::string& owner) const;

    [[nodiscard]] std::string ended(LockId lock_id, const LockKey& key, Fence fence) const;
    [[nodiscard]] KeyRange all_ended() const;
    [[nodiscard]] std::string past(std::int64_t sequence) const;
    [[nodiscard]] std::string past_of(const LockKey& key, std::int64_t sequence) const;
    // Sequences `from` <= s < `before`.
    [[nodiscard]] KeyRange pasts(std::int64_t from, std::int64_t before) const;
    [[nodiscard]] KeyRange pasts_of(const LockKey& key, std::int64_t before) const;

    // Reads the name of a row or of a share. std::nullopt for any other name.
    struct Part {
        LockKey key;
        std::optional<LockId> share{};
    };
    [[nodiscard]] std::optional<Part> part_of(std::string_view name) const;
    [[nodiscard]] std::optional<LockKey> key_owned(std::string_view name) const;
    [[nodiscard]] std::optional<LockKey> key_of_lease(std::string_view name) const;
    [[nodiscard]] static std::int64_t sequence_of(std::string_view name);

private:
    std::string prefix_;
};

}  // namespace leasehold::etcd
