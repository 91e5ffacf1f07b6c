#pragma once

#include <memory>
#include <optional>
#include <string>

#include "database/transaction.hpp"
#include "mapping/identity_map.hpp"

namespace customers {

// Loads and stores objects of one kind in a system transaction. Takes no locks: commands reach it
// through the web kit's LockingRepository.
template <class T>
class Mapper {
public:
    using Record = T;

    explicit Mapper(database::Transaction& transaction) : transaction_{transaction} {}
    Mapper(const Mapper&) = delete;
    Mapper& operator=(const Mapper&) = delete;
    virtual ~Mapper() = default;

    // Nothing where there is no such object. Asked twice, it is the same object.
    [[nodiscard]] std::shared_ptr<T> find(const std::string& id) {
        if (auto loaded = loaded_.find(id)) return loaded;
        auto object = load(id);
        return object ? loaded_.add(*std::move(object)) : nullptr;
    }

    // Writes the object as the version after the one that was loaded. Returns false and writes
    // nothing if a newer version exists: an optimistic check, for writers that ignore the lock. The
    // lease says who writes, and when.
    [[nodiscard]] virtual bool update(const T& object, const leasehold::Lease& lease) = 0;

protected:
    [[nodiscard]] virtual std::optional<T> load(const std::string& id) = 0;

    [[nodiscard]] database::Transaction& transaction() { return transaction_; }

private:
    database::Transaction& transaction_;
    IdentityMap<T> loaded_;
};

}  // namespace customers
