#pragma once

#include <string>

namespace leasehold::postgres {

// Throws StoreFault if libpq cannot read the connection string. libpq quotes what it cannot read,
// which may be the password, so the fault tells the reason without the quotation.
void require_readable(const std::string& conninfo);

}  // namespace leasehold::postgres
