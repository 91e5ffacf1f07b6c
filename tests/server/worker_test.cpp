#include "server/transport/worker.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <leasehold/stores/memory.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "server/client.hpp"
#include "server/v1/native.hpp"

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
    server::Connections connections{100};
    server::Worker worker{options, connections};
    bool reached = false;
    boost::asio::post(worker.context(), [] { throw std::runtime_error{"out of everything"}; });
    boost::asio::post(worker.context(), [&] { reached = true; });
    worker.stop();
    worker.run();
    EXPECT_TRUE(reached);
    EXPECT_EQ(listener.failures, std::vector<std::string>{"out of everything"});
}

TEST(Workers, StopIfAThreadCannotBeStarted) {
    server::ServerOptions options;
    server::Connections connections{100};
    std::vector<std::unique_ptr<server::Worker>> workers;
    for (int i = 0; i < 4; ++i) {
        workers.push_back(std::make_unique<server::Worker>(options, connections));
    }
    int started = 0;
    const auto start = [&](std::function<void()> work) {
        if (++started == 3) throw std::system_error{EAGAIN, std::generic_category()};
        return std::jthread{std::move(work)};
    };
    const auto begin = [] { FAIL() << "not all threads have started"; };
    const auto stop = [&] {
        for (const auto& worker : workers) worker->stop();
    };
    try {
        server::run_all(workers, start, begin, stop);
        FAIL() << "nothing was thrown";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
        EXPECT_TRUE(
            std::string_view{error.what()}.starts_with("the server cannot start thread 4 of 4: "))
            << error.what();
    }
}

// As where something is thrown while its client is watched.
TEST(ASession, ThatEndsWhileItWatchesItsClientHearsNothingOfIt) {
    Listener listener;
    server::ServerOptions options{.observer = &listener};
    server::Connections connections{100};
    server::Worker worker{options, connections};
    LockManager locks{memory::open()};
    server::Backend backend{locks, worker.context(), options};
    std::vector<std::unique_ptr<server::Protocol>> protocols;
    protocols.push_back(std::make_unique<server::v1::Native>(backend));
    server::Dispatcher dispatcher{std::move(protocols), backend, options};

    boost::asio::ip::tcp::acceptor acceptor{worker.context(),
                                            {boost::asio::ip::address_v4::loopback(), 0}};
    const Client client{acceptor.local_endpoint().port()};
    server::Socket socket{worker.context()};
    acceptor.accept(socket);
    // The memory of one that has ended stays where it was.
    std::optional<server::Session> session;
    session.emplace(std::move(socket), worker, dispatcher, nullptr,
                    server::Connections::Counted{connections}, nullptr);
    bool heard = false;
    session->watch([&] { heard = true; });
    session.reset();
    worker.context().poll();
    EXPECT_FALSE(heard);
}

}  // namespace
}  // namespace leasehold::testing
