#pragma once

#include <gtest/gtest.h>

#include <leasehold/open_store.hpp>

#include <memory>
#include <string>

#include "support/empty_database.hpp"

namespace leasehold::testing {

// The store that a test is named for.
class StoreOfTest : public ::testing::WithParamInterface<const char*> {
protected:
    // An empty store, the same each time within one test.
    [[nodiscard]] std::unique_ptr<Store> store() const { return open_store(database_.url()); }

private:
    const EmptyDatabase database_{GetParam()};
};

// Tests whose server answers the same on every store. tests/server/CMakeLists.txt says which run
// where.
class OnAnyStore : public ::testing::Test, public StoreOfTest {};

// Runs the tests of a suite on these stores, as "Suite.Test/store".
#define LEASEHOLD_ON_ANY_STORE(Suite)                                                    \
    INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Values("memory", "sqlite", "postgres"), \
                             [](const auto& store) { return std::string{store.param}; })

}  // namespace leasehold::testing
