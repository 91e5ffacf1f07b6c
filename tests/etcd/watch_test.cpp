#include "stores/etcd/watch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "etcd/canned_server.hpp"

namespace leasehold::etcd {
namespace {

using namespace std::chrono_literals;

// Streams that etcd opens at this revision, and that deliver nothing.
std::string opened_at(int revision, int watches) {
    std::string lines;
    for (int i = 0; i < watches; ++i) {
        lines += R"({"result":{"header":{"revision":")" + std::to_string(revision) +
                 "\"},\"created\":true}}\n";
    }
    return lines;
}

// Events from before the second opening have not been delivered when the third stream begins.
TEST(EtcdWatch, BeginsAnewAfterTheLatestEventThatItHasSeen) {
    const testing::CannedServer server{
        200, std::vector{opened_at(50, 1), opened_at(70, 2), opened_at(90, 3)}};
    const auto watch = make_watch({.endpoints = {{.port = server.port()}}}, 60s);
    std::vector<LockKey> keys;
    for (const char* id : {"1", "2", "3"}) {
        keys.emplace_back("Order", id);
        EXPECT_EQ(watch->wait(keys, {}), std::vector{keys.back()});
    }
    const std::string latest = server.latest();
    EXPECT_TRUE(latest.contains(R"("start_revision":"51")")) << latest;
    EXPECT_FALSE(latest.contains(R"("start_revision":"71")")) << latest;
}

}  // namespace
}  // namespace leasehold::etcd
