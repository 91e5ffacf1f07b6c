#pragma once

#include "domain/price_list.hpp"
#include "mapping/mapper.hpp"

namespace customers {

// Tables price_lists and prices.
class PriceListMapper final : public Mapper<PriceList> {
public:
    using Mapper::Mapper;

    [[nodiscard]] bool update(const PriceList& list, const leasehold::Lease& lease) override;

private:
    [[nodiscard]] std::optional<PriceList> load(const std::string& id) override;
};

}  // namespace customers
