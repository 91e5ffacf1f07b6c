#pragma once

#include "domain/counter.hpp"
#include "mapping/mapper.hpp"

namespace customers {

// Table counters.
class CounterMapper final : public Mapper<Counter> {
public:
    using Mapper::Mapper;

    [[nodiscard]] bool update(const Counter& counter, const leasehold::Lease& lease) override;

private:
    [[nodiscard]] std::optional<Counter> load(const std::string& id) override;
};

}  // namespace customers
