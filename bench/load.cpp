#include "load.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "connection.hpp"
#include "cycle.hpp"

namespace leasehold::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct LoadClient {
    Connection connection;
    std::size_t number = 0;
    std::uint64_t cycles = 0;
    Step step = Step::try_lock;
    Held held{};
    std::string in{};
    Clock::time_point asked_at{};
};

class Load final : public Contender {
public:
    Load(const PeerServer& server, std::unique_ptr<Dialect> dialect, std::size_t clients)
        : server_{server}, dialect_{std::move(dialect)}, ready_{::epoll_create1(EPOLL_CLOEXEC)} {
        if (ready_ < 0) throw std::system_error{errno, std::generic_category(), "epoll"};
        clients_.reserve(clients);
        for (std::size_t i = 0; i < clients; ++i) {
            LoadClient& client = clients_.emplace_back(Connection{server.port()}, i);
            client.held.id = cycle_id(i, 0);
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &client}};
            ::epoll_ctl(ready_, EPOLL_CTL_ADD, client.connection.socket(), &event);
        }
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load() override { ::close(ready_); }

    // Every client is between two cycles before and after.
    void run_cycles(std::size_t /*thread*/, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& cycles) override {
        latencies_us_.clear();
        for (LoadClient& client : clients_) ask(client);
        std::uint64_t done = 0;
        for (std::size_t under_way = clients_.size(); under_way > 0;) {
            std::array<epoll_event, 64> events;
            const int ready = ::epoll_wait(ready_, events.data(), events.size(), patience_ms);
            if (ready == 0) throw std::runtime_error{"the server does not answer"};
            for (int i = 0; i < ready; ++i) {
                auto& client =
                    *static_cast<LoadClient*>(events[static_cast<std::size_t>(i)].data.ptr);
                if (!take_answer(client)) continue;
                if (client.step == Step::try_lock) {
                    cycles.store(++done, std::memory_order_relaxed);
                    if (stop.load(std::memory_order_relaxed)) {
                        --under_way;
                        continue;
                    }
                }
                ask(client);
            }
        }
    }

    std::optional<Seconds> processor_time() const override { return server_.processor_time(); }

    std::optional<Seconds> p99() const override { return percentile(99); }
    std::optional<Seconds> p50() const override { return percentile(50); }

private:
    static constexpr int patience_ms = 30'000;

    [[nodiscard]] std::optional<Seconds> percentile(std::size_t percent) const {
        if (latencies_us_.empty()) return std::nullopt;
        std::vector<std::uint32_t> sorted = latencies_us_;
        const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * percent / 100);
        std::ranges::nth_element(sorted, at);
        return Seconds{*at / 1e6};
    }

    void ask(LoadClient& client) {
        out_.clear();
        dialect_->print(out_, client.step, client.held);
        client.asked_at = Clock::now();
        client.connection.send(out_);
    }

    // False while it is not whole. Then the client is at its next step.
    bool take_answer(LoadClient& client) {
        client.connection.receive(client.in);
        const std::size_t size = dialect_->read(client.in, client.step, client.held);
        if (size == 0) return false;
        const auto took =
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - client.asked_at);
        latencies_us_.push_back(static_cast<std::uint32_t>(took.count()));
        client.in.erase(0, size);
        if (client.step == Step::release) {
            client.step = Step::try_lock;
            client.held.id = cycle_id(client.number, ++client.cycles);
        } else {
            client.step = static_cast<Step>(static_cast<int>(client.step) + 1);
        }
        return true;
    }

    const PeerServer& server_;
    const std::unique_ptr<Dialect> dialect_;
    const int ready_;
    std::vector<LoadClient> clients_;
    std::string out_;
    std::vector<std::uint32_t> latencies_us_;  // of the latest run
};

}  // namespace

std::unique_ptr<Contender> make_load(const PeerServer& server, std::unique_ptr<Dialect> dialect,
                                     std::size_t clients) {
    return std::make_unique<Load>(server, std::move(dialect), clients);
}

}  // namespace leasehold::bench
