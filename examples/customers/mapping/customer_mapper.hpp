#pragma once

#include <vector>

#include "domain/customer.hpp"
#include "mapping/mapper.hpp"

namespace customers {

// Tables customers and addresses.
class CustomerMapper final : public Mapper<Customer> {
public:
    using Mapper::Mapper;

    [[nodiscard]] bool update(const Customer& customer, const leasehold::Lease& lease) override;

private:
    [[nodiscard]] std::optional<Customer> load(const std::string& id) override;
};

// All of them, by their names. To be shown, not to be changed: no lock is needed.
[[nodiscard]] std::vector<CustomerLine> list_customers(database::Transaction& transaction);

}  // namespace customers
