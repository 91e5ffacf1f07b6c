#include "server/worker.hpp"

#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace leasehold::testing {
namespace {

class Listener final : public server::Observer {
public:
    void failed(std::string_view what) noexcept override { failures.emplace_back(what); }

    std::vector<std::string> failures;
};

TEST(AWorker, GoesOnAfterAFailureAndTellsOfIt) {
    Listener listener;
    server::ServerOptions options{.observer = &listener};
    std::atomic<std::size_t> connections{0};
    server::Worker worker{options, connections};
    bool reached = false;
    boost::asio::post(worker.context(), [] { throw std::runtime_error{"out of everything"}; });
    boost::asio::post(worker.context(), [&] { reached = true; });
    worker.stop();
    worker.run();
    EXPECT_TRUE(reached);
    EXPECT_EQ(listener.failures, std::vector<std::string>{"out of everything"});
}

}  // namespace
}  // namespace leasehold::testing
