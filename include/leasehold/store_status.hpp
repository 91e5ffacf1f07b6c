#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leasehold {

// Whether an answered change survives a crash of the process, the database and the machine.
enum class Durability : std::uint8_t {
    none,    // memory: nothing survives the process
    weak,    // a setting of the database can lose answered changes; StoreStatus::warnings names it
    strong,  // every answered change survives
};

struct StoreStatus {
    std::string name{};  // "sqlite 3.40.1", "postgres 15.8", ...
    Durability durability = Durability::none;
    std::vector<std::string> warnings{};
};

[[nodiscard]] const char* to_string(Durability) noexcept;

}  // namespace leasehold
