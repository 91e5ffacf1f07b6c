#pragma once

#include <string>

#include "domain/customer.hpp"
#include "web/http.hpp"

namespace customers::web {

// A customer as its form has it: name, email, ..., address.1.street, ... and the version.
[[nodiscard]] Fields fields_of(const Customer& customer);
// The typed text, trimmed; empty addresses are dropped.
[[nodiscard]] Customer customer_from(const Fields& fields, const std::string& id);

}  // namespace customers::web
