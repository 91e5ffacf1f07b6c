#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/connection.hpp"
#include "domain/records.hpp"

namespace customers {

// What has been loaded, by its id: one record of the database is one object here.
template <class T>
class IdentityMap {
public:
    // Null where it was not loaded yet.
    [[nodiscard]] std::shared_ptr<T> find(const std::string& id) const {
        const auto found = objects_.find(id);
        return found == objects_.end() ? nullptr : found->second;
    }
    std::shared_ptr<T> add(T object) {
        auto shared = std::make_shared<T>(std::move(object));
        objects_[shared->id] = shared;
        return shared;
    }

private:
    std::map<std::string, std::shared_ptr<T>> objects_;
};

// Loads and stores records of one kind in a system transaction. Takes no locks: commands reach it
// through the web kit's LockingRepository.
template <class T>
class Mapper {
public:
    using Record = T;

    explicit Mapper(database::Transaction& transaction) : transaction_{transaction} {}

    // Null where there is no such record. Asked twice, it is the same object.
    [[nodiscard]] std::shared_ptr<T> find(const std::string& id) {
        if (auto loaded = loaded_.find(id)) return loaded;
        auto object = load(id);
        return object ? loaded_.add(*std::move(object)) : nullptr;
    }

    // Writes the record as the version after the one that was loaded. Returns false and writes
    // nothing if a newer version exists: an optimistic check, for writers that ignore the lock. The
    // lease says who writes, and when.
    [[nodiscard]] bool update(const T& object, const leasehold::Lease& lease);

private:
    [[nodiscard]] std::optional<T> load(const std::string& id);

    database::Transaction& transaction_;
    IdentityMap<T> loaded_;
};

template <>
std::optional<Customer> Mapper<Customer>::load(const std::string& id);
template <>
bool Mapper<Customer>::update(const Customer& customer, const leasehold::Lease& lease);
template <>
std::optional<PriceList> Mapper<PriceList>::load(const std::string& id);
template <>
bool Mapper<PriceList>::update(const PriceList& list, const leasehold::Lease& lease);
template <>
std::optional<Counter> Mapper<Counter>::load(const std::string& id);
template <>
bool Mapper<Counter>::update(const Counter& counter, const leasehold::Lease& lease);

// All customers, by their names. To be shown, not to be changed: no lock is needed.
[[nodiscard]] std::vector<CustomerLine> list_customers(database::Transaction& transaction);

}  // namespace customers
