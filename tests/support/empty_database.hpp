#pragma once

#include <string>

#include "support/process.hpp"

namespace leasehold::testing {

// An empty database for open_store() or `leasehold serve`: in memory, in a file, or on the
// PostgreSQL server that this process starts once. Removed with this object.
class EmptyDatabase {
public:
    // `store` is "memory", "sqlite" or "postgres".
    explicit EmptyDatabase(const std::string& store) : url_{make(store)} {}

    [[nodiscard]] const std::string& url() const noexcept { return url_; }

private:
    [[nodiscard]] std::string make(const std::string& store) const;

    TemporaryFolder folder_;
    const std::string url_;
};

}  // namespace leasehold::testing
