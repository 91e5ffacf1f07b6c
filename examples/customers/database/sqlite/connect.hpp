#pragma once

#include "database/connection.hpp"

namespace customers::database::sqlite {

[[nodiscard]] std::unique_ptr<Connection> connect(const std::string& url);

}  // namespace customers::database::sqlite
