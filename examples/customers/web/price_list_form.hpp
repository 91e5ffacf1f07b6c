#pragma once

#include <optional>
#include <string>

#include "domain/price_list.hpp"
#include "web/http.hpp"

namespace customers::web {

// A price list as its form has it: item.1, price.1, item.2, ... and the version.
[[nodiscard]] Fields fields_of(const PriceList& list);
// Nothing where a price is not one.
[[nodiscard]] std::optional<PriceList> price_list_from(const Fields& fields, const std::string& id);

}  // namespace customers::web
