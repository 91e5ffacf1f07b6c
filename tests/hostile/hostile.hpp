#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <leasehold/open_store.hpp>

#include "server/server_fixture.hpp"
#include "server/token_fixture.hpp"
#include "support/empty_database.hpp"
#include "support/process.hpp"

// What a test of a hostile client needs. A test proves a bound, in bytes, numbers or order, never
// in time; numbers are small where the shape is the same.
namespace leasehold::hostile {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Client;
using testing::lock_token_of;
using testing::RunningServer;
using testing::shows;
using testing::token;
using testing::tokens;

// An empty database of its own, in the store that the test is named for.
class HostileTest : public ::testing::TestWithParam<const char*> {
protected:
    // For open_store(), or for `leasehold serve`.
    [[nodiscard]] const std::string& url() const { return database_.url(); }

    // A server in this process.
    [[nodiscard]] std::unique_ptr<RunningServer> start(server::ServerOptions options = {},
                                                       Limits limits = {}) const {
        return std::make_unique<RunningServer>(open_store(url()), std::move(options), limits);
    }

private:
    const testing::EmptyDatabase database_{GetParam()};
};

// Runs the tests of a suite on SQLite and on PostgreSQL, as "Suite.Test/store".
#define LEASEHOLD_HOSTILE(Suite)                                               \
    INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Values("sqlite", "postgres"), \
                             [](const auto& store) { return std::string{store.param}; })

// A text of this size that begins with `text`.
[[nodiscard]] std::string padded(std::string text, std::size_t bytes);

// The body of a POST /v1/batch of these requests.
[[nodiscard]] std::string batch_of(const std::vector<std::string>& requests);

// Shares the key "Shared/1" among this many owners with the longest texts, through the server.
void share_among(Client& client, std::size_t holders, std::string_view fields = {});

}  // namespace leasehold::hostile
