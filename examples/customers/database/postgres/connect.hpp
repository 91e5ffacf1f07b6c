#pragma once

#include "database/connection.hpp"

namespace customers::database::postgres {

[[nodiscard]] std::unique_ptr<Connection> connect(const std::string& url);

}  // namespace customers::database::postgres
