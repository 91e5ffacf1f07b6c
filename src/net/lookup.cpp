#include "net/lookup.hpp"

#include <boost/asio/io_context.hpp>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace leasehold::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

}  // namespace

// The caller may have given up by the time it ends.
class Lookup::Search {
public:
    void run(const std::string& host, std::uint16_t port) {
        Found found;
        asio::io_context context;
        tcp::resolver resolver{context};
        found.addresses = resolver.resolve(host, std::to_string(port), found.error);
        const std::lock_guard lock{mutex_};
        found_ = std::move(found);
        found_at_ = std::chrono::steady_clock::now();
        ended_.notify_all();
    }

    [[nodiscard]] bool ended_before(Moment moment) {
        const std::lock_guard lock{mutex_};
        return found_ && found_at_ < moment;
    }

    [[nodiscard]] std::optional<Found> wait(Moment deadline) {
        std::unique_lock lock{mutex_};
        ended_.wait_until(lock, deadline, [this] { return found_.has_value(); });
        return found_;
    }

private:
    std::mutex mutex_;
    std::condition_variable ended_;
    std::optional<Found> found_;  // guarded by mutex_
    Moment found_at_{};           // guarded by mutex_
};

Lookup::Lookup(std::string host, std::uint16_t port, std::chrono::milliseconds kept_for)
    : host_{std::move(host)}, port_{port}, kept_for_{kept_for} {}

Lookup::~Lookup() = default;

void Lookup::begin() {
    const auto search = std::make_shared<Search>();
    std::thread{[search, host = host_, port = port_] { search->run(host, port); }}.detach();
    under_way_ = search;
}

std::optional<Lookup::Found> Lookup::find(Moment deadline) {
    boost::system::error_code is_name;
    const auto address = asio::ip::make_address(host_, is_name);
    if (!is_name) return Found{Addresses::create(tcp::endpoint{address, port_}, host_, "")};
    try {
        const auto fresh = std::chrono::steady_clock::now() - kept_for_;
        if (!under_way_ || under_way_->ended_before(fresh)) begin();
    } catch (const std::system_error& error) {
        return Found{.error = {error.code().value(), boost::system::system_category()}};
    }
    auto found = under_way_->wait(deadline);
    if (found) under_way_.reset();
    return found;
}

}  // namespace leasehold::net
