#include "server/transport/worker.hpp"

#include <boost/asio/co_spawn.hpp>
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

// A connection whose event loop the test itself runs, step by step.
class ASession : public ::testing::Test {
protected:
    ASession() {
        server::Socket socket{worker_.context()};
        acceptor_.accept(socket);
        session_.emplace(std::move(socket), worker_, dispatcher_, nullptr,
                         server::Connections::Counted{connections_}, server::Peer{});
    }

    static std::vector<std::unique_ptr<server::Protocol>> protocols(server::Backend& backend) {
        std::vector<std::unique_ptr<server::Protocol>> all;
        all.push_back(std::make_unique<server::v1::Native>(backend));
        return all;
    }

    Listener listener_;
    server::ServerOptions options_{.header_bytes = 1U << 20U, .observer = &listener_};
    server::Connections connections_{100};
    server::Worker worker_{options_, connections_};
    LockManager locks_{memory::open()};
    server::Backend backend_{locks_, worker_.context(), options_};
    server::Dispatcher dispatcher_{protocols(backend_), backend_, options_};
    boost::asio::ip::tcp::acceptor acceptor_{worker_.context(),
                                             {boost::asio::ip::address_v4::loopback(), 0}};
    Client client_{acceptor_.local_endpoint().port()};
    std::optional<server::Session> session_;  // the memory of one that has ended stays in its place
};

// As where something is thrown while its client is watched.
TEST_F(ASession, ThatEndsWhileItWatchesItsClientHearsNothingOfIt) {
    bool heard = false;
    session_->watch([&] { heard = true; });
    session_.reset();
    worker_.context().poll();
    EXPECT_FALSE(heard);
}

class ASessionWhoseClientSendsOn : public ASession,
                                   public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(, ASessionWhoseClientSendsOn,
                         ::testing::Values("GET /healthz HTTP/1.1\r\nX: ",    // a long header
                                           "POST /healthz HTTP/1.1\r\n\r\n",  // no such route
                                           "no HTTP\r\n\r\n"));

// The deadline passes between any two steps: also at moments when bytes have been read already, and
// there is nothing to cancel.
TEST_P(ASessionWhoseClientSendsOn, EndsAtItsDeadline) {
    client_.send(GetParam());
    client_.send(std::string(std::size_t{100} * 1024, 'x'));
    bool ended = false;
    boost::asio::co_spawn(worker_.context(), session_->run(),
                          [&](const std::exception_ptr&) { ended = true; });
    const auto late = server::Clock::now() + std::chrono::hours{1};
    while (worker_.context().poll_one() > 0) session_->check_deadline(late);
    EXPECT_TRUE(ended) << "the session waits without a deadline";
}

}  // namespace
}  // namespace leasehold::testing
